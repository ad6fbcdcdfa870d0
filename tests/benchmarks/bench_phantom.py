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


def one_process(size: int, count: int) -> tuple[float, float]:
    """Images a second of one process, and images a second of its processor time.

    The second figure holds on a machine that is busy with something else.
    """
    rows = _rows(size, count)
    _draw_row(rows[0])
    start, busy = time.perf_counter(), time.process_time()
    for row in rows:
        _draw_row(row)
    busy, passed = time.process_time() - busy, time.perf_counter() - start
    return len(rows) / passed, len(rows) / busy


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
    pool = f"{processes} processes"
    print(f"{'images/s':>8}  {'1 process':>12}  {'1 busy core':>12}  {pool:>12}")
    for size, count in SIZES.items():
        passed, busy = one_process(size, count)
        pooled = many_processes(size, count, processes)
        print(f"{size:>5} px  {passed:>12.1f}  {busy:>12.1f}  {pooled:>12.1f}")


if __name__ == "__main__":
    main()
