"""The outcome of the last `attacks check`, for evaluations with the same program.

It is kept beside the image caches. What it says of an attacker holds for the program that it was
tested with: a fingerprint goes with it, and after any change the attacker counts as not tested.
Of attackers that were not tested here, `outcomes.json`, which comes with the program, says what
they came to with it or with an earlier one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.configuration import load_options
from anonymize.data.cache import cache_directory
from anonymize.fingerprint import fingerprint
from anonymize.options import TrainOptions
from anonymize.plugins import installed
from attacks.attackers.combination import TESTED_WITH
from attacks.evaluation.made_by import attack_options, program
from attacks.registry import DONORS, GROUP, Chosen, choose
from attacks.results import Check, name_of

FILE = "attacks-check.json"
COMMITTED = "outcomes.json"
NAME = "attackers pass their own tests"


def remember(faults: Mapping[str, list[str]]) -> None:
    """Keeps the faults of each attacker in words, by key, [] of one that passed; what is known of
    others stays."""
    path = cache_directory() / FILE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = known_faults() | dict(faults)
    content = {key: {"by": examined_by(key), "faults": found} for key, found in known.items()}
    whole_file.write(path, json.dumps(content, indent=1) + "\n")


def known_faults() -> dict[str, list[str]]:
    """What is wrong with each attacker that was tested with this program; [] if nothing."""
    try:
        content = json.loads((cache_directory() / FILE).read_text(encoding="utf-8"))
        return {k: e["faults"] for k, e in content.items() if e["by"] == examined_by(k)}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def committed() -> list[dict[str, Any]]:
    """The outcomes that come with the program: those of `attacks check --json`."""
    text = (files("attacks.check") / COMMITTED).read_text(encoding="utf-8")
    return list(json.loads(text))


@dataclass(frozen=True)
class Shipped:
    """What one attacker came to before the program came here: the day, the fingerprint of the
    program ("" of one that did not say), and what was wrong in words."""

    made: str
    by: str
    faults: list[str]


def shipped(attackers: Iterable[str]) -> dict[str, Shipped]:
    """Of those of these attackers that were tested."""
    wanted, found = {*attackers}, dict[str, Shipped]()
    for one in committed():
        if (key := one["attacker"]) in wanted:
            own = found.setdefault(key, Shipped(one["made"], one.get("by", ""), []))
            own.faults.extend([f"{one['case']}: {one['why']}"] * (one["status"] == "failed"))
    return found


def tested(attackers: Iterable[str]) -> Check | None:
    """What is known of the attackers of an evaluation, by key; None without any."""
    known, attackers = known_faults(), list(attackers)
    before = shipped(key for key in attackers if key not in known)
    same = {key for key, found in before.items() if found.by == examined_by(key)}
    known |= {key: before.pop(key).faults for key in same}
    failed = [f"{key} ({'; '.join(known[key])})" for key in attackers if known.get(key)]
    unknown = [key for key in attackers if key not in known]
    if not attackers:
        return None
    said = []
    if failed:
        said.append(f"Failed their own tests: {', '.join(failed)}. Believe no figure of theirs.")
    if unknown:
        said.append(
            f"Not tested with this version of the program: {', '.join(unknown)}. "
            "`attacks check` does it."
        )
    if before:
        said.append(_said_before(before, [key for key in unknown if key not in before]))
    message = " ".join(said) or "Every attacker passed `attacks check`."
    untested = bool(unknown) and not failed
    passed = not failed and not untested
    return Check(
        name=NAME, passed=passed, message=message, informative=untested, tested=not untested
    )


def _said_before(found: Mapping[str, Shipped], never: Sequence[str]) -> str:
    oldest = min(own.made for own in found.values())
    wrong = [f"{key} ({'; '.join(own.faults)})" for key, own in found.items() if own.faults]
    passed = f"all but {', '.join(wrong)}" if wrong else "all of them"
    others = f"; {', '.join(never)} never took part" if never else ""
    return f"With earlier versions, of {oldest} or later, {passed} passed{others}."


@cache
def examined_by(attacker: str) -> str:
    """Fingerprint of the program that an attacker was, or would be, tested with, by its key.

    Versions of libraries do not count: hardly two machines have the same ones, and what comes with
    the program would hold on none but the one that it was made on.
    """
    chosen = [] if name_of(attacker) not in installed(GROUP) else [choose(attacker)]
    if chosen and chosen[0].level.combines:
        chosen += map(choose, TESTED_WITH[chosen[0].knowledge])
    tests = "attacks.check.donors" if attacker == DONORS else "attacks.check.run"
    return fingerprint(program(chosen, tests, libraries=False), _settings(chosen))


def _settings(chosen: Sequence[Chosen]) -> tuple[dict[str, Any], list[int]]:
    """What the tests of these attackers depend on, and how long each is trained: how long others
    are, one option for several, is not among it."""
    options = _options()
    found = attack_options(options, [one.name for one in chosen])
    del found["evaluation"]["attacker_epochs"]
    return found, [one.level.epochs(options) for one in chosen]


@cache
def _options() -> TrainOptions:
    return load_options(Path(str(files("attacks.check") / "check.yaml")))
