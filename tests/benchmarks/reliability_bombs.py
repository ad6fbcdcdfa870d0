"""Small files that ask for much: python tests/benchmarks/reliability_bombs.py [OUT.json]

40 bombs (pixels, inflated bytes, depth, lengths, very many parts), each released alone, with the
limits that a user has without asking for others.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

from reliability import MeasuredPool, finish, timed

# isort: split

from bombs import BOMBS
from release_specimens import Wave, fill, quarantine

from anonymize.release import pipeline
from anonymize.release.workers import worker_pool

LIMIT = 5.0


def main(out: str | None = None) -> None:
    rows, reasons, released, clock = [], Counter(), 0, 0.0
    worker_pool.WorkerPool = MeasuredPool
    for name, make in BOMBS.items():
        with tempfile.TemporaryDirectory() as folder, timed() as watch:
            data = make()
            fill(folder, {f"in/{name}": data})
            summary = pipeline.apply(Path(folder, "in"), Path(folder, "out"), Wave())
            refused = quarantine(Path(folder, "out-private"))
        watch.forget("peak")
        seconds = sum(watch.longest.values())
        clock = max(clock, *(max(found) for found in watch.lasting.values()))
        rows.append((name, len(data), ", ".join(sorted(set(refused.values()))), seconds))
        reasons.update(set(refused.values()))
        released += summary.anonymized
        print(f"{name:>22} {len(data):>10} bytes  {rows[-1][2]:<22} {seconds:.2f} s", flush=True)
    result = {
        "bombs": len(rows),
        "released": released,
        f"over {LIMIT:g} s": [name for name, *_, seconds in rows if seconds > LIMIT],
        "longest (s of computing)": round(max(seconds for *_, seconds in rows), 2),
        "longest call (s by the clock)": round(clock, 2),
        "most memory of a worker (MiB)": MeasuredPool.peak >> 20,
        "reasons": dict(reasons.most_common()),
    }
    finish(result, out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
