"""The scaling curve as files: scaling.json (schema version 1), scaling.csv and scaling.png."""

import json
from collections.abc import Iterator
from pathlib import Path

from matplotlib.ticker import NullFormatter

from attacks.measuring.estimates import Estimate
from attacks.measuring.reading_names import LISTED, NAMES
from attacks.reporting.figure_rows import write_csv
from attacks.reporting.pictures.figures import COLOURS, FAINT, INK, QUIET, drawn, legend
from attacks.studies.scaling_results import Scaling

TITLES = {"fixed": "FTS: fixed pairs", "fresh": "RNP: fresh impostor pairs each epoch"}
SPREAD = ("mean", "sd", "ci95_low", "ci95_high")  # over the listed pairs, as "auc"
COLUMNS = (
    *("negatives", "pairs", "run", "auc", "epochs", *SPREAD),
    *(f"{name}, matched" for name in ("auc", *SPREAD)),
)


def write_scaling(scaling: Scaling, out: Path) -> list[str]:
    """Writes scaling.json, scaling.csv and scaling.png, and returns their names; the same results
    give the same bytes."""
    content = scaling.model_dump(mode="json", by_alias=True)
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    (out / "scaling.json").write_text(text + "\n", encoding="utf-8")
    write_csv(out / "scaling.csv", COLUMNS, _lines(scaling))
    draw_scaling(scaling, out / "scaling.png")
    return ["scaling.json", "scaling.csv", "scaling.png"]


def _lines(scaling: Scaling) -> Iterator[tuple]:
    """One training a row."""
    for point in scaling.points:
        matched = point.matched.runs if point.matched else (None,) * len(point.epochs)
        runs = zip(point.auc.runs, point.epochs, matched, strict=True)
        for run, (auc, epochs, alike) in enumerate(runs, 1):
            own = (point.negatives, point.pairs, run, auc, epochs, *_spread(point.auc))
            yield (*own, alike, *_spread(point.matched))


def _spread(auc: Estimate | None) -> tuple[float | None, ...]:
    return (None,) * 4 if auc is None else (auc.mean, auc.sd, *(auc.ci95 or (None, None)))


def draw_scaling(scaling: Scaling, path: Path) -> None:
    """AUC against the number of pairs: a line of the means with their 95 % interval, a dot a run;
    dashed the floor, dotted chance. .png or .svg."""
    with drawn(path, (6.4, 4.0), "constrained") as figure:
        axes = figure.add_subplot()
        sizes = sorted({point.pairs for point in scaling.points})
        for colour, (kind, title) in zip(COLOURS, TITLES.items(), strict=False):
            points = [point for point in scaling.points if point.negatives == kind]
            if not points:
                continue
            # A little to the left and right, so that bars do not hide each other.
            shift = 0.97 if kind == "fixed" else 1.03
            places = [point.pairs * shift for point in points]
            means = [point.auc.mean for point in points]
            below, above = zip(*(_around(point.auc) for point in points), strict=True)
            axes.errorbar(
                places, means, yerr=(below, above), fmt="-o", color=colour, capsize=3, label=title
            )
            for place, point in zip(places, points, strict=True):
                runs = point.auc.runs if len(point.auc.runs) > 1 else ()
                axes.plot([place] * len(runs), runs, "o", color=colour, markersize=3, alpha=0.45)
        axes.axhline(
            scaling.floor.mean, color=QUIET, linestyle="--", label="gradient histograms, no pair"
        )
        axes.axhline(0.5, color=FAINT, linestyle=":", label="chance")
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("training pairs, half of them genuine")
        axes.set_ylabel(f"AUC, {scaling.test_pairs:,} {NAMES[LISTED]}")
        axes.set_title(
            f"A siamese verifier of real images: {scaling.source}, {scaling.size} px",
            loc="left",
            fontsize=11,
            color=INK,
        )
        legend(figure, columns=2)


def _around(auc: Estimate) -> tuple[float, float]:
    low, high = auc.ci95 or (auc.mean, auc.mean)
    return max(auc.mean - low, 0), max(high - auc.mean, 0)
