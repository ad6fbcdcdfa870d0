"""A policy's demands against what was measured: pass, fail, or it cannot be certified.

A demand is passed where the whole 95 % interval is on its safe side, and failed where the whole
interval is on the other one. Between the two the data do not tell, and the line says of about how
many patients they would: a standard error falls with the root of the patients, and n patients
without an exception leave up to 1 − 0.025^(1/n) (about 3.7 / n: the rule of three, two-sided).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import logit

from anonymize.errors import counted
from attacks.evaluation.guidelines import Guided
from attacks.evaluation.judging import between, listed
from attacks.evaluation.policy import Policy, Population
from attacks.evaluation.release_seen import ReleaseSeen
from attacks.evaluation.usefulness import useful
from attacks.measuring.estimates import Estimate, Interval
from attacks.measuring.tails import ENOUGH
from attacks.measuring.world_records import TAIL, World, WorldPoint
from attacks.results import Attack, Method, Results

Outcome = Literal["pass", "fail", "cannot be certified"]
SAME, NEVER = "same_image", 1e-9
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


def judged(
    results: Results,
    policy: Policy,
    *,
    release: ReleaseSeen | None = None,
    guided: Sequence[Guided] = (),
    methods: Sequence[str] | None = None,
) -> tuple[Verdict, ...]:
    """A verdict on every released method, or on those with these titles.

    Args:
        release: the files that were released, where there are any.
        guided: the guidelines with their answers, as `guidelines.guided` gives them.
    """
    real = results.real
    return tuple(
        Verdict(policy.title, title, tuple(_lines(results, method, policy, release, guided)))
        for title, method in results.titled
        if method is not real and (methods is None or title in methods)
    )


def _lines(
    results: Results,
    method: Method,
    policy: Policy,
    release: ReleaseSeen | None,
    guided: Sequence[Guided],
) -> Iterator[Line]:
    attacks = {key: a for key, a in method.privacy.items() if a.links_patients}
    patients = results.source.patients
    if policy.matched_auc is not None:
        name = f"AUC against matched impostors at most {policy.matched_auc:g}"
        found = {k: _reading(a.matched.auc) if a.matched else None for k, a in attacks.items()}
        yield _at_most(name, found, policy.matched_auc, patients)
    if policy.precision_at_1 is not None:
        name = f"precision@1 at most {policy.precision_at_1:g}"
        found = {k: _reading(a.estimate("precision_at_1")) for k, a in attacks.items()}
        yield _at_most(name, found, policy.precision_at_1, patients)
    if policy.r_s is not None:
        yield from _population(policy.r_s, attacks, patients)
    if policy.utility is not None:
        yield Line(*useful(method, policy.utility, patients))
    if policy.min_jacobian is not None:
        yield _unfolded(method, release, policy.min_jacobian)
    if policy.headers or policy.text:
        yield from _files(method, release, policy)
    if policy.checks:
        yield _trusted(results)
    if policy.guidelines:
        yield _answered(policy.guidelines, guided)


@dataclass(frozen=True)
class Reading:
    """A figure: its value and its 95 % interval; ``beside``: said of it. ``lacking``: why it is not
    the one that was asked for; "" where it is."""

    value: float
    within: Interval
    beside: str = ""
    lacking: str = ""


def _reading(estimate: Estimate | None) -> Reading | None:
    return None if estimate is None else Reading(estimate.mean, estimate.ci95 or (0.0, 1.0))


def _at_most(demand: str, found: Mapping[str, Reading | None], most: float, patients: int) -> Line:
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
    said = f"{key} {_words(worst)}"
    if worst.within[1] <= most:
        return Line(demand, KEPT, said)
    open_ones = [r for r in known.values() if r.within[1] > most]
    said += f", of {counted(patients, 'patient')}"
    if lacking := next((r.lacking for r in open_ones if r.lacking), ""):
        needed = max(math.ceil(_without_exception(most)), ENOUGH)
        more = f"{lacking}, and no fewer than about {needed:,} patients certify it"
        return Line(demand, UNKNOWN, f"{said}; {more}", needed)
    above = [r for r in open_ones if r.value > most]
    needed = max(_needed(r, most, patients) for r in above or open_ones)
    then = "show that it fails" if above else "certify it"
    more = f"if the figure holds, about {needed:,} patients {then}"
    return Line(demand, UNKNOWN, f"{said}; {more}", needed)


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


def _population(demand: Population, attacks: Mapping[str, Attack], patients: int) -> Iterator[Line]:
    asked = f"linkage risk among {demand.people:,} people at most {demand.most:g}"
    found = {key: _linked(a, demand.people, patients) for key, a in attacks.items()}
    measured = [a.world.patients for a in attacks.values() if a.world]
    yield _at_most(asked, found, demand.most, min(measured, default=patients))
    if demand.very_image:
        held = {k: _very_image(a.world, demand.people) for k, a in attacks.items()}
        strata = [a.world.strata.get(SAME) for a in attacks.values() if a.world]
        of = min((s.patients for s in strata if s), default=patients)
        yield _at_most(f"{asked}, by who holds the very image", held, demand.most, of)


def _linked(attack: Attack, people: int, gallery: int) -> Reading | None:
    """Linkage risk among so many people. It falls with people: what fewer give is no less, and what
    more give is no more."""
    if attack.world is not None:
        return _among(attack.world.points, people, attack.world.people)
    estimate = attack.estimate("r_s")
    if estimate is None or estimate.ci95 is None:
        return None
    low, high = estimate.ci95
    within = (0.0 if people > gallery else low, high if people >= gallery else 1.0)
    lacking = "measured by an older version: evaluate again"
    return Reading(estimate.mean, within, f" among {gallery:,} people", lacking)


def _very_image(world: World | None, people: int) -> Reading | None:
    if world is None or SAME not in world.strata:
        return None
    return _among(world.strata[SAME].points, people, world.people)


def _among(points: Sequence[WorldPoint], people: int, measured: int) -> Reading | None:
    ends = {p.people: p.r_s.within or (0.0, 1.0) for p in points if p.r_s is not None}
    nearest = max((p for p in points if p.people <= people), key=lambda p: p.people, default=None)
    if nearest is None or nearest.r_s is None:
        return None
    high = ends[nearest.people][1]
    low = max((low for size, (low, _) in ends.items() if size >= people), default=0.0)
    beside = ""
    if nearest.r_s.second is not None:
        other = nearest.r_s.second.mean
        beside = f", second model {other:.3g}, extrapolated from {measured:,} people"
    lacking = ""
    if nearest.people < people and measured < ENOUGH:
        lacking = f"{measured:,} people are too few to fit a tail to, which takes {ENOUGH:,}"
        beside += f" among {nearest.people:,}"
    return Reading(nearest.r_s.estimate.mean, (min(low, high), high), beside, lacking)


def _unfolded(method: Method, release: ReleaseSeen | None, least: float) -> Line:
    demand = f"smallest Jacobian determinant at least {least:g}"
    moved = method.image.displacement_px is not None
    found = [method.image.min_jacobian, release.min_jacobian if release else None]
    known = [value for value in found if value is not None]
    if not known:
        if moved:
            return Line(demand, UNKNOWN, "not measured")
        return Line(demand, KEPT, "the method does not deform")
    return Line(demand, KEPT if min(known) >= least else FAIL, f"{min(known):.3g}")


def _files(method: Method, release: ReleaseSeen | None, policy: Policy) -> Iterator[Line]:
    """Headers and text of the release's files."""
    demands = {
        "headers and files are sound (`anonymize verify`)": policy.headers,
        "burned-in text was looked for": policy.text,
    }
    for demand in (name for name, wanted in demands.items() if wanted):
        if release is None:
            yield Line(demand, UNKNOWN, "no release was looked at: name its folder, --release DIR")
        elif not release.sound:
            yield Line(demand, FAIL, release.in_words())
        elif release.method != method.name:
            yield Line(
                demand, UNKNOWN, f"--release was made by {release.method}, not by {method.name}"
            )
        elif release.model and method.fingerprint and release.model != method.fingerprint:
            yield Line(demand, UNKNOWN, "--release was made by another model file")
        elif demand.startswith("headers"):
            yield Line(demand, KEPT, release.in_words())
        else:
            whole = release.searched == release.files
            said = f"in {release.searched:,} of {counted(release.files, 'image')}"
            yield Line(demand, KEPT if whole else FAIL, said)


