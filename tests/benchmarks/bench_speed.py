"""How fast the parts are: python tests/benchmarks/bench_speed.py WHAT [IMAGES [SIZE [WORKERS]]]

WHAT: cache (images in and out of it, pairs of 100,000), figures (with their intervals), methods
(those without weights), networks (training those of `quick`), phantom (drawing).
"""

import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image

import anonymize
from anonymize.configuration import load_options
from anonymize.data.cache import prepare
from anonymize.data.pairs import balanced
from anonymize.data.phantom import cohort, draw
from anonymize.data.sources.registry import read
from anonymize.networks.build import build_classifier, build_generator, build_verifier
from anonymize.options import DataOptions
from anonymize.statistics import measure_classification
from attacks.measuring.metrics import Owners, count_matrix
from attacks.measuring.retrieval import retrieve
from attacks.measuring.statistics import measure_identification

SPECS = ("identity", "dp-pix:b=8,seed=0", "dp-pix:b=1,seed=0", "gaussian-blur:sigma=1/96")
SPECS += ("gaussian-blur:sigma=4/96", "down-sampling:factor=8", "random-warp:seed=0")
DRAWN = {64: 120, 128: 100, 256: 80, 512: 30, 1024: 10}  # phantoms by size


def timed(what: str, work, images: int = 0):
    """What ``work`` gives; says its seconds, or images a second."""
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    print(f"{what:<40} " + (f"{images / seconds:10.4g} images/s" if images else f"{seconds:.2f} s"))
    return result


def best(what: str, work, images: int, seconds: float = 1.0) -> None:
    """Images a second of the fastest call within some seconds, after one that warms up."""
    work()
    fastest, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        work()
        fastest = max(fastest, images / (time.perf_counter() - start))
    print(f"{what:<40} {fastest:10.4g} images/s on {torch.get_num_threads()} threads")


def cache(images: int = 1000, size: int = 256, workers: int = 2) -> None:
    """Smooth random PNGs of 512 × 512, two a patient; then as many patients as ChestX-ray14 has."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "set")
        root.mkdir()
        for i in range(images):
            coarse = Image.fromarray(rng.integers(0, 256, (16, 16), np.uint8))
            coarse.resize((512, 512), Image.Resampling.BICUBIC).save(root / f"{i}.png")
        rows = [{"path": f"{i}.png", "patient_id": i // 2} for i in range(images)]
        pd.DataFrame(rows).to_csv(root / "list.csv", index=False)
        table = timed("the table", lambda: read(DataOptions(source="folder", root=root)))
        options = DataOptions(size=size, cache=Path(name), workers=workers)
        kept = timed("into the cache", lambda: prepare(table, options)[1], images)
        timed("into it again", lambda: prepare(table, options))
        order = rng.permutation(images)
        timed("out of its file", lambda: replace(kept, limit=0).batch(order), images)
        kept.batch(order[:1])
        timed("out of memory", lambda: kept.batch(order), images)
        count = 100_000
        visits = np.minimum(rng.geometric(0.27, count), 180)
        frame = table.frame.iloc[np.zeros(count, int)].assign(
            image_id=[str(i) for i in range(count)],
            patient_id=np.repeat(np.arange(count), visits)[:count].astype(str),
        )
        large = table.with_frame(frame)
        timed("pairs of 100,000", lambda: balanced(large, large.part("all"), seed=0))


def figures(images: int = 2000) -> None:
    rng, labels = np.random.default_rng(0), [str(i) for i in range(14)]
    patient = rng.integers(0, max(2, images * 3 // 10), images)
    own = Owners(np.arange(images), patient, np.ones(images, bool))
    scores = rng.standard_normal((images, images), dtype=np.float32)
    targets = (rng.random((images, len(labels))) < 0.1).astype(np.float32)
    said = scores[:, : len(labels)]
    timed(f"pair AUC, {images} × {images}", lambda: count_matrix(scores, own, own))
    timed("retrieval", lambda: retrieve(scores, own, own))
    timed("all with 1,000 draws", lambda: measure_identification(scores, own, own))
    timed("14 labels, too", lambda: measure_classification(said, targets, patient, labels))


def methods() -> None:
    """A release asks for one large image at a time, an evaluation for many small ones."""
    for spec in SPECS:
        model = anonymize.load(spec)
        for size in (256, 1024):
            batch = torch.rand(max(1, 2048 // size), 1, size, size)
            best(f"{spec}, {size} px", lambda m=model, b=batch: m(b), len(batch))


def networks() -> None:
    options = load_options("quick")
    made = {
        "generator": build_generator(options.generator),
        "classifier": build_classifier(options.classifier, 14),
        "verifier's backbone": build_verifier(options.verifier).model,
    }
    for name, network in made.items():
        for size in (64, 128):
            batch = torch.rand(64, 1, size, size)
            best(f"{name}, {size} px", lambda n=network, b=batch: n(b).sum().backward(), 64, 4)


def _drawn(row: tuple[str, int, int]) -> None:
    patient_id, follow_up, size = row
    draw(seed=0, patient_id=patient_id, follow_up=follow_up, size=size)


def phantom() -> None:
    """By one process, and in its processor time, which holds on a busy machine; by a pool."""
    processes = os.cpu_count() or 1
    for size, count in DRAWN.items():
        table = cohort(patients=max(count * processes // 4, 1), images=count * processes, seed=0)
        pairs = zip(table["patient_id"], table["follow_up"], strict=True)
        rows = [(patient, int(visit), size) for patient, visit in pairs]
        _drawn(rows[0])
        busy = time.process_time()
        timed(f"{size} px, one process", lambda r=rows[:count]: [*map(_drawn, r)], count)
        print(f"{'':<40} {count / (time.process_time() - busy):10.4g} of its processor time")
        with ProcessPoolExecutor(processes) as pool:
            list(pool.map(_drawn, rows[: 4 * processes]))
            work = lambda p=pool, r=rows: list(p.map(_drawn, r, chunksize=8))  # noqa: E731
            timed(f"{size} px, {processes} processes", work, len(rows))


if __name__ == "__main__":
    known = {f.__name__: f for f in (cache, figures, methods, networks, phantom)}
    known[sys.argv[1]](*map(int, sys.argv[2:]))
