"""What links images without looking for a patient in them: the floors of every evaluation.

Each has the two readings of an attacker's figures. No gallery image is compared with itself, and
all but the coin know the real images: a release image by image that keeps what such a floor knows
can hardly link less. Where the very originals are asked for ("before-after"), there are but the
floors *findings* and *coin*: all else is of other images of a patient.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from anonymize.data.dataset import Dataset
from anonymize.data.table import PARTS
from anonymize.options import TrainOptions
from anonymize.seeds import derive_seed
from anonymize.training.compute import Compute
from anonymize.training.stages import predict
from anonymize.whitening import scatter, whitening
from attacks.attackers.combination import over_sets
from attacks.attackers.metadata import Metadata
from attacks.attackers.soft_biometrics import READ, SoftBiometrics
from attacks.evaluation.coins import GUESSES, random_figures
from attacks.evaluation.plan import READER, Plan
from attacks.evaluation.reference import Reference
from attacks.knowledge.facts import FACTS, in_words, not_said
from attacks.knowledge.scenarios import owners_in
from attacks.measuring.estimates import Estimate, Figures, Floor, Matched
from attacks.measuring.matching import measure_matched, split_matched
from attacks.measuring.metrics import Owners, genuine_places, pair_auc
from attacks.measuring.similarity import similarity
from attacks.measuring.statistics import estimate_identification, measure_identification
from attacks.results import REAL, SETS, Attack, Method

FINDINGS, TASK, TASK_SETS = "findings", "task", "task, sets"
COIN, COIN_SETS = "coin", "coin, sets"
BIOMETRICS, METADATA = SoftBiometrics.name, Metadata.name
SHRINKAGE = 0.01  # of a covariance within patients
TIED = 1e-9  # of the span of scores: less than two float32 of one matrix differ by
MESSAGES = {
    FINDINGS: "whether all true findings of two images are equal; no pixel is looked at. A release "
    "that keeps the findings links this much to whoever reads them.",
    TASK: "what the classifier of the findings says of real images, and nothing else. A release "
    "image by image that keeps what this classifier reads can hardly link less.",
    TASK_SETS: "the same, taken together over all images of a patient.",
    BIOMETRICS: "age, sex and view, read from the real images by a network. A release that shows "
    "them links this much.",
    METADATA: "true {facts}; no pixel is looked at. It stays linkable if released beside the "
    "images, however these are changed.",
    COIN: "a random number for each pair of images: the interval is where {draws} such attackers "
    "of no knowledge lie among these patients, and a figure within it shows nothing.",
    COIN_SETS: "a random number for each pair of images, taken together over all images of a "
    "patient: the interval is where {draws} such attackers of no knowledge lie.",
}
UNTRAINED = (
    "not measured: no classifier of the findings is trained here, and a figure may be of what one "
    "reads; --set evaluation.utility=true trains it, where a test part is evaluated."
)


@dataclass
class Floors:
    """Measures the floors of an evaluation.

    Attributes:
        owners: of every row of their table, with covariates.
        on_real_images: what the attacker of the plan's floor reaches there.
    """

    plan: Plan
    data: Dataset
    owners: Owners
    reference: Reference
    compute: Compute
    on_real_images: Callable[[], Attack]

    def __post_init__(self) -> None:
        self.rows = self.data.table.part(self.plan.part)
        self.tested = self.owners[self.rows]
        scenario = self.plan.options.evaluation.scenario
        self.originals = scenario == "before-after"
        self.asked = owners_in(scenario, self.tested, self.tested)

    def measured(self, methods: Iterable[Method] = ()) -> tuple[Floor, ...]:
        """Every floor that these data have; none where no patient of the part has several images.

        Args:
            methods: that were evaluated; the real images lend the figures of an attacker that
                reads age, sex and view, where it took part.
        """
        if not len(genuine_places(*self.asked)[0]):
            return ()
        data, labels = self.data, self.data.table.labels
        found = [self._of(FINDINGS, equal_findings(self.tested))] if labels else []
        if self.originals:
            return (*found, self._coin(COIN))
        sets = any(attacker.name == SETS for attacker in self.plan.chosen)
        if labels and not self.plan.measures_utility:
            found.append(Floor(name=TASK, message=UNTRAINED))
        elif labels:
            read = self._task()
            found.append(self._of(TASK, read))
            if sets:
                together = over_sets(read, self.tested, self.tested)
                found.append(_floor(TASK_SETS, *_figures(together, self.asked, self.plan.options)))
        found.append(self._biometrics(methods))
        if self.plan.part == "test" and not not_said(tuple(FACTS), data):
            knows = Metadata(data.table.frame).learn(self.owners[data.table.part("train")])
            linked = knows.compared(self.tested, self.tested)
            found.append(self._of(METADATA, linked, facts=in_words(knows.facts, "and")))
        found.append(self._coin(COIN))
        if sets:
            found.append(self._coin(COIN_SETS))
        return tuple(found)

    def _of(self, name: str, scores: np.ndarray, **said: str) -> Floor:
        return floor_of(name, scores, self.asked, self.plan.options, **said)

    def _biometrics(self, methods: Iterable[Method]) -> Floor:
        real = next((m for m in methods if m.name == REAL), None)
        known = {} if real is None else real.privacy
        attack = known.get(BIOMETRICS) or known.get(READER)
        if attack is None:
            if not self.plan.floor:
                return Floor(name=BIOMETRICS, message=f"not measured: {self._unread()}.")
            attack = self.on_real_images()
        return _floor(BIOMETRICS, attack, attack.matched, **_beside(attack, attack.matched))

    def _unread(self) -> str:
        """Why age, sex and view cannot be read from these images, in words."""
        if self.plan.measures_utility:
            return not_said(READ, self.data)
        return f"no network learns to read images here; --attackers {BIOMETRICS} does"

    def _task(self) -> np.ndarray:
        parts = [self.data.table.part(part) for part in PARTS]
        rows = np.concatenate(parts)
        network = self.reference.classifier
        outputs = predict(network, self.data.images, rows, self.compute.device)
        cuts = np.cumsum([len(part) for part in parts])[:2]
        learn, choose, _ = np.split(np.arange(len(rows)), cuts)
        return task_scores(outputs, self.owners[rows], learn, choose)

    def _coin(self, name: str) -> Floor:
        seed, sets = derive_seed(self.plan.options.seed, name), name == COIN_SETS
        drawn = random_figures(self.asked, seed, sets=sets)
        found: dict[str, Any] = {figure: _spread(draws) for figure, draws in drawn.items()}
        probes, gallery = (owners.matching for owners in self.asked)
        with suppress(ValueError):  # no impostor is alike
            alike = random_figures((probes, gallery), seed, sets=sets)
            found["matched"] = _spread(alike["auc"])
            if not sets:
                found["first_guess_matched"] = _spread(alike["precision_at_1"])
        message = MESSAGES[name].format(draws=len(drawn["auc"]))
        return Floor(name=name, message=message, **found)


def floor_of(
    name: str,
    scores: np.ndarray,
    asked: tuple[Owners, Owners],
    options: TrainOptions,
    **said: str,
) -> Floor:
    """A floor by its scores (P, G) of probes and a gallery, ``said`` in its message.

    Raises ValueError: no genuine or no impostor pairs."""
    every, alike = _figures(scores, asked, options)
    ordered = one_order(scores, derive_seed(options.seed, name))
    beside = _beside(*_figures(ordered, asked, options))
    return _floor(name, every, alike, **beside, message=MESSAGES[name].format(**said))


def _figures(
    scores: np.ndarray, asked: tuple[Owners, Owners], options: TrainOptions
) -> tuple[Figures, Matched | None]:
    drawn: dict[str, Any] = {
        "resamplings": options.evaluation.resamplings,
        "seed": options.seed,
    }
    found = measure_identification(scores, *asked, **drawn)
    found |= measure_matched(scores, *asked, **drawn)
    every, alike = split_matched(estimate_identification([found]))
    return Figures.of(every), alike


def _floor(
    name: str, every: Figures, alike: Matched | None, message: str = "", **beside: Any
) -> Floor:
    said = message or MESSAGES[name]
    return Floor(name=name, message=said, auc=every.auc, matched=alike and alike.auc, **beside)


def _beside(every: Figures, alike: Matched | None) -> dict[str, Any]:
    """Figures of a floor but its AUC."""
    headline = alike or every
    return {
        **{figure: every.estimate(figure) for figure in GUESSES},
        "first_guess_matched": alike and alike.estimate("precision_at_1"),
        "equal_error_rate": headline.estimate("equal_error_rate"),
        "operating_points": headline.operating_points,
    }


def equal_findings(probes: Owners, gallery: Owners | None = None) -> np.ndarray:
    """float32 (P, G): 1 where all findings of two images are equal, else 0; among the probes where
    there is no gallery."""
    asked, known = probes.covariates, (gallery or probes).covariates
    assert asked is not None
    assert known is not None
    return (asked.findings[:, None] == known.findings).astype(np.float32)


def one_order(scores: np.ndarray, seed: int) -> np.ndarray:
    """float64 scores in the same order, equal ones in a random one: a first guess is one guess."""
    span = float(np.ptp(scores)) or 1.0
    return scores + TIED * span * np.random.default_rng(seed).random(scores.shape)


def task_scores(
    outputs: np.ndarray, owners: Owners, learn: np.ndarray, choose: np.ndarray
) -> np.ndarray:
    """float32 (N, N): how alike a classifier's outputs of two images are.

    Compared as they are, as probabilities, and whitened by what varies within patients (Hatch et
    al. 2006); whichever links best on the images ``choose``.

    Args:
        outputs: (M, labels) logits of all images.
        owners: of these.
        learn, choose: rows of training and validation images; the others, (N,), are scored.
    """
    rest = np.setdiff1d(np.arange(len(outputs)), np.concatenate((learn, choose)))
    described = {"logits": outputs, "probabilities": expit(outputs)}
    known = learn[owners.identified[learn]]
    if len(np.unique(owners.patient[known])) < len(known):
        within = scatter(outputs[known].astype(np.float64), owners.patient[known])
        if np.trace(within) > 0:
            described["whitened"] = outputs @ whitening(within, SHRINKAGE)
    best = max(described.values(), key=lambda d: _linked_by(d[choose], owners[choose]))
    return _alike(best[rest])


def _spread(draws: list[float]) -> Estimate:
    """The interval is that of one draw, and not of their mean."""
    low, high = np.quantile(draws, [0.025, 0.975])
    mean, sd = float(np.mean(draws)), float(np.std(draws))
    return Estimate(mean=mean, sd=sd, runs=(mean,), ci95=(float(low), float(high)))


def _linked_by(described: np.ndarray, owners: Owners) -> float:
    try:
        return pair_auc(_alike(described), owners, owners)
    except ValueError:  # no genuine pair to choose by
        return 0.5


def _alike(described: np.ndarray) -> np.ndarray:
    return similarity(described.astype(np.float32), described.astype(np.float32), "euclidean")