def _trusted(results: Results) -> Line:
    """The checks that say whether to trust the figures."""
    demand = "the figures can be trusted (all checks)"
    failed = [c.name for c in results.checks if not (c.passed or c.informative)]
    if failed:
        return Line(demand, FAIL, listed(failed, 4))
    if unseen := [c.name for c in results.checks if not c.tested]:
        return Line(demand, UNKNOWN, f"not tested: {listed(unseen, 4)}; `attacks check` does it")
    if not results.checks:
        return Line(demand, UNKNOWN, "these results hold no check")
    return Line(demand, KEPT, counted(len(results.checks), "check"))


def _answered(kind: str, guided: Sequence[Guided]) -> Line:
    demand = f"guidelines {kind} are answered"
    own = [g for g in guided if g.key.startswith(kind)]
    if not own:
        return Line(demand, UNKNOWN, "no answers: name their file, --answers FILE")
    if refused := [g.key for g in own if g.answer == "no"]:
        return Line(demand, FAIL, f"answered no: {', '.join(refused)}")
    if unanswered := [g.key for g in own if g.answer != "yes"]:
        return Line(demand, UNKNOWN, f"not answered: {', '.join(unanswered)}")
    return Line(demand, KEPT, f"{', '.join(g.key for g in own)} are answered yes")
