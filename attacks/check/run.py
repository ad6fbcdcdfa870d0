"""Runs the tests, attacker by attacker."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import torch

from anonymize.anonymizer import Anonymizer
from anonymize.data.dataset import Dataset
from anonymize.errors import UsageError
from anonymize.options import TrainOptions
from anonymize.seeds import derive_seed
from anonymize.statistics import Interval
from anonymize.training.compute import Compute
from attacks.attacker import Attacker, ImageSet, linked
from attacks.attackers.combination import TESTED_WITH, together
from attacks.check.cases import CASES, NEAR, REAL, Case
from attacks.check.cohort import relabelled
from attacks.check.maps import PixelShuffle
from attacks.evaluation.processes.work import Silent, Work
from attacks.evaluation.reference import Reference
from attacks.knowledge.levels import Level, Setting
from attacks.knowledge.scenarios import asked_of
from attacks.knowledge.set_release import Released, released_by
from attacks.knowledge.trial import Parts, Release, View
from attacks.measuring.metrics import Contributors, Owners, pair_auc
from attacks.measuring.outputs import of_patients
from attacks.measuring.statistics import measure_identification
from attacks.registry import Chosen, choose
from attacks.training.learning import Learning

CPU = torch.device("cpu")
COMBINED = ("validation", "test")  # parts that attackers are combined on
RESAMPLINGS = 400
TRAININGS = 3  # of a learner where it must link: one may be 0.02 above or below another by its seed
MORE = 9  # of one that does not come back by them, on real images and on those, before it fails
KEPT = 3 * MORE  # learners of real images, and of the kinds of release asked for last
DEALT = 100  # times that names are dealt out at random
CERTAIN = 3.29  # deviations: 99.9 % of a normal distribution; many tests, few false alarms
Status = Literal["passed", "failed", "not applicable"]
T = TypeVar("T")


@dataclass(frozen=True)
class Outcome:
    """What one test of one attacker came to.

    Attributes:
        auc, interval: of pairs, 99.9 % by resampling patients; None where it was not measured.
        why: the reason, in words; "" where it passed.
        chance: the AUC of no knowledge; not 0.5 where scores are taken together over patients.
    """

    attacker: str
    case: str
    status: Status
    auc: float | None = None
    interval: Interval | None = None
    why: str = ""
    chance: float = 0.5


def faults(outcomes: Iterable[Outcome]) -> list[str]:
    """The tests that an attacker failed, in words."""
    return [f"{o.case}: {o.why}" for o in outcomes if o.status == "failed"]


class Found(NamedTuple):
    """AUC, its interval, and what no knowledge would reach."""

    auc: float
    interval: Interval
    chance: float = 0.5


class Examination:
    """The images and what was done to them, for all attackers.

    Args:
        options: of the evaluation; ``data`` describe the cohort.
        folder: for the verifier of real images and for checkpoints.

    Attributes:
        released: gives what an attacker sees of a case's release, and the method.
    """

    def __init__(
        self, options: TrainOptions, data: Dataset, *, compute: Compute, folder: Path
    ) -> None:
        self.options, self.data, self.folder = options, data, folder
        self.compute = compute
        work = Work((), display=Silent())
        self._reference = Reference(folder, {}, options, data, compute, work)
        self.released, self._view = _by_images(self._release), cache(self._seen)
        self._member = cache(self._scores)
        self._learnt = lru_cache(KEPT)(self._teach)
        self._data = _by_images(self._cohort)

    def of(self, attacker: Chosen, cases: Sequence[Case] = CASES) -> Iterator[Outcome]:
        """One outcome a case, as they come."""
        real: float | None = None
        for case in cases:
            if excuse := case.excuse(attacker, self._data(case)):
                yield Outcome(attacker.key, case.name, "not applicable", why=excuse)
                continue
            try:
                found = self._measure(attacker, case)
                if case is REAL:
                    real = found.auc
                why = fault(case, found, real)
                if why and case.aim == "comes back" and attacker.level.trained:
                    real = self._measure(attacker, REAL, MORE).auc
                    found = self._measure(attacker, case, MORE)
                    why = fault(case, found, real)
            except Exception as error:  # one attacker's fault must not hide the others' tests
                what = str(error) if isinstance(error, UsageError) else repr(error)
                yield Outcome(attacker.key, case.name, "failed", why=" ".join(what.split()))
                continue
            status: Status = "failed" if why else "passed"
            yield Outcome(
                attacker.key, case.name, status, found.auc, found.interval, why, found.chance
            )

    def _measure(self, attacker: Chosen, case: Case, trainings: int = TRAININGS) -> Found:
        """Of so many trainings, of a learner where it must link."""
        compared = self._compared(attacker, case, "test")
        probes, gallery = (images.owners for images in compared)
        if attacker.level.combine is None:
            again = trainings if attacker.level.trained and case.aim != "chance" else 1
            taught = (self._taught(attacker, case, n) for n in range(again))
            return Found(*_auc([linked(made, *compared) for made in taught], probes, gallery))
        alone, level = self._together(attacker, case), attacker.level
        scores, *whose = combined(level, alone, probes, gallery)
        auc, interval = _auc([scores], *whose)
        if case.aim != "chance":
            return Found(auc, interval)
        drawn = names_dealt_out(alone, level, probes, gallery, seed=self.options.seed)
        return Found(auc, around(auc, drawn), float(np.mean(drawn)))

    def _together(self, attacker: Chosen, case: Case) -> np.ndarray:
        """Scores of a known composition of attackers, before anything becomes of them."""
        own = {key: self._member(key, case.images) for key in TESTED_WITH[attacker.knowledge]}
        owners: dict[str, tuple[Owners, Owners]] = {}
        for part in COMBINED:
            probes, gallery = self._compared(attacker, case, part)
            owners[part] = probes.owners, gallery.owners
        if case.coin:
            rng = np.random.default_rng(derive_seed(self.options.seed, case.name))
            sizes = {p: (len(probes), len(gallery)) for p, (probes, gallery) in owners.items()}
            own["coin"] = {p: rng.random(size, np.float32) for p, size in sizes.items()}
        return together(own, owners, lambda scores, probes, gallery: scores)["test"]

    def _scores(self, key: str, case: Case) -> dict[str, np.ndarray]:
        """Scores by part of an attacker that is combined with others."""
        member = choose(key)
        made = self._taught(member, case, 0)
        return {part: linked(made, *self._compared(member, case, part)) for part in COMBINED}

    def _taught(self, attacker: Chosen, case: Case, n: int) -> Attacker:
        """Of equal images the same; who learns from real images alone learns once for all cases,
        as in an evaluation."""
        level, real = attacker.level, replace(REAL, relabelled=case.relabelled)
        if not level.trained:
            return self._teach(attacker, level, case.images, n)
        pixels, known = (self.released(one)[0].pixels for one in (case, real))
        same = level.learns == "real" or torch.equal(pixels, known)
        return self._learnt(attacker, level, (real if same else case).images, n)

    def _teach(self, attacker: Chosen, level: Level, case: Case, n: int) -> Attacker:
        checkpoint = f"{attacker.key}-{case.name}-{n}".replace(":", "-")
        learning = Learning(self.compute, self.folder / f"{checkpoint}.safetensors")
        data, verifier = self._data(case), self._reference.verifier
        model = self.released(case)[1] if attacker.knowledge == "white-box" else None
        setting = Setting(self.options, data, verifier, learning, model)
        view = self._view(attacker.knowledge == "white-box", case)
        return view.taught(level, setting, n)

    def _compared(self, attacker: Chosen, case: Case, part: str) -> tuple[ImageSet, ImageSet]:
        view = self._view(attacker.knowledge == "white-box", case.images)
        return view.compared(asked_of(attacker.level.compares, case.compares), part)

    def _seen(self, white_box: bool, case: Case) -> View:
        shown, method = self.released(case)
        data, seed = self._data(case), self.options.seed
        release = Release(data, Parts(data), shown, method, device=CPU, seed=seed)
        # Images that a key gave back have nothing left to undo.
        return release.seen_with("white-box") if white_box and not case.key else release.plain

    def _cohort(self, case: Case) -> Dataset:
        if case.files is not None:
            return case.files(self.data, self.folder / case.name)
        return relabelled(self.data, seed=self.options.seed) if case.relabelled else self.data

    def _release(self, case: Case) -> tuple[Released, Anonymizer]:
        """What an attacker sees of the release, and the method."""
        data = self._data(case)
        method = case.method(data)
        released = released_by(method, data, device=CPU, bits=8)
        if case.key:
            assert isinstance(method, PixelShuffle)
            released = Released(method.undo(released.pixels))
        return released, method


def _by_images(made: Callable[[Case], T]) -> Callable[[Case], T]:
    """Made once for all cases of equal images."""
    kept = cache(made)
    return lambda case: kept(case.images)


def _auc(scores: Iterable[np.ndarray], probes: Owners, gallery: Owners) -> tuple[float, Interval]:
    """The mean over the scores of each training, and its interval."""
    found = [
        measure_identification(own, probes, gallery, resamplings=RESAMPLINGS)["auc"]
        for own in scores
    ]
    auc = float(np.mean([one.value for one in found]))
    return auc, around(auc, np.mean([one.draws for one in found], axis=0))


def around(auc: float, draws: np.ndarray) -> Interval:
    """Where an AUC lies with 99.9 % certainty, by its values over draws of patients."""
    away = CERTAIN * float(np.nanstd(draws))
    return max(auc - away, 0.0), min(auc + away, 1.0)


def combined(
    level: Level, scores: np.ndarray, probes: Owners, gallery: Owners
) -> tuple[np.ndarray, Owners, Owners]:
    """What an attacker makes of the scores (P, G) of several, and whose they are then."""
    assert level.combine is not None
    made = level.combine(scores, probes, gallery), probes, gallery
    return of_patients(*made) if level.of_patients else made


def names_dealt_out(
    scores: np.ndarray, level: Level, probes: Owners, gallery: Owners, *, seed: int
) -> np.ndarray:
    """(DEALT,) AUCs of the same scores (P, G) with the patients' names dealt out at random, those
    of whoever went into an image, too.

    Of means over all pairs of two sets of images these do not lie around 0.5: among the images of
    one set, a sum of products is skewed, and its median lies below its mean.
    """
    rng, found = np.random.default_rng(seed), []
    images, first = np.unique(np.r_[probes.image, gallery.image], return_index=True)
    whose = np.r_[probes.patient, gallery.patient][first]
    for _ in range(DEALT):
        dealt = rng.permutation(whose)
        asked, known = (_renamed(owners, images, dealt) for owners in (probes, gallery))
        found.append(pair_auc(*combined(level, scores, asked, known)))
    return np.array(found)


def _renamed(owners: Owners, images: np.ndarray, whose: np.ndarray) -> Owners:
    """With the patient ``whose`` of each of the ``images``, which are all there are, ascending."""
    patient = whose[np.searchsorted(images, owners.image)]
    if (made_of := owners.contributors) is None:
        return replace(owners, patient=patient)
    there = np.searchsorted(images, np.maximum(made_of.image, images[0]))
    named, unknown = (
        np.where(old >= 0, whose[there], -1) for old in (made_of.patient, made_of.unknown)
    )
    return replace(
        owners, patient=patient, contributors=Contributors(made_of.image, named, unknown)
    )


def fault(case: Case, found: Found, real: float | None) -> str:
    """What is wrong with a figure; "" where nothing is."""
    low, high = found.interval
    if case.aim == "links":
        return "" if low > 0.5 else "it is not above chance where nothing was done to the images"
    if case.aim == "chance":
        if low <= found.chance <= high:
            return ""
        where = "in images of pure noise" if not case.relabelled else "under names dealt out anew"
        return f"it finds patients {where}: something else than the images tells it"
    if real is None:
        return "it has no figure on real images to come back to"
    if found.auc >= real - NEAR:
        return ""
    return f"it stays {real - found.auc:.3f} below its {real:.3f} on real images"
