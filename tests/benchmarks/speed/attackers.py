"""What attackers compute: learning, linking at the size of a data set, and a whole evaluation."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import attacks
from attacks.attacker import Attacker, Auxiliary, ImageSet
from attacks.attackers.contrastive import Contrastive, ContrastiveOptions
from attacks.attackers.histogram_metric import HistogramMetric
from attacks.linkage.embeddings import stored_embeddings
from attacks.measuring.metrics import Owners, pair_auc
from attacks.measuring.similarity import comparable
from attacks.measuring.statistics import measure_identification
from attacks.measuring.streamed import measure_vectors
from tests.benchmarks.speed.case import Case, Work

A_PATIENT = 4  # images, on average, as in ChestX-ray14
FEATURES = 128
TWO_STREAM = ContrastiveOptions(architecture="two-stream", epochs=2)
SMALL = {
    "data.patients": 60,
    "data.images": 200,
    "classifier.epochs": 2,
    "verifier.epochs": 2,
    "evaluation.contrastive": {"epochs": 10},
    "evaluation.repeats": 1,
    "evaluation.utility_repeats": 1,
}


def _owners(images: int, seed: int = 0) -> Owners:
    patient = np.random.default_rng(seed).integers(0, max(images // A_PATIENT, 2), images)
    return Owners(np.arange(images), np.sort(patient), np.ones(images, bool))


def _set(images: int, seed: int) -> ImageSet:
    """Images that are alike where they are one patient's."""
    owners = _owners(images, seed)
    faces = torch.rand(int(owners.patient.max()) + 1, 1, 8, 8, generator=_random(seed))
    noise = torch.rand(images, 1, 16, 16, generator=_random(seed + 1))
    mixed = F.interpolate(faces[torch.from_numpy(owners.patient)], (64, 64), mode="bicubic")
    mixed = 0.7 * mixed + 0.3 * F.interpolate(noise, (64, 64), mode="bicubic")
    return ImageSet((mixed.clamp(0, 1) * 255).byte(), owners)


def _random(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def learnt(attacker: Callable[[], Attacker], images: int, times: int) -> Work:
    """On as many images as it is asked about."""
    train, validation, test = (_set(images * times, seed) for seed in (0, 10, 20))

    def attack() -> None:
        known = Auxiliary(
            real=train, released=train, validation_real=validation, validation_released=validation
        )
        attacker().fit(known, seed=0).score(test.images, test.images)

    return attack


def _scored(images: int) -> tuple[np.ndarray, Owners]:
    """A score matrix, and whose the images are."""
    owners = _owners(images)
    return np.random.default_rng(0).standard_normal((images, images), dtype=np.float32), owners


def figures(images: int, times: int) -> Work:
    scores, owners = _scored(images * times)
    return partial(measure_identification, scores, owners, owners)


def plain_auc(images: int, times: int) -> Work:
    """One AUC of all pairs without its interval."""
    from sklearn.metrics import roc_auc_score

    scores, owners = _scored(images * times)
    pairs = ~np.eye(len(owners), dtype=bool)
    same = (owners.patient[:, None] == owners.patient)[pairs]
    return lambda: roc_auc_score(same, scores[pairs])


def our_auc(images: int, times: int) -> Work:
    scores, owners = _scored(images * times)
    return partial(pair_auc, scores, owners, owners)


def retrieval(images: int, times: int) -> Work:
    """Every figure of all pairs of embeddings, from the disk."""
    owners, folder = _owners(images * times), tempfile.TemporaryDirectory()

    def embed(rows: np.ndarray) -> np.ndarray:
        own = np.random.default_rng(0).standard_normal((int(owners.patient.max()) + 1, FEATURES))
        noise = np.random.default_rng(rows[0]).standard_normal((len(rows), FEATURES))
        return (own[owners.patient[rows]] + 2 * noise).astype(np.float32)

    sides = [
        stored_embeddings(
            Path(folder.name, f"{name}.npy"), embed, shape=(len(owners), FEATURES), made_from=name
        )
        for name in ("probes", "gallery")
    ]

    def measure() -> None:
        assert folder
        measure_vectors(*comparable(*sides, "cosine"), owners, owners)

    return measure


def evaluation(times: int) -> Work:
    def evaluate() -> None:
        with tempfile.TemporaryDirectory() as folder:
            names = ["training-free", "histogram-metric", "contrastive"]
            attacks.evaluate(
                ["random-warp:mu=0.01,seed=0"],
                attackers=names,
                options=SMALL | {"data.images": 200 * times, "data.cache": folder},
                out=Path(folder, "out"),
            )

    return evaluate


CASES = [
    Case(
        "histogram-metric, learnt and asked",
        "images",
        400,
        partial(learnt, HistogramMetric, 400),
        grows=True,
    ),
    Case(
        "contrastive, two epochs learnt and asked",
        "images",
        400,
        partial(learnt, partial(Contrastive, TWO_STREAM), 400),
    ),
    Case(
        "pair AUC of 2,000 × 2,000",
        "images",
        2000,
        partial(our_auc, 2000),
        partial(plain_auc, 2000),
        pairs=True,
    ),
    Case(
        "all figures of a score matrix, intervals too",
        "images",
        500,
        partial(figures, 500),
        grows=True,
        pairs=True,
    ),
    Case(
        "retrieval, all figures",
        "images",
        6250,
        partial(retrieval, 6250),
        grows=True,
        pairs=True,
    ),
    Case("attacks evaluate, 200 drawn images", "evaluations", 1, evaluation),
]
