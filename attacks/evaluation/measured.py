"""What the scores of one run of an attacker are worth: every figure of results.json."""

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from anonymize.data.dataset import Dataset
from anonymize.data.pairs import Pairs
from anonymize.options import TrainOptions
from anonymize.seeds import derive_seed
from anonymize.statistics import Measured, measure_auc
from attacks.evaluation.coins import luck_of_sets
from attacks.evaluation.scored import MEMBERS, WITHIN, Scores
from attacks.knowledge.scenarios import Scenario
from attacks.knowledge.trial import Release
from attacks.measuring import outputs
from attacks.measuring.breakdown import measure_breakdown
from attacks.measuring.judged import judged_on
from attacks.measuring.matching import PREFIX as MATCHED
from attacks.measuring.matching import measure_matched
from attacks.measuring.metrics import Owners, pair_auc
from attacks.measuring.outputs import each_once, own_guesses
from attacks.measuring.statistics import measure_identification
from attacks.measuring.world import measure_world

LISTED, VALIDATION = "auc_listed", "auc_validation"
Figures = dict[str, Measured]


@dataclass
class Measurer:
    """Of the attackers of one evaluation, which is about ``part``."""

    options: TrainOptions
    data: Dataset
    part: str
    _lucky: tuple[Release, Scenario, Figures] | None = field(default=None, init=False)

    def figures(
        self, made: Scores, scenario: Scenario, release: Release, *, of_patients: bool = False
    ) -> Figures:
        """Of one run, as `Level.of_patients` has it. Raises DataError: its part has no genuine or
        no impostor pairs."""

        def asked(part: str) -> tuple[np.ndarray, Owners, Owners]:
            given = made[part], *release.owners(scenario, part)
            return outputs.of_patients(*given) if of_patients else given

        every, probes, gallery = asked(self.part)
        scores, once = each_once(every, probes)
        drawn = self._drawn | {"patients": release.everybody(scenario, self.part)}
        with judged_on(f"part {self.part}"):
            found = measure_identification(scores, once, gallery, **drawn)
        found |= measure_matched(scores, once, gallery, **drawn)
        alike = MATCHED + "auc" in found
        if of_patients:
            luck = self._luck(release, scenario)
            found |= {name: one for name, one in luck.items() if alike or MATCHED not in name}
        # What is asked of the image that an output stands for has a row for each.
        matching = probes.matching, gallery.matching
        asked_of = {"": (probes, gallery)} | ({MATCHED: matching} if alike else {})
        for prefix, sides in asked_of.items():
            own = own_guesses(every, *sides, **drawn)
            found |= {prefix + name: guesses for name, guesses in own.items()}
        if MEMBERS in made:
            reached, member = made[MEMBERS]
            people = np.arange(len(member))
            found[MEMBERS] = measure_auc(reached, member > 0, people, **self._drawn)
        if scenario == "before-after":
            return found
        given = every, (probes, gallery), self.data.table
        found |= self._breakdown(*given)
        if alike:
            rates = self._breakdown(every, matching, self.data.table)
            found |= {MATCHED + name: rate for name, rate in rates.items()}
        found |= measure_world(*given, same_image=scenario == "released-real", **self._drawn)
        found |= self._listed(every, probes, gallery)
        if WITHIN in made:
            shown, known = release.owners("released-released", self.part)
            with suppress(ValueError):  # too few outputs, each of too many patients, to compare two
                rows, shown = each_once(made[WITHIN], shown)
                both, known = each_once(rows.T, known)
                found[WITHIN] = measure_identification(both.T, shown, known, **self._drawn)["auc"]
        if "validation" in made:
            rows, shown, known = asked("validation")
            found |= _on_validation(*each_once(rows, shown), known, matched=alike)
        return found

    @property
    def _drawn(self) -> dict[str, Any]:
        return {"resamplings": self.options.evaluation.resamplings, "seed": self.options.seed}

    def _luck(self, release: Release, scenario: Scenario) -> Figures:
        """Beside an attacker that takes together all that shows a patient; of the last release it
        is kept, since that is the same whatever such an attacker knows, and in every repeat."""
        if self._lucky is None or self._lucky[0] is not release or self._lucky[1] != scenario:
            asked, seed = (
                release.owners(scenario, self.part),
                derive_seed(self.options.seed, "luck"),
            )
            rate = self.options.evaluation.false_match_rate
            self._lucky = release, scenario, luck_of_sets(asked, seed, false_match_rate=rate)
        return self._lucky[2]

    def _breakdown(self, *given: Any) -> Figures:
        rate = self.options.evaluation.false_match_rate
        return measure_breakdown(*given, false_match_rate=rate, **self._drawn)

    def _listed(self, scores: np.ndarray, probes: Owners, gallery: Owners) -> Figures:
        """Of the test pairs of the options, as far as both images were released; nothing without
        genuine ones and impostors."""
        if self.part != "test":
            return {}
        pairs = self._pairs
        there = np.isin(pairs.first, probes.image) & np.isin(pairs.second, gallery.image)
        first = _places(pairs.first[there], probes)
        second = _places(pairs.second[there], gallery)
        same = pairs.same[there]
        # Of two patients, one of whom went into the output of the other: neither is true of them.
        told = same | ~_went_in(probes[first], gallery[second])
        first, second, same = first[told], second[told], same[told]
        if not 0 < same.sum() < len(same):
            return {}
        patient = probes.patient[first]
        return {LISTED: measure_auc(scores[first, second], same, patient, **self._drawn)}

    @cached_property
    def _pairs(self) -> Pairs:
        return self.data.fixed_pairs("test")


def _places(images: np.ndarray, owners: Owners) -> np.ndarray:
    """Where the first of each of the ``images`` stands."""
    numbers, places = np.unique(owners.image, return_index=True)
    return places[np.searchsorted(numbers, images)]


def _went_in(shown: Owners, real: Owners) -> np.ndarray:
    """bool (N,): the patient of a real image went into the output beside it."""
    if (made_of := shown.contributors) is None:
        return np.zeros(len(shown), bool)
    people = np.hstack([made_of.patient, made_of.unknown])
    return (people == real.patient[:, None]).any(axis=1)


def _on_validation(
    scores: np.ndarray, probes: Owners, gallery: Owners, *, matched: bool
) -> Figures:
    found: Figures = {}
    with suppress(ValueError):  # nobody there has another image, or nobody else's is alike
        found[VALIDATION] = Measured(pair_auc(scores, probes, gallery), np.zeros(0))
        if matched:
            auc = pair_auc(scores, probes.matching, gallery.matching)
            found[MATCHED + VALIDATION] = Measured(auc, np.zeros(0))
    return found
