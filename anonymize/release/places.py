"""Where a release reads and writes, checked before anything is touched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anonymize.errors import UsageError

MANIFEST = "manifest.csv"
SIGNATURE = "manifest.sig"


@dataclass(frozen=True)
class Places:
    """Absolute paths of one release. ``root`` is IN, or the folder of the single file IN."""

    root: Path
    single: str | None
    out: Path
    private: Path

    @property
    def source(self) -> Path:
        return self.root if self.single is None else self.root / self.single


def find_places(source: Path, out: Path, private: Path | None, *, by_list: bool = False) -> Places:
    """Raises UsageError for a missing IN, or folders that lie in one another.

    ``by_list``: the inputs are listed, so OUT and the private folder may lie in IN.
    """
    if not source.exists():
        raise UsageError("IN does not exist; give a folder of radiographs, or one file")
    source, out = source.resolve(), out.resolve()
    private = (private or out.with_name(f"{out.name}-private")).resolve()
    named = {"IN": source, "OUT": out, "the private folder": private}
    for first, a in named.items():
        for second, b in named.items():
            if by_list and first == "IN" and a in b.parents:
                continue
            if first < second and (a == b or a in b.parents or b in a.parents):
                way = "another OUT" if second == "OUT" else "another OUT, or --private DIR"
                raise UsageError(
                    f"{first} and {second} must not be the same or lie in one another; choose {way}"
                )
    for name, path in (("OUT", out), ("the private folder", private)):
        above = next(p for p in (path, *path.parents) if p.exists())
        if not above.is_dir():
            raise UsageError(f"{name} must be a folder, and is a file or in one; choose another")
    if source.is_dir():
        return Places(source, None, out, private)
    return Places(source.parent, source.name, out, private)
