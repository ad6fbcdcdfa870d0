"""A share of a release's files, for one of several machines: ``--shard 3/16``.

Whose share a file is follows from its path under IN alone, so that every machine knows it, whatever
else lies there. A finished shard says what it saw in ``shard.json`` of its private folder;
:mod:`merge` makes one release of all.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from anonymize.errors import UsageError
from anonymize.release import storage
from anonymize.release.method import Method

FILE = "shard.json"  # in the private folder
MOST = 512  # each is open while they are merged
WRITTEN = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")


@dataclass(frozen=True)
class Shard:
    """Share ``number`` of ``count``, from 1 on."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """``I/N``; UsageError where it is none."""
        found = WRITTEN.fullmatch(text)
        if not found or int(found[1]) > int(found[2]) or int(found[2]) > MOST:
            raise UsageError(
                f"--shard must be I/N, with I from 1 to N and N up to {MOST:,}; got {text!r}"
            )
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def takes(self, path: str) -> bool:
        """Whether the file at ``path`` under IN belongs to it: by SHA-256, so that shares are
        alike however the folders are filled."""
        digest = hashlib.sha256(os.fsencode(path)).digest()
        return int.from_bytes(digest[:8]) % self.count == self.number - 1


@dataclass(frozen=True)
class Finished:
    """What a finished shard says.

    ``files`` and ``listing`` are the number and the digest of all files under IN, of every shard;
    ``inputs`` counts its own, ``gone`` are those that an earlier call refused and that are no
    longer there. ``paths_searched`` as that of ReleaseOptions.
    """

    shard: str
    files: int
    listing: str
    inputs: int
    gone: tuple[str, ...]
    method: Method
    evidence: str  # what is known of its protection
    paths_searched: bool
    precision: str  # of its method; "unknown": the journal does not say it

    def write(self, private: Path) -> None:
        content = json.dumps(asdict(self), indent=1).encode() + b"\n"
        storage.write_whole(private / FILE, content, mode=0o600)

    @classmethod
    def read(cls, private: Path) -> Self:
        """What is written there. Raises OSError, ValueError, TypeError, KeyError: it is not there,
        or damaged."""
        found = json.loads((private / FILE).read_bytes())
        own = {"method": Method(**found["method"]), "gone": tuple(found["gone"])}
        return cls(**{**found, **own})


def listing_digest(paths: Iterable[str]) -> str:
    """Tells listings of IN apart; ``paths`` in their order."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(os.fsencode(path) + b"\0")
    return digest.hexdigest()
