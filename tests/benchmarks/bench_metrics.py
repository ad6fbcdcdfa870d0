"""Time of every figure with its interval: python tests/benchmarks/bench_metrics.py [IMAGES]."""

import sys
import time

import numpy as np

from anonymize.statistics import measure_classification
from attacks.measuring.metrics import Owners, count_matrix
from attacks.measuring.retrieval import retrieve
from attacks.measuring.statistics import measure_identification


def main(images: int = 2000, labels: int = 14) -> None:
    rng = np.random.default_rng(0)
    patient = rng.integers(0, max(2, images * 3 // 10), images)
    owners = Owners(np.arange(images), patient, np.ones(images, bool))
    scores = rng.standard_normal((images, images), dtype=np.float32)
    targets = (rng.random((images, labels)) < 0.1).astype(np.float32)
    names = [str(i) for i in range(labels)]
    for name, measure in (
        ("pair AUC", lambda: count_matrix(scores, owners, owners)),
        ("retrieval", lambda: retrieve(scores, owners, owners)),
        ("all with 1,000 draws", lambda: measure_identification(scores, owners, owners)),
        (
            f"{labels} labels with 1,000 draws",
            lambda: measure_classification(scores[:, :labels], targets, patient, names),
        ),
    ):
        start = time.perf_counter()
        measure()
        print(f"{images} × {images}: {name}: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
