"""All that a release can be asked for, besides its input, its output and its model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from anonymize.errors import UsageError
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.dicom.options import DicomOptions
from anonymize.release.labels.options import LabelOptions
from anonymize.release.metadata.table import TableOptions
from anonymize.release.sets.people import People
from anonymize.release.workers.worker_pool import Limits

if TYPE_CHECKING:
    import torch

    from anonymize.release.machines.shards import Shard
    from anonymize.release.uniform import Uniform

Progress = Callable[[int, int], None]  # number of files done, and of all
NAMES = ("keep", "hashed")
ENGINES = ("local", "ray")


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions:
    """Options of :func:`pipeline.apply` and :func:`pipeline.plan`.

    Args:
        private: folder (0700) for the map, the journal and the quarantine list; by default
            OUT with "-private" behind it.
        names: "keep" the relative paths, or "hashed" with the secret. By default paths are kept,
            and every file whose path says what any DICOM header of the release knows of somebody
            is quarantined; hashed if ``uniform``.
        key_file: the secret of names and DICOM pseudonyms, created where it does not exist; by
            default in ``private``.
        listed: names of the files (or folders) under the source to take; by default all.
        dicom: what of DICOM headers is retained, and how pixels are written.
        text: what is done about text that is burned into pictures; by default nothing.
        people: whose each file is, and its labels; for methods that see a set of images. By default
            DICOM headers say it.
        measured: results.json of `attacks evaluate`, whose figures of such a method go into the
            certificate; by default it has none.
        uniform: one size and one format of all outputs; by default each keeps its own.
        require_review: outputs wait in the private folder, and OUT has no manifest, until somebody
            looked at each (`anonymize review`).
        sign: write OUT/manifest.sig by a key that follows from the secret.
        labels: files and folders of labels, which move with their images to OUT/labels.
        engine: where these are: "local" on this machine, "ray" on the nodes of a Ray cluster.
        address: of the cluster; by default one of this machine alone is started.
        table: a CSV of which named columns travel with the release, to OUT/labels/metadata.csv.
        workers: processes that decode, encode and check, and threads that read and write.
        shard: the share of the files to take; by default all. Needs ``key_file``, the same for all.
        strict: True quarantines images of a size that the method's strength does not fit, which
            are counted otherwise.
        batch_size: consecutive images of one size that the network sees at once.
        device: where the network computes.
        limits: what decoding, encoding or checking one file may take.

    Raises:
        UsageError: other names.
    """

    private: Path | None = None
    names: str | None = None
    key_file: Path | None = None
    listed: tuple[str, ...] | None = None
    dicom: DicomOptions = field(default_factory=DicomOptions)
    text: TextOptions = field(default_factory=TextOptions)
    labels: LabelOptions = field(default_factory=LabelOptions)
    table: TableOptions = field(default_factory=TableOptions)
    people: People | None = None
    measured: Path | None = None
    uniform: Uniform | None = None
    require_review: bool = False
    sign: bool = False
    shard: Shard | None = None
    engine: str = "local"
    address: str | None = None
    workers: int = 1
    strict: bool = False
    batch_size: int = 1
    device: torch.device | str = "cpu"
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.names not in (None, *NAMES):
            raise UsageError(f"--names must be {' or '.join(NAMES)}, got {self.names!r}")
        if self.engine not in ENGINES:
            raise UsageError(f"--engine must be {' or '.join(ENGINES)}, got {self.engine!r}")
        if self.address is not None and self.engine != "ray":
            raise UsageError("--address is of a Ray cluster: add --engine ray, or leave it out")
        if self.uniform is not None and self.names == "keep":
            raise UsageError("--canonical needs --names hashed: a kept name tells the format")
        if self.uniform is not None and self.dicom != DicomOptions():
            raise UsageError(
                "--canonical writes headers that say nothing of the input's: leave --retain, "
                "--clean-descriptors and --dicom-transfer-syntax out"
            )
        if self.shard is not None:
            self._check_shard()
        if self.uniform is not None and self.labels.paths:
            raise UsageError("--canonical leaves no place for labels: they fit the file's own size")

    @property
    def paths_searched(self) -> bool:
        """Whether paths that are kept are searched for what headers of other files know."""
        return self.names != "keep"

    def _check_shard(self) -> None:
        """Raises UsageError where shards would not fit together."""
        if self.key_file is None or not self.key_file.is_file():
            raise UsageError(
                "--shard needs --key-file, a secret that is there and the same for every shard: "
                "(umask 077; head -c 32 /dev/urandom > secret.key)"
            )
        if self.labels.paths:
            raise UsageError("--labels are of the whole release: leave --shard out, or the labels")
        if self.require_review:
            raise UsageError(
                "--require-review is for a whole release: leave it out, and look at what "
                "`anonymize merge` makes of the shards by `anonymize review`"
            )
        if self.sign:
            raise UsageError("--sign is for the whole release: give it to `anonymize merge`")
