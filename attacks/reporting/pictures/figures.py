"""The style of all pictures.

The same results give the same file, byte for byte. Colour and mark of a method:
`attacks.reporting.pictures.looks`; what is no method has one of ``COLOURS``. Always dark on white.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from attacks.reporting.harmless import harmless
from attacks.reporting.pictures import looks

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

NAMED = ("blue", "vermilion", "green", "purple", "yellow", "indigo")
COLOURS = tuple(looks.COLOURS[name][0] for name in NAMED)
INK, QUIET, FAINT = "#222222", "#666666", "#bbbbbb"
STYLE: dict[RcKeyType, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "text.color": INK,
    "text.parse_math": False,  # a name may hold dollars
    "svg.hashsalt": "anonymize",
    "svg.fonttype": "path",
}
DPI = 160
ROOM = 44  # characters of a name


@contextmanager
def drawn(
    paths: Path | Sequence[Path], size: tuple[float, float], layout: Any = None
) -> Iterator[Figure]:
    """An empty figure of our style, ``size`` in inches, which becomes a file, or several, at the
    end."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, dpi=DPI, layout=layout)
        FigureCanvasAgg(figure)
        yield figure
        for path in [paths] if isinstance(paths, Path) else paths:
            save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Writes the figure, .png, .svg or .pdf; the same figures give the same bytes."""
    figure.savefig(path, metadata=dict.fromkeys(UNSAID[Path(path).suffix]))


UNSAID = {".svg": ("Date",), ".png": ("Software",), ".pdf": ("CreationDate", "Creator", "Producer")}


def short(text: str) -> str:
    """A name that has room in a picture."""
    return harmless(text, ROOM)


def chance(axes: Axes) -> None:
    """Dotted lines where an attacker, and a classifier, would be guessing."""
    for line in (axes.axvline, axes.axhline):
        line(0.5, color=FAINT, linestyle=":", linewidth=1.2, zorder=0)


def bars(mean: float, interval: tuple[float, float] | None) -> list[list[float]] | None:
    """What `Axes.errorbar` takes for an interval: how far it reaches below and above the mean."""
    if interval is None:
        return None
    return [[max(0, mean - interval[0])], [max(0, interval[1] - mean)]]


def legend(figure: Figure, columns: int = 3, **style: Any) -> None:
    """Below the axes."""
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns}
    figure.legend(**place, frameon=False, fontsize=8.5, **style)
