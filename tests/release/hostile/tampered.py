"""A release that somebody changed, its manifest made to agree: what `verify` says of it."""

import hashlib
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

from corpus import apply, without_processes
from release_specimens import fill, rows, table_of

from anonymize.release import verify

NOTE = b"Zlatarov^Anna^19700302"


@cache
def _released(files: tuple[tuple[str, bytes], ...], labels: tuple = (), options: tuple = ()):
    """{path: bytes} of a release, and the bytes of the public key."""
    from anonymize.release.labels.options import LabelOptions

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "labels", dict(labels))
        wanted = {"names": "keep", **dict(options)}
        if labels:
            wanted["labels"] = LabelOptions((folder / "labels",))
        outcome = apply(folder, dict(files), **wanted)
        assert not outcome.reasons, outcome.reasons
        public = outcome.private / "secret.key.pub"
        return outcome.files, public.read_bytes() if public.exists() else b""


def released(files, labels=(), **options):
    """The files of a release of ``files`` and ``labels`` ({name: bytes}), made once."""
    made, _ = _released(tuple(files.items()), tuple(dict(labels).items()), tuple(options.items()))
    return dict(made)


def public_key(files, **options):
    """The key with which a release of ``files`` is signed."""
    return _released(tuple(files.items()), (), tuple(options.items()))[1]


def agreeing(files):
    """The files of a release with the sha256 that they have in its manifests."""
    files = dict(files)
    for table in ("labels/manifest.csv", "manifest.csv"):
        if table in files:
            found = rows(files[table])
            for row in found:
                row["sha256"] = hashlib.sha256(files[row["output"]]).hexdigest()
            files[table] = table_of(found)
    return files


def passed(folder, files, spoil=lambda out: None, **options):
    """That a release of these files is called sound, in words; None where it is not.

    ``spoil`` does to the folder what no content can.
    """
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    fill(out, files)
    spoil(out)
    with without_processes(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydicom's, of what is wrong on purpose
        report = verify.verify(out, **options)
    return "sound" if report.sound else None


def spoiled(folder, files, path, change):
    """What is said of a release ({path: bytes}) after a ``change`` of one of its files."""
    data = change(files[path])
    assert data != files[path]
    changed = {**files, path: data}
    return passed(folder, changed if path.endswith("manifest.csv") else agreeing(changed))
