"""Runs a release on files that are given by content."""

from types import SimpleNamespace

import pytest
from dicom_specimens import SECRET
from release_specimens import Wave, fill, quarantine, tree
from set_specimens import Case

from anonymize.release import pipeline
from anonymize.release.options import ReleaseOptions


@pytest.fixture
def key(tmp_path):
    """A file of the key ``SECRET``, which nobody else may read."""
    path = tmp_path / "secret.key"
    path.write_bytes(SECRET)
    path.chmod(0o600)
    return path


@pytest.fixture
def case(tmp_path):
    """Radiographs of eight people, to be released together."""
    return Case(tmp_path).begin()


@pytest.fixture
def release(tmp_path):
    """``release(files, model)`` → summary, out tree, quarantine; the folders as attributes.
    ``release.to(out, model)`` → the tree of a release of the same files to another OUT."""
    source, out = tmp_path / "in", tmp_path / "out"
    private = tmp_path / "out-private"
    source.mkdir()

    def run(files=(), model=None, names="keep", **options):
        fill(source, dict(files))
        options["names"] = names
        summary = pipeline.apply(source, out, model or Wave(), ReleaseOptions(**options))
        return SimpleNamespace(summary=summary, files=tree(out), quarantine=quarantine(private))

    def to(out, model=None, **options):
        pipeline.apply(source, out, model or Wave(), ReleaseOptions(**options))
        return tree(out)

    run.source, run.out, run.private, run.to = source, out, private, to
    return run
