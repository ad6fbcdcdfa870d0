"""How many phantom radiographs a second one core and all cores draw.

Run: python tests/benchmarks/bench_phantom.py
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor

from anonymize.data.phantom import cohort, draw

SIZES = {64: 120, 128: 100, 256: 80, 512: 30, 1024: 10}


def _draw_row(row: tuple[str, int, int]) -> None:
    patient_id, follow_up, size = row
    draw(seed=0, patient_id=patient_id, follow_up=follow_up, size=size)


def _rows(size: int, count: int) -> list[tuple[str, int, int]]:
    table = cohort(patients=max(count // 4, 1), images=count, seed=0)
    pairs = zip(table["patient_id"], table["follow_up"], strict=True)
    return [(patient, int(visit), size) for patient, visit in pairs]


def one_process(size: int, count: int) -> float:
    """Images a second of one process."""
    rows = _rows(size, count)
    _draw_row(rows[0])
    start = time.perf_counter()
    for row in rows:
        _draw_row(row)
    return len(rows) / (time.perf_counter() - start)


def many_processes(size: int, count: int, processes: int) -> float:
    """Images a second of a pool, started beforehand."""
    with ProcessPoolExecutor(processes) as pool:
        list(pool.map(_draw_row, _rows(size, 4 * processes)))
        rows = _rows(size, count * processes)
        start = time.perf_counter()
        list(pool.map(_draw_row, rows, chunksize=8))
        return len(rows) / (time.perf_counter() - start)


def main() -> None:
    processes = os.cpu_count() or 1
    print(f"{'size, px':>8}  {'images/s, 1 process':>20}  {f'images/s, {processes} processes':>22}")
    for size, count in SIZES.items():
        single, pooled = one_process(size, count), many_processes(size, count, processes)
        print(f"{size:>8}  {single:>20.1f}  {pooled:>22.1f}")


if __name__ == "__main__":
    main()
