"""Puts what is made into README.md and docs/*.md: python docs/tables.py

A table stands between ``<!-- table: PATH -->`` and ``<!-- end -->`` and is the file at PATH, seen
from the repository's root. Some of these files are made here: tables of several committed
results, the coverage of the intervals, and the map of the rooms.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import rooms

from attacks.measuring.estimates import Estimate
from attacks.results import Method, Results

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
SUMMARY = {"children": "Children", "chestxray14": "ChestX-ray14", "covid19": "COVID-19"}


def pages() -> list[Path]:
    """Every page that may show a table."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def filled(text: str) -> str:
    """``text`` with every table as its file has it now."""
    return TABLE.sub(lambda m: m[1] + (ROOT / m[2]).read_text(encoding="utf-8") + m[3], text)


def made() -> dict[Path, str]:
    """What is made here, by the file that holds it."""
    return {
        RESULTS / "summary.md": _summary(),
        RESULTS / "cost.md": _cost(),
        RESULTS / "coverage.md": _coverage(),
        ROOT / "docs" / "site" / "rooms.md": f"```mermaid\n{rooms.drawing()}\n```\n",
    }


def _summary() -> str:
    """Each set's releases: the strongest attacker, its floors, and what a classifier reads.

    Every attacker comes from the evaluation of all of them; the published attacker and the
    classifiers from the evaluation that repeated them.
    """
    header = (
        "images (test part)",
        "released as",
        "strongest attacker ↓",
        "published attacker ↓",
        "no training ↓",
        "findings alone",
        "seeds of the two",
        "classifier frozen ↑",
        "retrained ↑",
    )
    return _markdown(header, (row for key in SUMMARY for row in _set_rows(key)))


def _set_rows(key: str) -> Iterator[tuple[str, ...]]:
    attacked = Results.read(RESULTS / "attackers" / key / "results.json")
    floor = _findings_alone(key, attacked)
    repeated = {m.name: m for m in Results.read(RESULTS / key / "results.json").methods}
    about = attacked.source
    images = f"{SUMMARY[key]}: {about.images} of {about.patients} patients, {about.size} px"
    for title, method in zip(attacked.titles(), attacked.methods, strict=True):
        yield (images, title, *_figures(method, repeated[method.name], floor))
        images = ""


def _findings_alone(key: str, attacked: Results) -> float:
    """The AUC of equal findings; of results of schema 1, which had no floors, measured apart."""
    own = {floor.name: floor.auc.mean for floor in attacked.floors}
    if "findings" in own:
        return own["findings"]
    return json.loads((RESULTS / "floors.json").read_text(encoding="utf-8"))[key]["auc"]


def _figures(method: Method, repeated: Method, floor: float) -> tuple[str, ...]:
    name, strongest = method.strongest_by_image
    published = repeated.privacy["verification"]
    return (
        f"{name} {_interval(strongest.auc)}",
        _interval(published.auc),
        _interval(method.privacy["training-free"].auc),
        f"{floor:.2f}",
        f"{len(strongest.auc.runs)}, {len(published.auc.runs)}",
        _interval(repeated.utility.frozen.auc),
        _interval(repeated.utility.retrained.auc),
    )


def _interval(auc: Estimate) -> str:
    return f"{auc.mean:.2f} ({auc.ci95[0]:.2f}–{auc.ci95[1]:.2f})"


def _cost() -> str:
    measured = json.loads((RESULTS / "cost.json").read_text(encoding="utf-8"))
    rows = ((f"`{m['command']}`", f"{m['minutes']:g} min", m["memory"]) for m in measured["runs"])
    return _markdown((f"on {measured['machine']}", "time", "memory"), rows)


def _coverage() -> str:
    """How often 95 % intervals hold the truth, by figure and number of patients."""
    made = json.loads((RESULTS / "coverage.json").read_text(encoding="utf-8"))
    header = ["95 % intervals that hold the truth"]
    header += [f"{w['patients']} patients ({w['repetitions']} worlds)" for w in made["worlds"]]
    shares = [w["coverage"] for w in made["worlds"]]
    rows = (
        (title, *(f"{100 * s[name]:.1f} %" if name in s else "–" for s in shares))
        for name, title in made["figures"].items()
    )
    return _markdown(tuple(header), rows)


def _markdown(header: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = (header, ("---",) * len(header), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    for path, table in made().items():
        path.write_text(table, encoding="utf-8")
    for page in pages():
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
