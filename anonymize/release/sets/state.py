"""What a set release is of: written before the first output appears, private, and never changed.

Outputs of the same people in other groups would tell, by what they have in common, whom they show.
So the inputs are settled by then, with who goes into which output (``plan``).
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from anonymize.errors import UsageError
from anonymize.fingerprint import sha256_file
from anonymize.release import storage
from anonymize.release.records.journal import BAD_JOURNAL

FILE = "set.json"  # in the private folder


@dataclass(frozen=True)
class State:
    """A set release that was begun.

    Attributes:
        inputs: of every file under IN that may be a radiograph, by path: its sha256, and the reason
            and detail where it was refused when it was read, else "".
        plan: sha256 of who went into which output, and of what they show.
        public: sha256 of each table of OUT when all was done; empty before, and while
            an output waits for somebody to look at it.
        reasons: how many inputs nothing was made of, by reason; ``released``: of how many was;
            ``cleaned``: how many of those lost text; ``much_filled``: how many lost much with it.
    """

    inputs: dict[str, list[str]]
    plan: str
    public: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    released: int = 0
    cleaned: int = 0
    much_filled: int = 0

    @property
    def digests(self) -> dict[str, str]:
        return {path: values[0] for path, values in self.inputs.items()}

    def whole(self, out: Path) -> bool:
        """True where all was done, and the tables in ``out`` are those that were written."""
        try:
            same = [sha256_file(out / path) == digest for path, digest in self.public.items()]
        except FileNotFoundError:
            return False
        return bool(same) and all(same)

    def written(self) -> bytes:
        """What :func:`read` reads."""
        return json.dumps(asdict(self)).encode()

    def write(self, private: Path) -> None:
        """Raises OSError where the folder cannot be written."""
        storage.write_whole(private / FILE, self.written(), mode=0o600)


def read(private: Path) -> State | None:
    """What was begun there; None where nothing was. Raises UsageError: it is damaged."""
    try:
        return State(**json.loads((private / FILE).read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, RecursionError):
        raise UsageError(BAD_JOURNAL) from None
