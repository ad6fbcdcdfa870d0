"""What a table of the user's says of images: whose each is, and its labels."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from anonymize.errors import DataError, UsageError, counted


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


def check_rows(option: str, problems: Iterable[str], paths: Collection[str]) -> None:
    """Raises DataError where rows of the table ``option`` have a problem, or name a path twice."""
    if wrong := Counter(filter(None, problems)):
        reasons = ", ".join(f"{count} × {reason}" for reason, count in wrong.items())
        raise DataError(f"{option}: {counted(wrong.total(), 'row')} cannot be used ({reasons})")
    if len(set(paths)) < len(paths):
        raise DataError(f"{option} lists a path twice; list each once")
