"""What a release costs by its number of files: bench_scale.py FILES MADE_UP OUT

Releases FILES tiny radiographs (32 px, one worker) whole, and lets MADE_UP entries of a journal
stand for a release that was made: the listing, the journal's reading and the tables are those of a
release, each in a process of its own. OUT gets the figures (scale.json) and two tables: what was
measured, and 10 million images by it, with the computing of an image of 1024 px of bench_apply.py
and the memory of the million of bench_shards.py.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
SPEED = sorted((ROOT / "docs" / "results" / "reliability").glob("speed*.json"))
MILLION = ROOT / "docs" / "results" / "scale" / "shards.json"  # of bench_shards.py
MANY = 10_000_000
DOLLARS = 0.05  # an hour of a core at a large provider, about; multiply by your own
BYTES = 1 << 20  # of an image of 1024 px, about: 8 bits, PNG
LISTS = ("out-private/journal.jsonl", "out/manifest.csv")
METHOD = "random-warp:mu=0.02,size=32"

STAGE = """
import json, sys, time
from pathlib import Path
from anonymize.release import verify
from anonymize.release.workers import worker_pool
from anonymize.release.archives import Found
from anonymize.release.records.facts import Facts
from anonymize.release.records.journal import Journal
from anonymize.release.labels.collect import Labels
from anonymize.release.records.listed import Listed
from anonymize.release.method import Method
from anonymize.release.places import Places
from anonymize.release.records.tables import Tables
from tests.benchmarks.memory import peak

folder, number, stage = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
places = Places(folder / "in", None, folder / "out", folder / "out-private")
began, before = time.process_time(), peak()
def listing():
    return Listed(Found(f"{i // 1000}/{i:07d}.png") for i in range(number))
def journal():
    return Journal(places, json.loads((places.private / "journal.jsonl").open().readline()))
def looked():
    worker_pool.WorkerPool.call = lambda self, *asked: None
    assert verify.verify(folder / "finished").sound
def written():
    found, told = journal(), Method("wave", "", 0.05, False, {})
    made = Tables.of(found, listing(), Labels(), told)
    Facts(made, "", signed=False).publish(found, None)
stages = {"listing": lambda: listing().by(lambda path: path[::-1]), "journal": journal,
          "tables": written, "verify": looked}
stages[stage]()
used = time.process_time() - began
print(json.dumps([used, peak() - before]))
"""
STAGES = {
    "listing": "the listing, in the order of the outputs' names",
    "journal": "reading the journal",
    "tables": "listing, journal, and writing manifest, map and quarantine list",
    "verify": "`verify`, without looking into the pictures",
}


def main(files: str, made: str, out: str) -> None:
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        whole = [released(Path(scratch, f"{n}"), n) for n in (int(files) // 10, int(files))]
        staged = [of_journal(Path(scratch, f"j{n}"), n) for n in (int(made) // 10, int(made))]
    command = f"python tests/benchmarks/bench_scale.py {files} {made} {out}"
    found = {"command": command, "whole": whole, "made_up": staged}
    (folder / "scale.json").write_text(json.dumps(found, indent=1) + "\n")
    (folder / "measured.md").write_text(measured(found))
    (folder / "ten_million.md").write_text(ten_million(found))


def drawn(folder: Path, number: int) -> None:
    """So many tiny radiographs, a thousand a folder."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:32, :32] / 32
    for i in range(number):
        place = folder / "in" / f"{i // 1000}" / f"{i:07d}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        picture = 0.5 + 0.3 * np.sin((5 + i % 7) * x + (9 + i % 11) * y * y + i)
        picture = picture + 0.03 * rng.normal(size=x.shape)
        Image.fromarray(np.uint8(255 * picture.clip(0, 1))).save(place, compress_level=1)


