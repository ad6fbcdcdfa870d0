"""Risk at the size of the world, as results hold it; rates are fractions in [0, 1]."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Self

from pydantic import Field

from attacks.measuring.estimates import Estimate, Figure, Interval, Record

PREFIX, ALL, EXACT = "world|", "all", "exact"
MODELS = ("pareto", "weibull")
STRATA = {
    "same_image": "the very image",
    "year": "another image within a year",
    "later": "another image, a year or more apart",
    "view": "another image, view changed",
}
TAIL = 0.025  # of a 95 % interval


class Rate(Record):
    """A rate at one number of people.

    ``within`` is what is not excluded: the 95 % intervals of both models together; no less at its
    upper end than as many patients without an exception allow (rule of three), and down to 0 for
    more people than the square of those who were measured: so far below all that was seen the
    models were both too high on people of known truth.
    """

    estimate: Estimate
    second: Estimate | None = Field(None, description="of the second model; null: it is exact")
    within: Interval | None = None

    def no_more_than(self, most: float) -> Self:
        """The same, whose interval does not go beyond ``most``, that of fewer people."""
        if self.within is None or self.second is None:
            return self
        low, high = self.within
        return self.model_copy(update={"within": (min(low, most), min(high, most))})


class WorldPoint(Record):
    """What an attacker reaches in a gallery of so many people, the patient among them."""

    people: int
    extrapolated: bool = Field(description="more people than were measured: a fitted tail says so")
    rank_1: Rate = Field(description="the most alike person is the patient")
    r_s: Rate | None = Field(
        None,
        description="patients found by one of their probes; extrapolated: at most, as if these "
        "were independent",
    )
    linked: Figure = Field(None, description="how many patients that are, of those measured")


class Stratum(Record):
    """The same where the gallery shows the patient in one way alone."""

    probes: int
    patients: int
    points: tuple[WorldPoint, ...]


class ByProbes(Record):
    """R_s of patients of whom so many released images are known, chosen at random, among the people
    who were measured."""

    probes: int
    patients: int
    r_s: Estimate


class HeldOut(Record):
    """Rank-1 of all people who were measured, foretold from a part of them."""

    fitted_on: int
    people: int
    measured: Figure
    foretold: Rate

    @property
    def covered(self) -> bool:
        """Whether what was measured is within what was foretold."""
        low, high = self.foretold.within or (0.0, 1.0)
        return self.measured is not None and low <= self.measured <= high


class World(Record):
    """Risk by the number of people in the gallery; ``strata`` by the keys of `STRATA`."""

    people: int = Field(description="who were measured")
    patients: int
    points: tuple[WorldPoint, ...]
    strata: dict[str, Stratum] = Field({})
    by_probes: tuple[ByProbes, ...] = ()
    held_out: HeldOut | None = None

    def at(self, people: int) -> WorldPoint | None:
        """The point of so many people, or of the next fewer, whose risk is no smaller."""
        return max(
            (p for p in self.points if p.people <= people), key=lambda p: p.people, default=None
        )


def split_world(estimates: Mapping[str, Estimate]) -> tuple[dict[str, Estimate], World | None]:
    """Estimates without those of `world.measure_world`, and these as a part of results.json; None
    where they were not measured."""
    others = {n: e for n, e in estimates.items() if not n.startswith(PREFIX)}
    strata: dict[str, dict[str, Estimate]] = defaultdict(dict)
    for name, estimate in estimates.items():
        if name.startswith(PREFIX):
            _, stratum, figure = name.split("|", 2)
            strata[stratum][figure] = estimate
    if ALL not in strata:
        return others, None
    every = strata.pop(ALL)
    whole = _stratum(every)
    return others, World(
        people=round(every["people"].mean),
        patients=whole.patients,
        points=whole.points,
        strata={name: _stratum(found) for name, found in strata.items()},
        by_probes=tuple(_by_probes(every)),
        held_out=_held_out(every),
    )


def _stratum(found: Mapping[str, Estimate]) -> Stratum:
    patients, met = (round(found[name].mean) for name in ("patients", "people"))
    of: dict[int, dict[str, Estimate]] = defaultdict(dict)
    for name, estimate in found.items():
        model, _, rest = name.partition("|")
        if model in (EXACT, *MODELS):
            people, _, figure = rest.partition("|")
            of[int(people)][f"{model}|{figure}"] = estimate
    points: list[WorldPoint] = []
    most = {"rank_1": 1.0, "r_s": 1.0}  # which more people cannot exceed
    for size, those in sorted(of.items()):
        rank_1, r_s = (
            _rate(those, figure, patients, too_far=size > met**2).no_more_than(most[figure])
            for figure in most
        )
        if size <= met:
            ends = {"rank_1": rank_1.within, "r_s": r_s.within}
            most = {figure: within[1] for figure, within in ends.items() if within} or most
        points.append(
            WorldPoint(
                people=size,
                extrapolated=f"{EXACT}|r_s" not in those,
                rank_1=rank_1,
                r_s=r_s,
                linked=patients * r_s.estimate.mean,
            )
        )
    probes = round(found["probes"].mean)
    return Stratum(probes=probes, patients=patients, points=tuple(points))


def _rate(
    those: Mapping[str, Estimate], name: str, patients: int, *, too_far: bool = False
) -> Rate:
    """A figure of both models, or the exact one, as far as ``patients`` can tell."""
    if (exact := those.get(f"{EXACT}|{name}")) is not None:
        return Rate(estimate=exact, within=exact.ci95)
    first, second = (those[f"{model}|{name}"] for model in MODELS)
    least = [those[f"{m}|{name}_least"] for m in MODELS if f"{m}|{name}_least" in those]
    low = min((e.ci95 or (0.0, 1.0))[0] for e in (first, second, *least))
    high = max((e.ci95 or (0.0, 1.0))[1] for e in (first, second))
    within = (0.0 if too_far else low, max(high, 1 - TAIL ** (1 / patients)))
    return Rate(estimate=first, second=second, within=within)


def _by_probes(found: Mapping[str, Estimate]) -> Iterator[ByProbes]:
    for name, estimate in found.items():
        if name.startswith("probes|") and name.endswith("|r_s"):
            place = name.removesuffix("|r_s")
            probes, patients = int(place.split("|")[1]), round(found[f"{place}|patients"].mean)
            yield ByProbes(probes=probes, patients=patients, r_s=estimate)


def _held_out(found: Mapping[str, Estimate]) -> HeldOut | None:
    those = {n.removeprefix("held_out|"): e for n, e in found.items() if n.startswith("held_out|")}
    if not those:
        return None
    fitted_on = round(those.pop("fitted_on").mean)
    people = round(found["people"].mean)
    named = {n.replace(f"|{people}|", "|"): e for n, e in those.items()}
    return HeldOut(
        fitted_on=fitted_on,
        people=people,
        measured=found[f"{EXACT}|{people}|rank_1"].mean,
        foretold=_rate(named, "rank_1", round(found["patients"].mean)),
    )
