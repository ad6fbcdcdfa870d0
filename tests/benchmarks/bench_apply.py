"""What a further file of a release costs where text is looked for and removed, beside an earlier
checkout: bench_apply.py text [CLONE [IMAGES [OUT [SET]]]]; SET is a word of the sets' names.

By the clock, two workers stand beside two programs of one worker at once: what this machine can do.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "release"))
from text_specimens import specimens  # noqa: E402

from anonymize.commands.interrupts import heard  # noqa: E402

ROOT = HERE.parents[1]
SHARED = ROOT.parent / "shared" / "data"
SIDE, FEW = 1024, 2  # pixels; files of a short run


def with_text(clone: str = "", images: int = 200, out: str = "", only: str = "") -> None:
    """What a further file costs here and in ``clone``, an earlier checkout: each run beside the
    other, a short and a long one, whose difference is reading, OCR, warp and writing alone."""
    trees = {"now": ROOT} | ({"before": Path(clone).resolve()} if clone else {})
    command = f"python tests/benchmarks/bench_apply.py text CLONE {images} OUT {only}".strip()
    results: dict = {"command": command, "side": SIDE}
    results |= {name: _commit(tree) for name, tree in trees.items()} | {"sets": {}}
    print(
        f"{'a further file':<34}{'workers':>8}{'user CPU, s':>13}{'wall, s':>9}{'quarantined':>13}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, pictures in _sets(images):
            if only not in name:
                continue
            short, long = (Path(folder, f"{name} {part}") for part in ("few", "all"))
            for i, picture in enumerate(pictures):
                for source in (short, long)[i >= FEW :]:
                    source.mkdir(exist_ok=True)
                    Image.fromarray(picture).save(source / f"{i}.png")
            found = results["sets"][name] = {"files": len(list(long.iterdir()))}
            for workers in (1, 2):
                for when, tree in trees.items():
                    few, many = (_released(tree, source, workers) for source in (short, long))
                    more = found["files"] - FEW
                    cost = [round((b - a) / more, 3) for a, b in zip(few, many, strict=True)][:2]
                    one = {"user CPU": cost[0], "wall": cost[1], "quarantined": many[2]}
                    found.setdefault(when, {})[str(workers)] = one
                    row = f"{name + ', ' + when:<34}{workers:>8}{cost[0]:>13}"
                    print(f"{row}{cost[1]:>9}{many[2]:>13}", flush=True)
            few, many = (_at_once(trees["now"], source) for source in (short, long))
            found["two programs"] = round((many - few) / 2 / (found["files"] - FEW), 3)
            print(f"{name + ', two programs':<55}{found['two programs']:>9}", flush=True)
    if out:
        Path(out).write_text(json.dumps(results, indent=1) + "\n")


def _sets(images: int) -> Iterator[tuple[str, Iterable[np.ndarray]]]:
    """Phantoms with text, and real radiographs where they are, squeezed to ``SIDE``."""
    yield "phantoms with text", (one.picture for one in specimens(images, size=SIDE))
    for name, folder in (("covid19", "covid19/images"), ("originals", "originals")):
        truth = json.loads((HERE.parent / "release/burned_in_truth.json").read_text())[name]
        files = [SHARED / folder / file for file in truth][:images]
        if files[0].is_file():
            shown = (ImageOps.exif_transpose(Image.open(file)).convert("L") for file in files)
            yield name, (np.asarray(one.resize((SIDE, SIDE))) for one in shown)


def _released(tree: Path, source: Path, workers: int) -> tuple[float, float, int]:
    """Seconds of computing by a release and its workers, by the clock; files quarantined."""
    with tempfile.TemporaryDirectory() as folder:
        out, started = Path(folder, "out"), time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [sys.executable, "-P", "-m", "anonymize", "apply", str(source), str(out)]
        command += ["--model", "random-warp:mu=0.01", "--workers", str(workers)]
        done = subprocess.run(
            [*command, "--text", "remove"],
            env={**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            cwd=folder,
        )
        if done.returncode not in (0, 3):
            raise SystemExit(done.stderr.decode())
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        left = len(list(source.iterdir())) - len(list(out.glob("*.png")))
        return used, time.perf_counter() - started, left


def _at_once(tree: Path, source: Path) -> float:
    """Seconds by the clock of two releases at once, a worker each."""
    started = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: _released(tree, source, 1), range(2)))
    return time.perf_counter() - started


def _commit(tree: Path) -> str:
    asked = ["git", "-C", str(tree), "log", "-1", "--format=%cs %h"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    if sys.argv[1:2] != ["text"]:
        sys.exit(__doc__)
    with heard():  # real pictures go with their folders, whoever ends it
        with_text(*(int(a) if a.isdigit() else a for a in sys.argv[2:]))
