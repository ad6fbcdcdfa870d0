"""What a table of the user's says of images: whose each is, and its labels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from anonymize.errors import UsageError


@dataclass(frozen=True, repr=False)
class People:
    """What a table says of images, by their path under IN.

    ``labels`` are the names of findings, ``targets`` one value each: 1 present, 0 absent, NaN
    unknown. ``sha256`` is the table's.
    """

    patients: Mapping[str, str]
    targets: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    sha256: str = ""

    def check(self, paths: Iterable[str]) -> None:
        """Raises UsageError where none of ``paths``, the files under IN, is in it."""
        if self.patients.keys().isdisjoint(paths):
            raise UsageError(
                "--patients names no file of IN; its column path must be relative to IN, as in "
                "map.csv (folder/image.png)"
            )
