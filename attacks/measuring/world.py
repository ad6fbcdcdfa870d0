"""Risk at the size of the world: rank-1 and linkage risk (``r_s``) in a gallery of N people.

Up to the people who were measured the figures are exact expectations over which of them are there
(`chances`); beyond they are *extrapolated* from each probe's own impostor tail (`tails`), for
strangers who are like those that were measured. Nobody measured them.

Of an image that was made of several people's the patient is the one it stands for, and the gallery
holds none of the others: who holds fewer of them finds her the sooner.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from anonymize.data.table import Table
from anonymize.statistics import Measured, draw_patients
from attacks.measuring import chances
from attacks.measuring.crowd import Best, Crowd, crowds
from attacks.measuring.metrics import Owners, genuine_places
from attacks.measuring.pair_facts import pair_groups
from attacks.measuring.statistics import mean_of
from attacks.measuring.tails import ENOUGH, SHARE, Excesses, Strangers, Tail, pareto, weibull
from attacks.measuring.world_records import ALL, EXACT, MODELS, PREFIX

PEOPLE = (2, 5, 10, 30, 100, 300, 1000, *(10**n for n in range(4, 10)))
FEW = (2, 10, 100, 1000, 10**4, 10**6, 10**9)  # of each stratum
PROBES = (1, 2, 3, 4, 5, 6)
FITS = dict(zip(MODELS, (pareto, weibull), strict=True))
GROUPS = 10  # of people, each left out once (jackknife)
SHARES = (SHARE, SHARE / 2, SHARE * 2)  # above the threshold; the first is that of the figures
PART = 0.25  # of the people, or a few more than a tail takes, from whom the others are foretold
DRAWS = 200
NEVER = 1e-15


def measure_world(
    scores: np.ndarray,
    owners: tuple[Owners, Owners],
    table: Table,
    *,
    same_image: bool,
    resamplings: int = DRAWS,
    seed: int = 0,
) -> dict[str, Measured]:
    """Every figure by its name, which `world_records.split_world` reads.

    Args:
        scores: (P, G).
        table: ``Owners.image`` counts its rows.
        same_image: the gallery may hold the very image of a probe.

    Raises:
        ValueError: no genuine or no impostor pair.
    """
    probes, gallery = owners
    bests = dict(_bests(scores, probes, gallery, table, same_image))
    found = crowds(scores, probes, gallery, bests)
    drawn = {"resamplings": min(resamplings, DRAWS), "seed": seed}
    figures: dict[str, Measured] = {}
    for name, crowd in found.items():
        if len(crowd.patient):
            figures |= measure_crowd(crowd, name, **drawn)
    return figures


def measure_crowd(
    crowd: Crowd, stratum: str = ALL, *, resamplings: int = DRAWS, seed: int = 0
) -> dict[str, Measured]:
    """The figures of one stratum: exact ones, extrapolated ones, and of all the R_s by probes and
    what is foretold from a part."""
    codes, whose = np.unique(crowd.patient, return_inverse=True)
    weights = draw_patients(len(codes), resamplings=resamplings, seed=seed)
    rates = _Rates(crowd, whose, weights)
    met = int(crowd.people.min()) + 1
    found = {"people": met, "patients": len(codes), "probes": len(whose)}
    figures = {f"{PREFIX}{stratum}|{n}": Measured(v, np.zeros(0)) for n, v in found.items()}
    named: dict[str, Measured] = {}
    asked = PEOPLE if stratum == ALL else FEW
    for people in sorted({met, *(n for n in asked if n <= met)}):
        named |= {f"{EXACT}|{people}|{n}": m for n, m in rates.exact(people - 1)}
    tails = _tails(crowd.strangers, seed)
    for people in (n for n in asked if n > met):
        named |= _extrapolated(rates, tails, people)
    if stratum == ALL:
        named |= dict(rates.by_probes())
        named |= _held_out(rates, seed)
    return figures | {f"{PREFIX}{stratum}|{name}": measured for name, measured in named.items()}


def _bests(
    scores: np.ndarray, probes: Owners, gallery: Owners, table: Table, same_image: bool
) -> Iterator[tuple[str, Best]]:
    """Of all pairs of one patient, and of those of each stratum that has any."""
    row, column = genuine_places(probes, gallery)
    own = probes.patient[row] == gallery.patient[column]  # of several people's images, too
    row, column = row[own], column[own]
    yield ALL, Best.of(scores, row, column)
    if same_image:
        place = {image: n for n, image in enumerate(gallery.image.tolist())}
        there = (n for n in np.flatnonzero(probes.identified) if probes.image[n] in place)
        known = [(n, place[probes.image[n]]) for n in there]
        if known:
            yield "same_image", Best.of(scores, *np.array(known).T)
    parts = {name: np.zeros(len(row), bool) for name in ("year", "later", "view")}
    for fact, group, members in pair_groups(table, probes.image[row], gallery.image[column]):
        if fact == "age_difference":
            parts["year" if group == "under 1" else "later"] |= members
        elif (fact, group) == ("view", "changed"):
            parts["view"] |= members
    for name, members in parts.items():
        if members.any():
            yield name, Best.of(scores, row[members], column[members])


@dataclass(frozen=True)
class _Rates:
    """Rates over the probes and over the patients of a crowd, with their draws. ``whose``: (Q,) the
    column of ``weights`` (B, K) of each probe."""

    crowd: Crowd
    whose: np.ndarray
    weights: np.ndarray

    def exact(self, drawn: int) -> Iterator[tuple[str, Measured]]:
        crowd = self.crowd
        yield "rank_1", self.of_probes(chances.unbeaten(crowd.people, crowd.ahead, drawn))
        yield "r_s", self.of_patients(chances.linked_exactly(crowd, drawn))

    def beyond(self, tail: Tail, drawn: int) -> dict[str, np.ndarray]:
        """By name, of each probe or patient: where ``drawn`` strangers of a tail are met."""
        crowd = self.crowd
        seen = crowd.ahead / crowd.people
        fitted = tail(crowd.best)
        alone = chances.beyond(np.where(np.isnan(fitted), seen, fitted), drawn)
        return {
            "rank_1": alone,
            "r_s": chances.linked_at_most(alone, crowd.patient),
            "r_s_least": chances.linked_at_least(alone, crowd.patient),
        }

    def by_probes(self) -> Iterator[tuple[str, Measured]]:
        linked = self.crowd.ahead == 0
        counts = np.bincount(self.whose)
        for probes in PROBES:
            there = np.flatnonzero(counts >= probes)
            if len(there) > 1:
                each = chances.linked_by_some(linked, self.crowd.patient, probes)
                yield f"probes|{probes}|r_s", mean_of(each, there, self.weights)
                yield f"probes|{probes}|patients", Measured(len(there), np.zeros(0))

    def of_probes(self, values: np.ndarray) -> Measured:
        return mean_of(values, self.whose, self.weights)

    def of_patients(self, values: np.ndarray) -> Measured:
        return mean_of(values, np.arange(len(values)), self.weights)

    def mean(self, name: str, values: np.ndarray) -> Measured:
        return self.of_probes(values) if name == "rank_1" else self.of_patients(values)


# By model, the strangers of a crowd: as they are, without each group of people in turn, and above
# other thresholds.
Tails = Mapping[str, tuple[Tail, Sequence[Tail], Sequence[Tail]]]


def _tails(strangers: Strangers, seed: int) -> Tails:
    """Of both models; of none where the people are too few."""
    group = np.random.default_rng(seed).permutation(len(strangers.there)) % GROUPS
    left = [Excesses.of(strangers.without(group == n)) for n in range(GROUPS)]
    whole, *other = (Excesses.of(strangers, share) for share in SHARES)
    without, beside = ([e for e in kind if e is not None] for kind in (left, other))
    if whole is None or len(without) < GROUPS or not whole.scale.any():
        return {}
    return {
        model: (fit(whole), [*map(fit, without)], [*map(fit, beside)])
        for model, fit in FITS.items()
    }


def _extrapolated(rates: _Rates, tails: Tails, people: int) -> dict[str, Measured]:
    """The figures of both models; a draw of patients also leaves out one group of people, and takes
    one of the thresholds."""
    found: dict[str, Measured] = {}
    draws = len(rates.weights)
    choice = np.random.default_rng(people)
    for model, (whole, *others) in tails.items():
        moved = [[rates.beyond(tail, people - 1) for tail in kind] for kind in others]
        for name, values in rates.beyond(whole, people - 1).items():
            measured = rates.mean(name, values)
            centre = _log_odds(measured.value)
            groups, thresholds = (
                _log_odds(np.array([one[name].mean() for one in kind])) for kind in moved
            )
            # A jackknife's differences are those of draws over the root of the groups left.
            of_people = (groups - groups.mean()) * np.sqrt(GROUPS - 1)
            of_thresholds = np.r_[0.0, thresholds - centre]
            away = choice.choice(of_people, draws) + choice.choice(of_thresholds, draws)
            shifted = expit(_log_odds(measured.draws) + away)
            found[f"{model}|{people}|{name}"] = Measured(measured.value, shifted, measured.patients)
    return found


def _held_out(rates: _Rates, seed: int) -> dict[str, Measured]:
    """Rank-1 of all people, foretold from a part of them."""
    strangers = rates.crowd.strangers
    everybody = len(strangers.there)
    few = max(round(PART * everybody), round(1.2 * ENOUGH))
    if few > everybody / 2:
        return {}
    left_out = np.random.default_rng(seed).permutation(everybody) >= few
    part = strangers.without(left_out)
    tails = _tails(part, seed)
    if not tails:
        return {}
    people = int(rates.crowd.people.min()) + 1
    foretold = _extrapolated(rates, tails, people)
    found = {f"held_out|{name}": m for name, m in foretold.items() if name.endswith("rank_1")}
    fitted_on = int(part.people.min()) + 1
    return found | {"held_out|fitted_on": Measured(fitted_on, np.zeros(0))}


def _log_odds(values: np.ndarray | float) -> np.ndarray:
    return logit(np.clip(values, NEVER, 1 - NEVER))
