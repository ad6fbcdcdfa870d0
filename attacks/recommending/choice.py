"""Which release can be recommended, from figures alone: no files, no networks.

Fail closed: a release meets a wish only where the whole of its intervals does, so what is not known
well enough is not recommended, and data that are too few to tell are said to be so.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from anonymize.errors import counted

NEEDED = 50  # patients with several images in the test part
CHANCE = 0.5
TIE = 0.01  # AUC by which releases of one set of patients differ by luck alone

Verdict = Literal["meets", "misses", "unclear"]
Outcome = Literal["recommended", "nothing", "unclear", "not measured"]


class Interval(NamedTuple):
    """A figure and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def exposed(self) -> "Interval":
        """Of an AUC: what an adversary has of it who turns scores round that lie below chance."""
        turned = sorted((abs(self.low - CHANCE), abs(self.high - CHANCE)))
        least = 0.0 if self.low <= CHANCE <= self.high else turned[0]
        return Interval(CHANCE + abs(self.mean - CHANCE), CHANCE + least, CHANCE + turned[1])


@dataclass(frozen=True)
class Wish:
    """What a release may be: ``auc``, that of the strongest attacker against matched impostors, and
    ``loss``, the AUC that a classifier loses by learning from it; at most."""

    auc: float = 0.60
    loss: float = 0.05


@dataclass(frozen=True)
class Point:
    """A release that was measured.

    Attributes:
        spec: the method, as `anonymize apply --model` takes it.
        auc: of the strongest attacker against matched impostors; None: nobody is alike, or the
            patients do not say how sure it is.
        loss: AUC that a classifier loses which learns from it and reads real images; None: not
            known.
    """

    spec: str
    auc: Interval | None
    loss: Interval | None


@dataclass(frozen=True)
class Evidence:
    """All that a choice is made from.

    Attributes:
        real: matched AUC of the strongest attacker on real images.
        points: releases, in the order in which they were measured.
        floor: matched AUC of what a classifier of the findings reads in real images, which
            attackers of real images must exceed; None: not measured.
        patients: identified ones with several images in the evaluated part.
        readable: whether utility means anything on these data.
    """

    real: Interval | None
    points: tuple[Point, ...]
    floor: Interval | None = None
    patients: int = 0
    readable: bool = False


@dataclass(frozen=True)
class Choice:
    """What can be said: the release that is recommended, or else that came closest; and why nothing
    is known well enough, a reason each."""

    outcome: Outcome
    point: Point | None = None
    why: tuple[str, ...] = ()


def choose(evidence: Evidence, wish: Wish) -> Choice:
    """The release with the lowest AUC among those that are shown to meet the wish; of several that
    are equal to `TIE`, the one that costs least."""
    if why := too_few(evidence.patients):
        return Choice("unclear", _closest(evidence, wish), why)
    if not evidence.points:
        return Choice("not measured")
    if why := too_little(evidence, wish):
        return Choice("unclear", _closest(evidence, wish), why)
    judged = {point: verdict(point, evidence, wish) for point in evidence.points}
    meeting = [point for point, found in judged.items() if found == "meets"]
    if meeting:
        return Choice("recommended", _best(meeting))
    if "unclear" not in judged.values():
        return Choice("nothing", _closest(evidence, wish))
    unclear = [point for point, found in judged.items() if found == "unclear"]
    point = _closest(evidence, wish, unclear) or unclear[0]
    return Choice("unclear", point, tuple(doubts(point, evidence, wish)))


def too_few(patients: int) -> tuple[str, ...]:
    """Why so many patients tell nothing, which is known before anything is measured; () where they
    may."""
    if patients >= NEEDED:
        return ()
    return (
        f"of {counted(patients, 'patient')} of the test part several images are known, where "
        f"{NEEDED} are needed",
    )


def too_little(evidence: Evidence, wish: Wish) -> tuple[str, ...]:
    """Why figures tell nothing of any release; () where they do."""
    found, real = [], evidence.real
    if real is None:
        found.append("nobody can be told from others alike even in real images")
    elif real.low <= wish.auc:
        found.append(
            f"on real images the attackers reach AUC {real.mean:.3f} ({real.low:.3f}–"
            f"{real.high:.3f}), not shown to be above the {wish.auc:.3f} that is "
            "allowed: whom they do not find there, they do not find in a release either"
        )
    elif evidence.floor is not None and real.mean <= evidence.floor.mean:
        found.append(
            f"on real images the attackers reach AUC {real.mean:.3f}, no more than what a "
            f"classifier of the findings reads there ({evidence.floor.mean:.3f}): they are too weak"
        )
    return tuple(found)


def verdict(point: Point, evidence: Evidence, wish: Wish) -> Verdict:
    """Whether the whole of both intervals is within the wish, or of one outside."""
    loss = point.loss if evidence.readable else None
    auc = None if point.auc is None else point.auc.exposed
    bounds = ((auc, wish.auc), (loss, wish.loss))
    if any(found is not None and found.low > most for found, most in bounds):
        return "misses"
    return "unclear" if any(True for _ in doubts(point, evidence, wish)) else "meets"


def doubts(point: Point, evidence: Evidence, wish: Wish) -> Iterable[str]:
    """Why it is not shown that a release meets the wish, in words."""
    if point.auc is None:
        yield "no impostor is alike, so how far it hides anybody is not known"
    else:
        auc = point.auc.exposed
        if auc.high > wish.auc:
            yield f"its AUC may be {auc.high:.3f}, where {wish.auc:.3f} is allowed"
        if evidence.real is not None and point.auc.width > evidence.real.mean - auc.mean:
            yield "its interval is wider than its difference to the real images"
    if not evidence.readable:
        yield "utility cannot be read on these data, so what it costs is not known"
    elif point.loss is None:
        yield "what it costs is not known"
    elif point.loss.high > wish.loss:
        yield f"it may cost {point.loss.high:.3f} of AUC, where {wish.loss:.3f} is allowed"


def frontier(points: Iterable[Point]) -> tuple[Point, ...]:
    """Those that no other surpasses in one figure without being worse in the other; a point that
    lacks a figure is on no frontier."""
    known = _measured(points)
    return tuple(
        p
        for p, own in known
        if not any(
            other != own and all(a <= b for a, b in zip(other, own, strict=True))
            for _, other in known
        )
    )


def _measured(points: Iterable[Point]) -> list[tuple[Point, tuple[float, float]]]:
    """Those that have both figures, with these: AUC and loss."""
    return [(p, (p.auc.exposed.mean, p.loss.mean)) for p in points if p.auc and p.loss]


def _best(points: Iterable[Point]) -> Point:
    """Of points that meet the wish, and so have both figures."""
    known = _measured(points)
    lowest = min(auc for _, (auc, _) in known)
    tied = [(point, (loss, auc)) for point, (auc, loss) in known if auc <= lowest + TIE]
    return min(tied, key=lambda one: one[1])[0]


def _closest(evidence: Evidence, wish: Wish, points: Iterable[Point] | None = None) -> Point | None:
    """The one whose figures exceed the wish least, in sum; None where none has an AUC."""

    def excess(point: Point) -> float:
        assert point.auc is not None
        found = max(0.0, point.auc.exposed.mean - wish.auc)
        lost = point.loss if evidence.readable else None
        return found + (0.0 if lost is None else max(0.0, lost.mean - wish.loss))

    known = [p for p in (evidence.points if points is None else points) if p.auc is not None]
    return min(known, key=excess, default=None)
