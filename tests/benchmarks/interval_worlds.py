"""Made-up worlds of patients, with what makes real ones hard, and the truth of each figure there.

Patients and images that are easier or harder than others, on the genuine and on the impostor side;
patients with many images and with one; images of which nobody knows whose they are; findings that
come and go. What very many patients would give is known in closed form, of sets but for the sizes
of sets, which are drawn 20,000 times; of first guesses it is what many more worlds of as many
patients give.
"""

from functools import cache

import numpy as np
from scipy.stats import norm

from anonymize.statistics import Measured, measure_classification
from attacks.attackers.combination import over_sets
from attacks.measuring.drawn_pairs import DrawnPairs
from attacks.measuring.metrics import Covariates, Owners, genuine_pairs, impostor_pairs
from attacks.measuring.retrieval import retrieve
from attacks.measuring.statistics import mean_of, mean_of_runs, mean_over_runs

# Patients: further images of one on average, and at most; as in the sets that are evaluated.
WORLDS = {11: (6.0, 40), 54: (0.45, 12), 600: (0.55, 12)}
UNKNOWN = 0.15  # of the images
PATIENT, STRANGER, IMAGE, SEED = 0.7, 0.4, 0.4, 0.15  # standard deviations; of a pair: 1
SHARED = 0.6  # of the variance, by two methods
# Of a genuine score, and of an impostor's; and of the one less the other.
GENUINE, IMPOSTOR = PATIENT**2 + 2 * IMAGE**2 + 1, 2 * (STRANGER**2 + IMAGE**2) + 1
VARIANCE = GENUINE + IMPOSTOR
ABOVE = 2.0  # mean genuine score
RUNS, ATTACKERS = 3, 2  # of a method; of one generator
# Sets of findings that impostors are matched by, equally frequent; how often an image has another.
FINDINGS, CHANGED = {11: 4, 54: 12, 600: 12}, 0.2
COMMON = np.full(4, 0.3)  # how many have each finding, of utility
RARE = np.geomspace(0.03, 0.4, 14)  # as in ChestX-ray14
SIZES = 20_000  # draws of the sizes of sets
OTHERS = {11: 3000, 54: 1000, 600: 60}  # worlds that say how many first guesses are right


