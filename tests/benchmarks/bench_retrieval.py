"""Time and memory of re-identification by embeddings, at the scale of a whole data set.

Run with ``python tests/benchmarks/bench_retrieval.py [--images N] [--features D] [--probes N]
[--out FILE]``; FILE (JSON) takes what is printed.
Embeddings are drawn, written to the disk a batch at a time, and every figure is measured; peak
memory is that of the whole process, Python and torch included.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from attacks.linkage.embeddings import stored_embeddings
from attacks.measuring.metrics import Owners
from attacks.measuring.streamed import comparable, measure_vectors

IMAGES_A_PATIENT = 4  # on average, as in ChestX-ray14


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Clock:
    """Prints wall time, time on the processors and memory of each piece of work."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        self.rows: list[dict[str, str | float]] = []

    def __call__(self, title: str) -> None:
        wall, cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu
        print(f"{title:42} {wall:7.1f} s ({cpu:.1f} s of CPU), {peak_gib():.2f} GiB", flush=True)
        self.rows.append(
            {
                "work": title,
                "seconds": round(wall, 1),
                "cpu_seconds": round(cpu, 1),
                "peak_gib": round(peak_gib(), 2),
            }
        )
        self.wall, self.cpu = time.perf_counter(), time.process_time()


def drawn(owners: Owners, features: int, seed: int):
    """Embeddings of a batch of images: the patient's own place, and noise."""

    def embed(rows: np.ndarray) -> np.ndarray:
        found = np.empty((len(rows), features), np.float32)
        for i, row in enumerate(rows):
            patient = np.random.default_rng(owners.patient[row]).standard_normal(features)
            found[i] = patient + np.random.default_rng((seed, row)).standard_normal(features) * 2
        return found

    return embed


def main(images: int, probes: int, features: int, out: Path | None) -> None:
    rng, clock = np.random.default_rng(0), Clock()
    patient = rng.integers(0, images // IMAGES_A_PATIENT, images)
    gallery = Owners(np.arange(images), patient, np.ones(images, bool))
    asked = gallery[np.sort(rng.permutation(images)[:probes])]
    with tempfile.TemporaryDirectory() as folder:
        sets = [
            stored_embeddings(
                Path(folder, f"{name}.npy"),
                drawn(owners, features, seed),
                shape=(len(owners), features),
                made_from=name,
            )
            for seed, (name, owners) in enumerate({"probes": asked, "gallery": gallery}.items())
        ]
        clock(f"{len(asked)} + {images} embeddings written")
        found = measure_vectors(*comparable(*sets, "cosine"), asked, gallery)
        clock(f"{len(asked)} × {images} pairs measured")
    values = {name: round(measured.value, 6) for name, measured in found.items()}
    print(*(f"{name} {value:.6f}" for name, value in values.items()), sep="\n")
    if out is not None:
        command = (
            f"python tests/benchmarks/bench_retrieval.py --images {images} --probes {probes} "
            f"--features {features}"
        )
        result = {
            "command": command,
            "cores": os.cpu_count(),
            "measured": clock.rows,
            "figures": values,
        }
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--probes", type=int)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    main(chosen.images, chosen.probes or chosen.images, chosen.features, chosen.out)
