"""The picture of a game, ``training.png``: what its epochs measured, over the generator's steps."""

from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes

from anonymize.training.course import ATTACKER, CHANGE
from anonymize.training.loop import History
from anonymize.training.part_figures import BLUE, ORANGE, QUIET, blank_figure, save_figure, style

GREEN = "#009E73"  # Okabe and Ito (2008), as the others
ACROSS = 4


class Curve(NamedTuple):
    """One figure of the epochs, by its key in ``metrics.jsonl``."""

    key: str
    label: str
    colour: str
    mark: str = "-"


class Panel:
    """Curves in one unit; ``level`` is one to compare them with."""

    def __init__(self, title: str, *curves: Curve, level: float | None = None) -> None:
        self.title, self.curves, self.level = title, curves, level


PANELS = (
    Panel(
        "losses on validation",
        Curve("validation_auxiliary", "L_aux", ORANGE),
        Curve("validation_verification", "L_ver", BLUE),
    ),
    Panel(
        "gradients on the field",
        Curve("observed_auxiliary_gradient", "of L_aux", ORANGE),
        Curve("observed_verification_gradient", "of L_ver, weighted", BLUE),
        level=0,
    ),
    Panel("cosine of the two", Curve("observed_gradient_cosine", "", QUIET), level=0),
    Panel("change of the images, RMS", Curve(CHANGE, "", QUIET), level=0),
    Panel(
        "displacement in pixels",
        Curve("observed_largest_px", "largest", ORANGE),
        Curve("observed_rms_px", "RMS", BLUE),
        level=0,
    ),
    Panel(
        "displacement, share of the bound",
        Curve("observed_largest_share", "largest", ORANGE),
        Curve("observed_rms_share", "RMS", BLUE),
        level=1,
    ),
    Panel(
        "folding",
        Curve("observed_smallest_jacobian", "smallest Jacobian", BLUE),
        Curve("observed_folded_share", "share of pixels", ORANGE),
        level=0,
    ),
    Panel(
        "who links, AUC on validation",
        Curve("observed_pretrained_verifier_auc", "verifier of real images", GREEN),
        Curve("validation_verifier_auc", "verifier of the game", BLUE),
        Curve(ATTACKER, "fresh attacker, matched", ORANGE, "o-"),
        Curve(f"{ATTACKER}_real", "the same on real images", QUIET, "x--"),
        level=0.5,
    ),
)


def draw_course(history: History, path: Path, *, title: str) -> None:
    """Every panel that the epochs have figures for; the same figures give the same file."""
    shown = [p for p in PANELS if any(_points(history, c.key)[1] for c in p.curves)]
    down, across = -(-len(shown) // ACROSS), min(ACROSS, len(shown))
    height = 2.6 * down + 0.4
    with style():
        # A layout that is worked out would take as long as drawing.
        figure = blank_figure(3.1 * across, height, layout=None)
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        edges = {"left": 0.2 / across, "right": 1 - 0.04 / across}
        edges |= {"bottom": 0.5 / height, "top": 1 - 0.6 / height, "wspace": 0.26, "hspace": 0.45}
        places = figure.add_gridspec(down, across, **edges)
        for number, panel in enumerate(shown):
            _draw(figure.add_subplot(places[divmod(number, across)]), panel, history)
        save_figure(figure, path)


def _draw(axes: Axes, panel: Panel, history: History) -> None:
    for curve in panel.curves:
        steps, values = _points(history, curve.key)
        if values:
            mark = "o" if len(values) == 1 and curve.mark == "-" else curve.mark
            axes.plot(
                steps, values, mark, color=curve.colour, label=curve.label or None, markersize=5
            )
    if panel.level is not None:
        axes.axhline(panel.level, color=QUIET, linewidth=1, linestyle=":")
    axes.set_title(panel.title, loc="left", fontsize=10)
    axes.set_xlabel("steps of the generator", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.locator_params(axis="x", nbins=4)
    many = len(panel.curves) > 2  # names that have no place among the lines
    if many:
        low, high = axes.get_ylim()
        axes.set_ylim(low - 0.5 * (high - low), high)
    if len(panel.curves) > 1:
        axes.legend(frameon=False, fontsize=7, loc="lower left" if many else "best")


def _points(history: History, key: str) -> tuple[list[float], list[float]]:
    """Steps and values of the epochs that have the figure."""
    steps = accumulate(line["train_steps"] for line in history)
    points = [(s, line[key]) for s, line in zip(steps, history, strict=True) if key in line]
    return [s for s, _ in points], [v for _, v in points]
