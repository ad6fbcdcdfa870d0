"""What every demand of a policy has in common: its line, and a figure held against a threshold.

A demand is passed where the whole 95 % interval is on its safe side, and failed where the whole
interval is on the other one. Between the two the data do not tell, and the line says of about how
many patients they would: a standard error falls with the root of the patients, and n patients
without an exception leave up to 1 − 0.025^(1/n) (about 3.7 / n: the rule of three, two-sided).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import logit

from anonymize.errors import counted
from attacks.evaluation.checks.judging import between, listed
from attacks.measuring.estimates import Estimate, Interval
from attacks.measuring.tails import ENOUGH
from attacks.measuring.world_records import TAIL

Outcome = Literal["pass", "fail", "cannot be certified"]
NEVER = 1e-9
KEPT: Outcome = "pass"
FAIL: Outcome = "fail"
UNKNOWN: Outcome = "cannot be certified"


@dataclass(frozen=True)
class Line:
    """One demand, what became of it, and why; ``patients``: about how many would decide it, None
    where that is not known or no number would."""

    demand: str
    outcome: str
    said: str
    patients: int | None = None

    def in_words(self) -> str:
        """One line."""
        return f"{self.outcome}: {self.demand}: {self.said}"


@dataclass(frozen=True)
class Verdict:
    """What a policy says of one released method."""

    policy: str
    method: str
    lines: tuple[Line, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst of the lines: "fail", before "cannot be certified"."""
        found = {line.outcome for line in self.lines}
        return next((o for o in (FAIL, UNKNOWN) if o in found), KEPT)

    @property
    def passed(self) -> bool:
        """Whether every demand is."""
        return self.outcome == KEPT


@dataclass(frozen=True)
class Reading:
    """A figure: its value and its 95 % interval; ``beside``: said of it. ``lacking``: why it is not
    the one that was asked for; "" where it is. ``patients``: it is of; None: of all."""

    value: float
    within: Interval
    beside: str = ""
    lacking: str = ""
    patients: int | None = None


def reading_of(estimate: Estimate | None) -> Reading | None:
    """An estimate as a figure; all of [0, 1] where it has no interval."""
    return None if estimate is None else Reading(estimate.mean, estimate.ci95 or (0.0, 1.0))


def at_most(demand: str, found: Mapping[str, Reading | None], most: float, patients: int) -> Line:
    """Every attacker's figure is to be ``most`` or less."""
    known = {key: reading for key, reading in found.items() if reading is not None}
    if missing := [key for key in found if key not in known]:
        return Line(demand, UNKNOWN, f"not measured of {listed(missing)}")
    if not known:
        return Line(demand, UNKNOWN, "no attacker that looks for patients took part")
    key, worst = max(known.items(), key=lambda item: (item[1].within[1], item[1].value))
    failed = [f"{k} {_words(r)}" for k, r in known.items() if r.within[0] > most]
    if failed:
        return Line(demand, FAIL, listed(failed, 3))
    if worst.within[1] <= most:
        return Line(demand, KEPT, f"{key} {_words(worst)}")
    open_ones = {k: r for k, r in known.items() if r.within[1] > most}
    if lacking := next((r.lacking for r in open_ones.values() if r.lacking), ""):
        needed = max(math.ceil(_without_exception(most)), ENOUGH)
        then = f"{lacking}, and no fewer than about {needed:,} patients certify it"
    else:
        # One attacker that is above is enough; that all are below, every one has to show.
        above = {k: r for k, r in open_ones.items() if r.value > most}
        needs = {
            k: _needed(r, most, r.patients or patients) for k, r in (above or open_ones).items()
        }
        key = (min if above else max)(needs, key=needs.__getitem__)
        worst, needed = known[key], needs[key]
        shown = "show that it fails" if above else "certify it"
        then = f"if the figure holds, about {needed:,} patients {shown}"
    whose = counted(worst.patients or patients, "patient")
    return Line(demand, UNKNOWN, f"{key} {_words(worst)}, of {whose}; {then}", needed)


def _words(reading: Reading) -> str:
    return f"{reading.value:.3g} ({between(reading.within)}){reading.beside}"


def _without_exception(most: float) -> float:
    """So many patients, none of whom is found, leave no more than ``most``."""
    return math.log(TAIL) / math.log1p(-most) if 0 < most < 1 else math.inf * (most <= 0)


def _needed(reading: Reading, most: float, patients: int) -> int:
    """About how many patients bring the end of the interval to ``most``, at this value; no fewer
    than leave no more than ``most`` where nothing is found."""
    value = float(np.clip(reading.value, NEVER, 1 - NEVER))
    low, high = np.clip(reading.within, NEVER, 1 - NEVER)
    least = _without_exception(most) if value < most else 0.0
    gap = abs(logit(min(most, 1 - NEVER)) - logit(value))
    reach = abs(logit(low if value > most else high) - logit(value))
    return math.ceil(max(least, patients * (reach / max(gap, NEVER)) ** 2, patients + 1))
