"""Whole commands of an earlier version beside today's: bench_before.py PYTHON OUT [ROUNDS] [ONLY]

PYTHON is one in whose environment a checkout of the earlier version is installed (pip install -e).
Each side is a process of its own, both in turn, with the same words; what today's does besides
(searches, checks, tables) is in its time. OUT gets before.json and before.md; what it holds already
stays. ONLY: commands whose names hold it.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READ = ("PNG", "random warp", "2")  # where burned-in text is looked for, too
MODELS = {"random warp": "random-warp:mu=0.02,size=256", "dp-pix": "dp-pix:b=8,epsilon=0.1"}
ATTACKS = ["--attackers", "verification,histogram-metric,training-free", "--repeats", "2"]
ATTACKS += ["--method", MODELS["dp-pix"], "--method", "gaussian-blur:sigma=0.02"]
# Of classifiers five are trained today, where there was one.
SMALL = ["--set", "data.images=1000", "--set", "data.patients=300", "--set"]
SMALL += ["evaluation.utility=false", "--set", "verifier.epochs=3"]
# What the README compares methods with; no network is trained.
WITHOUT = ["--attackers", "training-free,histogram-metric", "--set", "evaluation.utility=false"]
WITHOUT += ["--method", MODELS["dp-pix"], "--method", "random-warp:mu=0.01"]


def main(earlier: str, out: str, rounds: str = "3", only: str = "") -> None:
    sides = {"before": earlier, "now": sys.executable}
    place = _said([earlier, "-c", "import anonymize; print(anonymize.__path__[0])"])
    day = _said(["git", "-C", place, "log", "-1", "--format=%cs"])
    path = Path(out, "before.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(path.read_text())["commands"] if path.is_file() else []
    rows = {row["name"]: row for row in known}
    with tempfile.TemporaryDirectory() as scratch:
        for name, words in commands(Path(scratch)).items():
            if only not in name:
                continue
            taken: dict[str, list[float]] = {side: [] for side in sides}
            for _ in range(int(rounds)):
                for side, python in sides.items():
                    taken[side].append(seconds(words, python, Path(scratch)))
            ratios = [b / n for b, n in zip(*taken.values(), strict=True)]
            median = {side: round(statistics.median(times), 2) for side, times in taken.items()}
            row = {"name": name, "rounds": int(rounds), **median}
            rows[name] = {**row, "ratio": round(statistics.median(ratios), 2)}
            print(rows[name], flush=True)
            found = {"before": day, "cores": os.cpu_count(), "commands": list(rows.values())}
            path.write_text(json.dumps(found, indent=1) + "\n")
            Path(out, "before.md").write_text(table(found))


def commands(scratch: Path) -> dict[str, list[str]]:
    """What is run, by what it is called; each reads from a folder of 24 files, or a phantom."""
    from tests.benchmarks.speed import releases

    found = {}
    for kind, (height, width) in releases.KINDS.items():
        kept, source = releases.folder(kind, releases.FILES)
        shutil.copytree(source, scratch / kind)
        kept.cleanup()
        for called, model in MODELS.items():
            for workers in ("1", "2"):
                words = ["anonymize", "apply", str(scratch / kind), "OUT", "--model", model]
                of = f"{kind} of {height} × {width}, {called}"
                words += ["--workers", workers, "--text"]
                found[f"apply, 24 {of}, workers {workers}"] = [*words, "keep"]
                if (kind, called, workers) == READ:
                    found[f"apply, 24 {of} with OCR, workers {workers}"] = [*words, "remove"]
    words = ["attacks", "evaluate", "--source", "phantom", "--out", "OUT"]
    return found | {
        "evaluate, three attackers, two methods, 1,000 phantoms": words + ATTACKS + SMALL,
        "evaluate, two attackers, two methods, 2,000 phantoms": words + WITHOUT,
    }


def seconds(words: list[str], python: str, scratch: Path) -> float:
    """By the clock, of a process of its own."""
    with tempfile.TemporaryDirectory(dir=scratch) as own:
        program, *rest = [str(Path(own, "out")) if word == "OUT" else word for word in words]
        start = f"from {program}.cli import main; main()"
        command = [python, "-c", start, *rest, "--device", "cpu"]
        began = time.monotonic()
        done = subprocess.run(command, cwd=own, capture_output=True, text=True)
        # 3: the OCR takes a drawn spine for a bar code here and there.
        assert done.returncode in (0, 3), done.stderr[-1000:]
        return time.monotonic() - began


def _said(command: list[str]) -> str:
    """Its output; in no checkout, whose packages Python would import first."""
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(command, cwd=empty, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def table(found: dict) -> str:
    from attacks.reporting.tables import markdown

    header = ["command, start included", f"{found['before']} (s)", "now (s)", "times as fast"]
    rows = [
        [row["name"], *(f"{row[key]:.2f}" for key in ("before", "now", "ratio"))]
        for row in found["commands"]
    ]
    times = " or ".join(map(str, sorted({row["rounds"] for row in found["commands"]})))
    told = f"Medians of {times} alternating runs on {found['cores']} cores."
    return f"{markdown(header, rows)}\n{told}\n"


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "release")]
    main(*sys.argv[1:])
