"""How fast images come into the cache and out of it.

Run with ``python tests/benchmarks/bench_cache.py [--images N] [--size PIXELS] [--workers N]``.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from anonymize.data.cache import prepare
from anonymize.data.pairs import balanced
from anonymize.data.sources.registry import read
from anonymize.data.table import Table
from anonymize.options import DataOptions


def make_folder(root: Path, images: int) -> None:
    """Smooth random PNGs of 512 × 512, two a patient."""
    rng = np.random.default_rng(0)
    for i in range(images):
        coarse = Image.fromarray(rng.integers(0, 256, (16, 16), np.uint8))
        coarse.resize((512, 512), Image.Resampling.BICUBIC).save(root / f"{i}.png")
    rows = [{"path": f"{i}.png", "patient_id": i // 2} for i in range(images)]
    pd.DataFrame(rows).to_csv(root / "list.csv", index=False)


def timed(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def measure(folder: Path, images: int, size: int, workers: int) -> dict[str, float]:
    """Images a second in each direction; seconds of pairing 100,000 images."""
    root = folder / "set"
    root.mkdir()
    make_folder(root, images)
    table, reading = timed(lambda: read(DataOptions(source="folder", root=root)))

    def cached():
        return prepare(table, DataOptions(size=size, cache=folder, workers=workers))[1]

    cache, first = timed(cached)
    _, again = timed(cached)
    rows = np.random.default_rng(1).permutation(images)
    _, from_file = timed(lambda: replace(cache, limit=0).batch(rows))
    cache.batch(rows[:1])
    _, from_memory = timed(lambda: cache.batch(rows))
    large = many_rows(table, 100_000)
    pairs, pairing = timed(lambda: balanced(large, large.part("all"), seed=0))
    return {
        "read_table_seconds": reading,
        "prepare_images_per_second": images / first,
        "prepare_again_seconds": again,
        "batch_from_file_images_per_second": images / from_file,
        "batch_from_memory_images_per_second": images / from_memory,
        "pairs": len(pairs),
        "pairs_seconds": pairing,
    }


def many_rows(table: Table, count: int) -> Table:
    """The table's first row over and over, with as many patients as ChestX-ray14 has."""
    visits = np.minimum(np.random.default_rng(2).geometric(0.27, count), 180)
    frame = table.frame.iloc[np.zeros(count, int)].assign(
        image_id=[str(i) for i in range(count)],
        patient_id=np.repeat(np.arange(count), visits)[:count].astype(str),
    )
    return table.with_frame(frame)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = measure(Path(name), given.images, given.size, given.workers)
    print(json.dumps({key: round(value, 3) for key, value in found.items()}, indent=2))
