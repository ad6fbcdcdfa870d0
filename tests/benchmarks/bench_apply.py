"""Images a second of a release: bench_apply.py [IMAGES] [SIDE] [text [OUT]].

A smooth fixed displacement stands in for the network, so that what is measured is reading, the
warp, writing, verifying and the journal. With "text", burned-in text is looked for and removed, in
phantoms of which each has some, and the figures go to OUT (JSON): bench_apply.py 200 1024 text.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "release"))
from release_specimens import Wave
from text_specimens import specimens

from anonymize.release import pipeline
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.options import ReleaseOptions


def main(images: int = 24, side: int = 1024) -> None:
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:side, 0:side] / side
    with tempfile.TemporaryDirectory() as folder:
        for format, depth in (("png", 8), ("png", 16), ("jpg", 8), ("tif", 16)):
            source = Path(folder, f"{format}{depth}")
            source.mkdir()
            for i in range(images):
                picture = (
                    0.5 + 0.4 * np.sin(7 * x + i + 5 * y * y) + 0.02 * rng.random((side, side))
                )
                pixels = (picture * (2**depth - 1)).clip(0, 2**depth - 1)
                kind = np.uint8 if depth == 8 else np.uint16
                Image.fromarray(pixels.astype(kind)).save(source / f"{i}.{format}")
            for workers in (1, 2, 4):
                start = time.perf_counter()
                out = Path(folder, f"{source.name}-{workers}")
                pipeline.apply(source, out, Wave(0.01), ReleaseOptions(workers=workers))
                rate = images / (time.perf_counter() - start)
                print(f"{side}² {depth}-bit {format}, {workers} workers: {rate:.1f} images/s")


def with_text(images: int = 200, side: int = 1024, out: str = "") -> None:
    """What one worker and two compute for an image, and the parent, and how long it lasts."""
    command = f"python tests/benchmarks/bench_apply.py {images} {side} text"
    results = {"command": command, "images": images, "side": side, "workers": {}}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in")
        source.mkdir()
        for i, specimen in enumerate(specimens(images, size=side)):
            Image.fromarray(specimen.picture).save(source / f"{i}.png")
        for workers in (1, 2):
            options = ReleaseOptions(workers=workers, text=TextOptions("remove"))
            start, before = time.perf_counter(), _computed()
            done = pipeline.apply(source, Path(folder, str(workers)), Wave(0.01), options)
            seconds = time.perf_counter() - start
            own, theirs = (b - a for a, b in zip(before, _computed(), strict=True))
            results["workers"][workers] = {
                "images a second": round(images / seconds, 3),
                "s of computing an image, parent": round(own / images, 3),
                "s of computing an image, workers": round(theirs / images, 3),
                "cleaned": done.cleaned,
                "quarantined": done.quarantined,
            }
            print(workers, json.dumps(results["workers"][workers]), flush=True)
    if out:
        Path(out).write_text(json.dumps(results, indent=1) + "\n")


def _computed() -> tuple[float, float]:
    """Seconds of computing by this process, and by its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return tuple(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:3] if argument.isdigit()]
    rest = sys.argv[len(numbers) + 1 :]
    if rest[:1] == ["text"]:
        with_text(*numbers, *([200, 1024][len(numbers) :] + rest[1:2]))
    else:
        main(*numbers)