class World:
    """Patients and their images, of which several methods and runs can be scored."""

    def __init__(self, patients: int, rng: np.random.Generator) -> None:
        self.known, (further, most) = patients, WORLDS[patients]
        while True:
            images = np.minimum(1 + rng.poisson(rng.gamma(1, further, patients)), most)
            if np.count_nonzero(images > 1) >= 3:
                break
        known = np.repeat(np.arange(patients), images)
        unknown = patients + np.arange(int(UNKNOWN * len(known)))
        patient = np.r_[known, unknown]
        findings = rng.integers(FINDINGS[patients], size=patient.max() + 1)[patient]
        changed = rng.random(len(patient)) < CHANGED
        findings[changed] = rng.integers(FINDINGS[patients], size=changed.sum())
        unsaid = np.full(len(patient), -1)
        self.owners = Owners(
            np.arange(len(patient)),
            patient,
            patient < patients,
            Covariates(findings, unsaid, unsaid, np.full(len(patient), np.nan)),
        )
        self.codes, self._rng = np.unique(patient), rng
        self._common = self._effects()
        self._common_findings = self._findings(COMMON, rng)
        apart = rng.spawn(1)[0]  # whoever has many findings changes nothing else of the world
        self._rare_findings = self._findings(RARE, apart)

    def run(
        self, above: float, weights: np.ndarray, *, matched: bool = False
    ) -> tuple[dict[str, Measured], float] | None:
        """Figures of one run of a method whose genuine scores lie ``above`` the others on average,
        and how far they lie above in this run. Of matched pairs, on which findings have no bearing:
        None if no impostor is alike."""
        scores, above = self.scores(above)
        owners = self.owners.matching if matched else self.owners
        try:
            figures = DrawnPairs(scores, owners, owners, self.codes).figures(weights)
        except ValueError:
            return None
        ranks = retrieve(scores, owners, owners)
        figures["first"] = mean_of(ranks.within(1), ranks.patient, weights)
        return figures, above

    def auc(self, above: float, weights: np.ndarray) -> Measured:
        """The pair AUC of one run."""
        scores, _ = self.scores(above)
        return DrawnPairs(scores, self.owners, self.owners, self.codes).figures(weights)["auc"]

    def generators(self, above: float, weights: np.ndarray) -> Measured:
        """The mean over several generators, each attacked several times."""
        found = []
        for _ in range(RUNS):
            of_one = above + SEED * self._rng.standard_normal()
            found.append(mean_of_runs([self.auc(of_one, weights) for _ in range(ATTACKERS)]))
        return mean_over_runs(found)

    def margins(self, matched: bool) -> np.ndarray:
        """(Q,) by how much genuine scores must lie above the others for a first guess to be right,
        of each image that is asked for."""
        scores, _ = self.scores(0.0, spread=0.0)
        owners = self.owners.matching if matched else self.owners
        genuine, others = (
            np.where(pairs(owners, owners), scores, -np.inf).max(axis=1)
            for pairs in (genuine_pairs, impostor_pairs)
        )
        asked = np.isfinite(genuine) & np.isfinite(others)
        return others[asked] - genuine[asked]

    def sets(self, weights: np.ndarray) -> tuple[Measured, float]:
        """The same of all images of a patient together."""
        scores, above = self.scores(ABOVE)
        scores = over_sets(scores, self.owners, self.owners)
        pairs = DrawnPairs(scores, self.owners, self.owners, self.codes)
        return pairs.figures(weights)["auc"], auc_of_sets(above, WORLDS[self.known])

    def utility(
        self, tells: float, resamplings: int, seed: int, *, rare: bool = False, spread: float = 0.0
    ) -> tuple[Measured, float]:
        """Mean AUC of labels that a classifier reads, and what very many patients would give; of
        one training of many where these have a ``spread``."""
        present, difficult, rng = self._rare_findings if rare else self._common_findings
        tells = tells + spread * rng.standard_normal() if spread else tells
        quality, noise = (
            np.sqrt(SHARED) * a + np.sqrt(1 - SHARED) * b
            for a, b in zip(difficult, self._effects_on(present, rng), strict=True)
        )
        logits = tells * present + PATIENT * quality[self.owners.patient] + noise
        found = measure_classification(
            logits,
            present.astype(float),
            self.owners.patient,
            [str(label) for label in range(present.shape[1])],
            resamplings=resamplings,
            seed=seed,
        )
        return found.mean, auc_of(tells, 2 * (PATIENT**2 + 1))

    def scores(self, above: float, spread: float = SEED) -> tuple[np.ndarray, float]:
        """(N, N) of one run, and by how much its genuine scores lie above the others."""
        mixed = [
            np.sqrt(SHARED) * a + np.sqrt(1 - SHARED) * b
            for a, b in zip(self._common, self._effects(), strict=True)
        ]
        quality, stranger, asked, known, pair = mixed
        patient, above = self.owners.patient, above + spread * self._rng.standard_normal()
        same = patient[:, None] == patient
        genuine = above + PATIENT * quality[patient][:, None]
        impostor = STRANGER * (stranger[patient][:, None] + stranger[patient])
        return np.where(same, genuine, impostor) + IMAGE * (asked[:, None] + known) + pair, above

    def _findings(self, frequent: np.ndarray, rng: np.random.Generator) -> tuple:
        """Who has findings this frequent, in which images, and how well each is to be read."""
        patient, labels = self.owners.patient, len(frequent)
        of_patients = rng.random((len(self.codes), labels)) < frequent
        changes = rng.random((len(patient), labels)) < CHANGED
        present = np.where(changes, rng.random(changes.shape) < frequent, of_patients[patient])
        return present, self._effects_on(present, rng), rng

    def _effects_on(self, present: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        shapes = ((len(self.codes), present.shape[1]), present.shape)
        return [rng.standard_normal(shape) for shape in shapes]

    def _effects(self) -> list[np.ndarray]:
        n, patients = len(self.owners), len(self.codes)
        shapes = (patients, patients, n, n, (n, n))
        return [self._rng.standard_normal(shape) for shape in shapes]


def error_rate_of(above: float) -> float:
    """Where as many genuine scores are rejected as impostors' are accepted."""
    return float(norm.cdf(-above / (np.sqrt(GENUINE) + np.sqrt(IMPOSTOR))))


def missed_of(above: float, rate: float) -> float:
    """Genuine scores that are rejected where ``rate`` of the impostors' are accepted."""
    return float(norm.cdf((norm.isf(rate) * np.sqrt(IMPOSTOR) - above) / np.sqrt(GENUINE)))


def auc_of(above: float, variance: float) -> float:
    """P(genuine > impostor) of normal scores whose difference has this variance."""
    return float(norm.cdf(above / np.sqrt(variance)))


@cache
def spread_of_sets(further: float, most: int) -> np.ndarray:
    """(SIZES,) variance of a genuine less an impostor score of sets, as frequent as such pairs of
    their images are."""
    rng = np.random.default_rng(0)
    size = np.minimum(1 + rng.poisson(rng.gamma(1, further, SIZES)), most)
    unknown = np.ones(int(UNKNOWN * size.sum()), int)
    every, genuine = np.r_[size, unknown], (size * (size - 1)).astype(float)
    n = rng.choice(size, SIZES, p=genuine / genuine.sum()) - 1  # the others of a probe
    p, g = (rng.choice(every, SIZES, p=every / every.sum()) for _ in range(2))
    # The probe's own original is left out: its image is asked for n times, the others n − 1.
    asked = 1 / n**2 + (n - 1) ** 2 / n**3
    own = PATIENT**2 + IMAGE**2 * (asked + 1 / n) + 1 / n**2
    return own + 2 * STRANGER**2 + IMAGE**2 * (1 / p + 1 / g) + 1 / (p * g)


def auc_of_sets(above: float, sizes: tuple[float, int]) -> float:
    """The same of scores that are means over all images of two patients."""
    return float(norm.cdf(above / np.sqrt(spread_of_sets(*sizes))).mean())


@cache
def margins(patients: int, matched: bool) -> np.ndarray:
    """Those of many worlds, ascending."""
    rng = np.random.default_rng([patients, matched])
    found = [World(patients, rng).margins(matched) for _ in range(OTHERS[patients])]
    return np.sort(np.concatenate(found))


def first_of(above: float, patients: int, *, matched: bool = False) -> float:
    """Share of first guesses that are right."""
    known = margins(patients, matched)
    return float(np.searchsorted(known, above) / len(known))
