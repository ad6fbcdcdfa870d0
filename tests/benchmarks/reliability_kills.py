"""Releases that are killed: python tests/benchmarks/reliability_kills.py [KILLS] [FILES] [OUT.json]

FILES (by default 500) radiographs of every format, a few of them broken, are released once without
a disturbance; then with 1, 2 and 8 workers and from a shuffled list; then by releases that are
killed with SIGKILL at each named point, and at KILLS (by default 200) random moments, and called
again until they are done; workers are processes in a tenth of these, and else threads, which begin
at once. After every kill each file that has a name must be whole and journalled; at the end each
tree must be the undisturbed one, byte by byte, and every input accounted for once.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reliability import finish

# isort: split

import dicom_specimens as dicom
import killing
from release_specimens import Wave, fill, pillow, png, scene, tiff, tree

from anonymize.release import pipeline
from anonymize.release.options import ReleaseOptions

WORKERS = (1, 2, 8)
PROCESSES = 0.1  # of the random kills
BROKEN = 25  # one in so many is none of the radiographs


def radiographs(count: int) -> dict[str, bytes]:
    """``count`` small files in folders, no two alike."""
    files = {}
    for i in range(count):
        size = (40 + i % 37, 52 + i // 37)
        form = ("png", "jpg", "tif", "dcm", "png16")[i % 5]
        if i % BROKEN == BROKEN - 1:
            content = b"\x89PNG\r\n\x1a\n" + i.to_bytes(2, "big")
        elif form == "png":
            content = png(scene(size=size), 8, 0)
        elif form == "jpg":
            content = pillow(scene(size=size), "JPEG", quality=90)
        elif form == "tif":
            content = tiff(scene(size=size))
        elif form == "dcm":
            made = dicom.with_pixels(dicom.dx(), dicom.picture(size=size), bits=12)
            made.SOPInstanceUID = f"{dicom.UIDS['instance']}.{i}"
            content = dicom.file(made)
        else:
            content = png(scene(65535, size=size, dtype="uint16"), 16, 0)
        files[f"{i % 7}/{i}.{form[:3]}"] = content
    return files


def program(job: dict) -> list[str]:
    """What :mod:`killing` says; it is a process of its own, which may fork."""
    command = [sys.executable, killing.__file__, json.dumps(job, default=str)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    return done.stdout.splitlines()


def identical(folder: Path, names: list[str], whole: dict, key: Path) -> dict[str, bool]:
    """Whether other numbers of workers and another order give the same bytes."""
    shuffled = random.Random(0).sample(names, len(names))
    ways = {f"{n} workers": {"workers": n} for n in WORKERS}
    ways["shuffled list"] = {"workers": 2, "listed": shuffled}
    found = {}
    for number, (name, options) in enumerate(ways.items()):
        out = folder / f"way{number}"
        pipeline.apply(folder / "in", out, Wave(), ReleaseOptions(key_file=key, **options))
        found[name] = tree(out) == whole
    return found


def main(kills: int = 200, count: int = 500, out: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, base, key = folder / "in", folder / "killed", folder / "key"
        files = radiographs(count)
        fill(source, files)
        base.mkdir()
        key.write_bytes(dicom.SECRET)
        begun = time.monotonic()
        summary = pipeline.apply(
            source, folder / "whole", Wave(), ReleaseOptions(workers=2, key_file=key)
        )
        seconds = time.monotonic() - begun
        whole = tree(folder / "whole")
        ways = identical(folder, [*files], whole, key)
        job = {"source": source, "base": base, "options": {"workers": 2}, "key": key}
        points = program({**job, "points": [*killing.POINTS]})
        for point in points:
            killing.check_begun(base / point, whole)
            pipeline.apply(source, base / point, Wave(), ReleaseOptions(workers=2, key_file=key))
            killing.check_done(base / point, whole)
        job["whole"] = folder / "whole"
        found = []
        for name, share, part in (("processes", PROCESSES, 0.3), ("threads", 1 - PROCESSES, 0.1)):
            moments = {"random": round(share * kills), "longest": max(1.0, part * seconds)}
            own = {"base": base / name, "in_process": name == "threads"}
            own["base"].mkdir()
            found.append(json.loads(program({**job, **moments, **own})[-1]))
    figures = {key: sum((f[key] for f in found[1:]), found[0][key]) for key in found[0]}
    result = {
        "files": summary.inputs,
        "released": summary.anonymized,
        "quarantined": summary.quarantined,
        "same bytes": ways,
        "named points": len(points),
        "random kills": figures["kills"],
        "of them with worker processes": found[0]["kills"],
        "releases that were killed": figures["releases"],
        "released when killed (quartiles)": statistics.quantiles(figures["released"], n=4),
        "partial, lost or doubled": figures["wrong"],
        "trees that differ": figures["differ"] + sum(not same for same in ways.values()),
        "seconds": round(time.monotonic() - begun),
    }
    finish(result, out)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:4])
