"""All that can be refused before anything is written: the method, the folders, the inputs."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Self

from anonymize.anonymizer import Anonymizer
from anonymize.errors import UsageError
from anonymize.fingerprint import sha256_file
from anonymize.key_files import SECRET_BYTES
from anonymize.release import early, formats, listing, precision, storage
from anonymize.release.archives import Found
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.labels.collect import Labels, collect, find_sources, refuse_inside
from anonymize.release.machines.object_store import Objects
from anonymize.release.machines.shards import listing_digest
from anonymize.release.metadata.table import Metadata, Rows
from anonymize.release.metadata.table import collect as read_table
from anonymize.release.metadata.written import NAME
from anonymize.release.options import ReleaseOptions
from anonymize.release.places import Naming, Places, find_naming, refuse_public
from anonymize.release.reasons import Reason
from anonymize.release.records.journal import PRECISION, Journal
from anonymize.release.records.listed import Listed
from anonymize.release.sets import asked
from anonymize.release.workers.worker_pool import WorkerPool
from anonymize.set_anonymizer import SetAnonymizer

VERSION = 1
DICOM_HEAD = 132  # bytes that tell DICOM


@dataclass(frozen=True)
class Release:
    """A release that may begin. Its journal was read, and is not open yet."""

    options: ReleaseOptions
    files: Listed
    places: Places
    naming: Naming
    journal: Journal
    labels: Labels
    model: Anonymizer  # on its device, in the precision that the journal says
    rows: Rows | None = None  # of --table
    whole: tuple[int, str] = (0, "")  # of a shard: number and digest of all files under IN

    def of(self, files: Listed) -> Self:
        """The same for ``files``, in the order of their hashed names: when a file was made must not
        tell whose neighbour it is."""
        return replace(self, files=files.by(lambda path: self.naming.name(path, "PNG")))

    @cached_property
    def deidentifier(self) -> Deidentifier:
        """The rules for DICOM headers; before the release is opened, with a secret of their own."""
        secret = self.naming.secret or os.urandom(SECRET_BYTES)
        return Deidentifier(secret, self.options.dicom, names_kept=not self.naming.hashed)

    @cached_property
    def metadata(self) -> Metadata | None:
        """What --table says of each file, under the secret of ``deidentifier``."""
        return None if self.rows is None else self.rows.under(self.deidentifier.secret)

    def tell(self, journal: Journal) -> None:
        """Its entries know the patients of --table, who may be called in paths."""
        journal.entries.know(() if self.rows is None else self.rows.known)

    @contextmanager
    def opened(self) -> Iterator[Self]:
        """The same with locked folders, a secret, and a journal that is open until the block ends.

        Raises:
            UsageError: another run ended in the meantime, and OUT is another release now.
            StorageError: they cannot be written.
        """
        places = self.places
        _make("OUT", places.out, "another OUT")
        _make("the private folder", places.private, "another --private")
        with storage.exclusive(places.out) as out, storage.exclusive(places.private) as private:
            places = replace(places, out=out, private=private)
            with storage.device_errors():
                naming = self.naming.with_secret()
                journal = Journal(places, {**self.journal.header, "key": naming.key_id})
                journal.open()
                self.tell(journal)
            try:
                opened = replace(self, naming=naming, journal=journal, places=places)
                yield opened.of(self.files)
            finally:
                journal.close()


def prepare(
    source: Path | Objects,
    out: Path,
    model: Anonymizer,
    options: ReleaseOptions,
    pool: WorkerPool,
    *,
    empty: bool = False,
) -> Release:
    """Looks at everything that was asked for, and changes nothing.

    ``empty``: there may be no inputs; they are still to come.

    Raises:
        UsageError: a method that changes nothing, folders in one another, an OUT of something
            else, no inputs; text to be looked for without the OCR; labels that cannot be read.
        WorkerPoolError: no worker process can be started.
    """
    _check_model(model)
    asked.check(model, options)
    by_list = options.listed is not None
    places = early.refuse(source, out, options, empty=empty)
    folders = places.public(by_list=by_list)
    wanted = None if options.listed is None else listing.relative(options.listed, places.root)
    if model.key_file is not None:
        refuse_public(model.key_file, f"key_file of {model.name}", folders)
    files = listing.inputs(places, pool, wanted)
    _check_whose(model, options, places, files)
    hashed = options.uniform is not None or options.names == "hashed"
    naming = find_naming(options.key_file, hashed=hashed, folders=folders, private=places.private)
    sources = find_sources(options.labels, places, hashed=hashed)
    labels = [source.name for source in sources]
    header = _header(model, options, places, naming, labels)
    model, header[PRECISION] = precision.chosen(model, options.device, places.private)
    journal = Journal(places, header)
    early.refuse_none(empty or bool(len(files)), by_list=by_list)
    if options.people is not None:
        options.people.check(files.paths())
    beside = options.table.path is not None
    paths = list(files.paths()) if sources or beside else []
    found = collect(sources, options.labels.columns, paths, places, pool, hashed=hashed)
    if not hashed:
        refuse_inside(paths)
    rows = read_table(options.table, paths, pool) if beside else None
    if options.shard is None:
        return Release(options, files, places, naming, journal, found, model, rows)
    whole = len(files), listing_digest(files.paths())
    own = files.only(options.shard.takes)
    return Release(options, own, places, naming, journal, found, model, rows, whole)


def _header(
    model: Anonymizer, options: ReleaseOptions, places: Places, naming: Naming, labels: list[str]
) -> dict[str, Any]:
    """What the journal says of a release, which goes on with the same alone."""
    return {
        "release": VERSION,
        "in": places.named,
        "out": str(places.out),
        "names": "hashed" if naming.hashed else "keep",
        "key": naming.key_id,
        "labels": labels + [NAME] * (options.table.path is not None),
        "table": options.table.known(),
        "spare": options.labels.spare,
        "text": asdict(options.text),
        "dicom": {**asdict(options.dicom), "retain": sorted(options.dicom.retain)},
        "canonical": None if options.uniform is None else str(options.uniform),
        "shard": "" if options.shard is None else str(options.shard),
        "strict": options.strict,
        "review": options.require_review,
        "set": isinstance(model, SetAnonymizer),
        "patients": "" if options.people is None else options.people.sha256,
        "measured": "" if options.measured is None else sha256_file(options.measured),
        "method": model.name,
        "options": model.options,
        "model_sha256": model.fingerprint,
    }


def _make(name: str, folder: Path, way: str) -> None:
    """Makes a folder of the release.

    Raises:
        UsageError: it cannot be made there, or written; nothing was touched.
        StorageError: the device fails.
    """
    why = "it is read-only"
    try:
        with storage.device_errors():
            storage.make_folders(folder)
        writable = os.access(folder, os.W_OK | os.X_OK)
    except OSError as error:
        writable, why = False, os.strerror(error.errno or 0)
    if not writable:
        raise UsageError(f"{name} cannot be written: {why}; make it writable, or choose {way}")


def _check_whose(
    model: Anonymizer, options: ReleaseOptions, places: Places, files: Iterable[Found]
) -> None:
    """Raises UsageError where nobody can say whose the files are that are to be put together."""
    if not isinstance(model, SetAnonymizer) or options.people is not None:
        return
    if places.objects is None and not any(_may_be_dicom(found, places.root) for found in files):
        raise UsageError(
            f"{model.name} puts different people together, and none of these files says whose it "
            "is, as DICOM headers do: give --patients CSV"
        )


def _may_be_dicom(found: Found, root: Path) -> bool:
    """Of a file by its first bytes; of an archive's entry, whose bytes are a worker's business, by
    its name."""
    if found.refusal not in (None, Reason.NAME_COLLISION):
        return False
    if found.member is not None:
        others = formats.PICTURES.difference(formats.EXTENSIONS["DICOM"])
        return PurePosixPath(found.path).suffix.lower() not in others
    try:
        head = storage.read_regular(root / found.path, DICOM_HEAD - 1, root)[0]
    except OSError:  # others report it
        return False
    return formats.is_dicom(found.path, head)


def _check_model(model: Anonymizer) -> None:
    """Raises UsageError for a method that would release what it was given."""
    if model.changes_nothing or model.mu == 0:
        raise UsageError(
            f"the method {model.name} changes nothing (identity, or a strength of 0): its output "
            "would be the real images; give it a strength above 0, or take a model that `anonymize "
            "train --mu 0.01` made"
        )
    if model.noise_is_known:
        raise UsageError(
            f"the noise of {model.name} follows from its seed: whoever knows it takes the noise "
            "off again; leave the seed out"
        )
