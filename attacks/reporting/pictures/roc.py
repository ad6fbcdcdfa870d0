"""The picture of operating points: true matches against false ones, on a logarithmic axis.

An adversary who looks through many patients can afford few false matches, so what counts lies at
the left. A rate that the data cannot certify (rule of three) is drawn faintly.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from attacks.measuring.estimates import Figures
from attacks.reporting.pictures.figures import FAINT, drawn, legend, short
from attacks.reporting.pictures.looks import Look, looks
from attacks.reporting.readings import ALL, MATCHED, NAMES, headline
from attacks.results import Method, Results

TICKS = (1e-4, 1e-3, 1e-2, 1e-1, 1)
CERTAIN = 3  # independent comparisons an event needs, to be known at 95 % (rule of three)


def has_roc(results: Results) -> bool:
    """Whether any method's strongest attacker has a curve."""
    return any(curve_of(method)[-1].roc for method in results.methods if method.strongest)


def roc(results: Results, *paths: Path) -> None:
    """One curve a method, of its strongest attacker, by the headline reading where it has that;
    .png, .svg or .pdf by the names of the files."""
    own, most = looks(results.named), headline(results)
    with drawn(paths, (7.6, 5.4), "constrained") as figure:
        axes = figure.add_subplot()
        rates = np.geomspace(1e-4, 1, 100)
        axes.plot(rates, rates, color=FAINT, linestyle=":", label="chance")
        for title, method in results.titled:
            if method.strongest is None:
                continue
            name, reading, figures = curve_of(method)
            other = "" if reading == most else f", {NAMES[reading]}"
            if figures.roc:
                _draw(axes, figures, f"{short(title)}: {short(name)}{other}", own[title])
        axes.set_xscale("log")
        axes.set_xticks(TICKS, labels=[f"{rate:g}" for rate in TICKS])  # powers would be formulas
        axes.set_xlim(1e-4, 1)
        axes.set_ylim(0, 1)
        axes.set_xlabel("false match rate   (faint: fewer independent comparisons than 3 / rate)")
        axes.set_ylabel(f"true match rate, {NAMES[most]}\n← more private below")
        legend(figure, columns=2)


def curve_of(method: Method) -> tuple[str, str, Figures]:
    """Of a method with attackers: the strongest one's name, the reading that is drawn, matched
    impostors where there are any, and its figures."""
    assert method.strongest is not None
    name, attack = method.strongest
    if attack.matched is not None and attack.matched.roc:
        return name, MATCHED, attack.matched
    return name, ALL, attack


def _draw(axes: Axes, figures: Figures, label: str, look: Look) -> None:
    rates = np.array([float(rate) for rate in figures.roc])
    passed = np.array(list(figures.roc.values()))
    sure = rates * (figures.independent_comparisons or 0) >= CERTAIN
    axes.plot(rates, passed, color=look.colour, alpha=0.35, linewidth=1)
    certain: dict[str, Any] = {
        "color": look.colour,
        "marker": look.mark,
        "markersize": 4,
        "markevery": 6,
    }
    axes.plot(rates[sure], passed[sure], label=label, **certain)
