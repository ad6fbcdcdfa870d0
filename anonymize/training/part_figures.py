"""Pictures of what a classifier or a verifier is worth; the same figures give the same file."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from anonymize import whole_file
from anonymize.training.measures import Measures

BLUE, ORANGE, QUIET = "#0072B2", "#D55E00", "#666666"  # Okabe and Ito (2008)
DPI = 130


def draw_classifier(test: Measures, path: Path, *, title: str) -> None:
    """The AUC of every label with its interval, the best above, and their mean."""
    known = {k: v["auc"] for k, v in test["per_class"].items() if v["auc"] is not None}
    names = sorted(known, key=lambda name: known[name])
    values = np.array([known[name] for name in names])
    of = test["per_class"]
    with style():
        figure = blank_figure(7, 1.6 + 0.32 * max(len(names), 1))
        axes = figure.subplots()
        places = np.arange(len(names))
        errors = np.array([_around(known[name], of[name]["ci95"]) for name in names])
        axes.errorbar(
            values, places, xerr=errors.reshape(-1, 2).T, fmt="o", color=BLUE, capsize=3, zorder=3
        )
        if test["auc"] is not None:
            axes.axvline(test["auc"], color=ORANGE, label=f"mean {_in_words(test)}")
            axes.legend(loc="lower right", frameon=False, bbox_to_anchor=(1, 1), borderaxespad=0.2)
        axes.axvline(0.5, color=QUIET, linewidth=1, linestyle=":")
        counts = [f"{name} ({of[name]['positives']})" for name in names]
        axes.set_yticks(places, counts)
        axes.set_ylim(-0.7, max(len(names), 1) - 0.3)
        axes.set_xlim(right=1.0)
        axes.set_xlabel(f"AUC, 95 % by resampling {test['patients']} patients; (positive images)")
        axes.set_title(title, loc="left", fontsize=11, pad=24)
        save_figure(figure, path)


def draw_verifier(test: Measures, path: Path, *, title: str) -> None:
    """The ROC curve with the threshold on it, and the confusion matrix."""
    with style():
        figure = blank_figure(9.5, 4.6)
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        roc, matrix = figure.subplots(1, 2, width_ratios=(1.15, 1))
        roc.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle=":")
        rates = test["roc"]["false_positive_rate"], test["roc"]["true_positive_rate"]
        roc.plot(*rates, color=BLUE, label=f"AUC {_in_words(test)}")
        chosen = f"threshold {test['threshold']:g}"
        roc.plot(1 - test["specificity"], test["recall"], "o", color=ORANGE, label=chosen)
        roc.set_xlabel("false positive rate")
        roc.set_ylabel("true positive rate (recall)")
        roc.set_aspect("equal")
        roc.legend(loc="lower right", frameon=False)
        _draw_confusion(matrix, test["confusion"])
        matrix.set_title(f"at {chosen}", fontsize=10)
        save_figure(figure, path)


def _draw_confusion(axes: Axes, counts: Measures) -> None:
    values = np.array(
        [
            [counts["true_positive"], counts["false_negative"]],
            [counts["false_positive"], counts["true_negative"]],
        ]
    )
    shares = values / np.maximum(values.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), value in np.ndenumerate(values):
        share = shares[row, column]
        colour = "white" if share > 0.6 else "black"
        text = f"{value}\n{share:.1%}"
        axes.text(column, row, text, ha="center", va="center", color=colour)
    axes.set_xticks([0, 1], ["the same patient", "strangers"])
    axes.set_yticks([0, 1], ["the same\npatient", "strangers"])
    axes.set_xlabel("the verifier says")
    axes.set_ylabel("the pair shows")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _around(value: float, interval: list[float] | None) -> tuple[float, float]:
    """How far the interval reaches below and above; bars have no negative length."""
    if interval is None:
        return 0.0, 0.0
    return max(value - interval[0], 0), max(interval[1] - value, 0)


def _in_words(test: Measures) -> str:
    interval = "" if test["ci95"] is None else " ({:.3f}–{:.3f})".format(*test["ci95"])
    return f"{test['auc']:.3f}{interval}"


def style() -> AbstractContextManager[None]:
    """How every picture of training looks, within."""
    return mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})


def blank_figure(
    width: float, height: float, *, layout: Literal["constrained"] | None = "constrained"
) -> Figure:
    """A picture of this size in inches, drawn without a display."""
    figure = Figure(figsize=(width, height), layout=layout, dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: Path, *, dpi: int | None = None) -> None:
    """As PNG, whole or not at all; the same picture gives the same file."""
    with whole_file.replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=dpi or DPI, metadata={"Software": None})
