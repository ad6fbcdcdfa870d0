"""The outcome of the last `attacks check`, for evaluations with the same program.

It is kept beside the image caches. What it says holds for the sources that it was made with: a
digest of them goes with it, and after any change the attackers count as not tested.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import anonymize
import attacks
from anonymize import whole_file
from anonymize.data.cache import cache_directory
from attacks.results import Check

FILE = "attacks-check.json"
NAME = "attackers pass their own tests"


def remember(faults: Mapping[str, list[str]], directory: Path | None = None) -> None:
    """Keeps the faults of each attacker, by key; what is known of others stays.

    Args:
        faults: in words; [] of an attacker that passed.
        directory: of the caches; None: the user's.
    """
    path = cache_directory(directory) / FILE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    content = {"sources": sources(), "faults": known_faults(directory) | dict(faults)}
    whole_file.write(path, json.dumps(content, indent=1) + "\n")


def known_faults(directory: Path | None = None) -> dict[str, list[str]]:
    """What is wrong with each attacker that was tested with these sources; [] if nothing."""
    try:
        content = json.loads((cache_directory(directory) / FILE).read_text(encoding="utf-8"))
        return content["faults"] if content["sources"] == sources() else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def tested(attackers: Iterable[str], directory: Path | None = None) -> Check | None:  # noqa: PT028
    """What is known of the attackers of an evaluation, by key; None without any."""
    known, attackers = known_faults(directory), list(attackers)
    failed = [f"{key} ({'; '.join(known[key])})" for key in attackers if known.get(key)]
    unknown = [key for key in attackers if key not in known]
    if not attackers:
        return None
    if failed:
        return Check(
            name=NAME,
            passed=False,
            message=f"Failed their own tests: {', '.join(failed)}. Believe no figure of theirs.",
        )
    if unknown:
        return Check(
            name=NAME,
            passed=False,
            informative=True,
            message=f"Not tested with this version of the program: {', '.join(unknown)}. "
            "`attacks check` does it.",
        )
    return Check(name=NAME, passed=True, message="Every attacker passed `attacks check`.")


@cache
def sources() -> str:
    """sha256 of the program: every module of both packages."""
    digest = hashlib.sha256()
    for package in (anonymize, attacks):
        folder = Path(package.__file__).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{package.__name__}/{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