def released(folder: Path, number: int) -> dict:
    """One real release of tiny files."""
    drawn(folder, number)
    command = [sys.executable, "-m", "anonymize", "apply", "in", "out", "--model", METHOD]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    said = subprocess.run(
        [*command, "--text", "keep", "--workers", "1", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert json.loads(said.stdout)["anonymized"] == number
    return {
        "files": number,
        "seconds": round(seconds, 1),
        "computing": round(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, 1),
        "memory_mib": after.ru_maxrss >> 10,  # this process, with which it begins, is small
        **_sizes(folder),
    }


def of_journal(folder: Path, number: int) -> dict:
    """What is done once for a release, over a journal of so many files."""
    from test_flat_memory import finished, made_up

    made_up(folder, number)
    finished(folder / "finished", number)
    figures: dict = {"files": number}
    for stage in STAGES:
        command = [sys.executable, "-c", STAGE, str(folder), str(number), stage]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        seconds, kib = json.loads(done.stdout)
        figures[stage] = {"computing": round(seconds, 2), "memory_mib": kib >> 10}
    return figures | _sizes(folder)


def _sizes(folder: Path) -> dict[str, int]:
    return {Path(name).name: (folder / name).stat().st_size for name in LISTS}


def measured(found: dict) -> str:
    few, many = found["whole"]
    lines = ["| what | files | computing (s) | memory (MiB) |", "| --- | --- | --- | --- |"]
    for one in (few, many):
        row = (f"{one['files']:,}", one["computing"], one["memory_mib"])
        lines.append(f"| `apply`, files of 32 px, one worker | {' | '.join(map(str, row))} |")
    for stage, words in STAGES.items():
        for one in found["made_up"]:
            row = (f"{one['files']:,}", one[stage]["computing"], f"+{one[stage]['memory_mib']}")
            lines.append(f"| {words} | {' | '.join(map(str, row))} |")
    return "\n".join(lines) + "\n"


def ten_million(found: dict) -> str:
    """By the slope between the smaller and the larger release, not by its quotient."""
    few, many = found["made_up"]
    of_tiny = _slope(*found["whole"])
    # Of real radiographs and phantoms with text, those that take longest.
    sets = [one for path in SPEED for one in json.loads(path.read_text())["sets"].values()]
    of_image = max(one["now"]["1"]["user CPU"] for one in sets)
    once = (many["tables"]["computing"] - few["tables"]["computing"]) / (
        many["files"] - few["files"]
    )
    million = json.loads(MILLION.read_text(encoding="utf-8"))
    lists = [Path(name).name for name in LISTS]
    sizes = {name: max(_slope(*found[k], name) for k in ("whole", "made_up")) for name in lists}
    # Made-up entries hold less than some and more than others, and hashed names are long.
    sizes = {name: max(sizes[name], million[name] / million["files"]) for name in lists}
    hours = MANY * of_image / 3600
    rows = [
        ("computing, images of 1024 px with text removed", f"{hours:,.0f} core hours"),
        ("on 16 cores", f"{hours / 16 / 24:,.0f} days"),
        ("on 100 machines of 16 cores", f"{hours / 1600:,.1f} hours"),
        (f"at {DOLLARS} $ a core hour", f"{hours * DOLLARS:,.0f} $"),
        ("of that what does not depend on the pixels", f"{MANY * of_tiny / 3600:,.0f} core hours"),
        ("1 million of 32 px, from listing to manifest", f"{1e6 * of_tiny / 3600:,.1f} core hours"),
        ("listing, journal and tables, at the end", f"{MANY * once / 3600:,.1f} hours"),
        ("journal", f"{MANY * sizes['journal.jsonl'] / 1e9:,.1f} GB"),
        ("manifest", f"{MANY * sizes['manifest.csv'] / 1e9:,.1f} GB"),
        ("images in and out, of 1 MiB each", f"{2 * MANY * BYTES / 1e12:,.0f} TB"),
        _memory(million),
    ]
    lines = ["| 10 million images | by what was measured |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {what} | {much} |" for what, much in rows)]) + "\n"


def _memory(shards: dict) -> tuple[str, str]:
    """What was measured of fewer files, since it hardly grows with them."""
    steps = {
        "`apply` of a shard": max(one["memory_mib"] for one in shards["shards"]),
        "`merge`": shards["merge"]["memory_mib"],
        "`verify`": shards["verify"]["memory_mib"],
    }
    what = f"memory of {', '.join(steps)}, as measured with {shards['files']:,} files"
    return what, f"{' / '.join(f'{mib:,}' for mib in steps.values())} MiB"


def _slope(few: dict, many: dict, what: str = "computing") -> float:
    return (many[what] - few[what]) / (many["files"] - few["files"])


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests" / "release"))
    main(*sys.argv[1:])
