"""What the released images look like beside the real ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from torch import Tensor

from attacks.figures import DPI, INK, STYLE, save


def examples(
    images: Mapping[str, Tensor],
    path: Path,
    *,
    displacements: Mapping[str, Tensor] | None = None,
) -> None:
    """Real and released images side by side.

    Each image takes a row, below it what changed (released − real: purple darker, orange
    brighter) and, where a method deforms, how far each pixel moved. The scales are the same for
    all images and end where 99 % of the pixels lie: of the change, for the method that changes
    least, so that a slight warp is not blank beside a coarse method.

    Args:
        images: (N, 1, H, W) in [0, 1] by title, the real images first, then each method.
        path: .png or .svg.
        displacements: (N, 2, H, W) in pixels by title, x to the right and y downwards, for the
            methods that deform.
    """
    displacements = displacements or {}
    titles = list(images)
    pictures = {title: _array(images[title])[:, 0] for title in titles}
    moved = {title: _array(displacements[title]) for title in titles if title in displacements}
    real, released = pictures[titles[0]], titles[1:]
    changes = {title: pictures[title] - real for title in released}
    # The scale of the method that changes least: on that of a coarse one a warp would be blank.
    change = min((m for c in changes.values() if (m := _most([np.abs(c)])) < 1), default=1.0)
    lengths = {title: np.hypot(d[:, 0], d[:, 1]) for title, d in moved.items()}
    longest = _most(lengths.values())
    kinds = ("image", "change", "displacement")[: 3 if moved else 2]
    with mpl.rc_context(STYLE):
        rows, columns = len(real) * len(kinds), len(titles)
        figure = Figure(figsize=(1.75 * columns + 0.2, 1.75 * rows + 0.5), dpi=DPI)
        FigureCanvasAgg(figure)
        grid = figure.subplots(
            rows,
            columns,
            squeeze=False,
            gridspec_kw={
                "left": 0.01, "right": 0.99, "bottom": 0.01, "wspace": 0.04, "hspace": 0.04,
                "top": 1 - 0.42 / (1.75 * rows + 0.5),
            },
        )  # fmt: skip
        for axes in grid.flat:
            axes.set_axis_off()
        for column, title in enumerate(titles):
            grid[0, column].set_title(_wrapped(title), fontsize=9, color=INK)
            for n in range(len(real)):
                row = n * len(kinds)
                grid[row, column].imshow(pictures[title][n], cmap="gray", vmin=0, vmax=1)
                if column == 0:
                    _scale(figure, grid[row + 1, 0], "released − real", "PuOr_r", -change, change)
                    if moved:
                        label = "displacement (px)"
                        _scale(figure, grid[row + 2, 0], label, "viridis", 0, longest)
                    continue
                grid[row + 1, column].imshow(
                    changes[title][n], cmap="PuOr_r", vmin=-change, vmax=change
                )
                if title in moved:
                    _show_displacement(
                        grid[row + 2, column], moved[title][n], lengths[title][n], longest
                    )
        save(figure, path)


def _show_displacement(
    axes: Axes, displacement: np.ndarray, length: np.ndarray, longest: float
) -> None:
    """Length as colour, direction as arrows of one scale for all pictures."""
    axes.imshow(length, cmap="viridis", vmin=0, vmax=longest)
    step = max(1, length.shape[0] // 12)
    rows, columns = np.mgrid[step // 2 : length.shape[0] : step, step // 2 : length.shape[1] : step]
    x, y = displacement[:, rows, columns]
    axes.quiver(
        columns, rows, x, y, color="white", angles="xy", scale_units="xy",
        scale=longest / (1.5 * step), width=0.008, headwidth=3, headlength=3.5,
    )  # fmt: skip


def _scale(figure: Figure, axes: Axes, label: str, colours: str, low: float, high: float) -> None:
    """A colour scale where the real image has nothing to show."""
    bar = figure.colorbar(
        mpl.cm.ScalarMappable(mpl.colors.Normalize(low, high), colours),
        cax=axes.inset_axes([0.17, 0.5, 0.66, 0.08]),
        orientation="horizontal",
        ticks=[low, (low + high) / 2, high],
    )
    bar.ax.set_title(label, fontsize=8, color=INK)
    ends = ("0" if low == 0 else f"≤ −{-low:.2g}", f"{(low + high) / 2:.2g}", f"≥ {high:.2g}")
    bar.ax.set_xticklabels(ends, fontsize=7.5)
    bar.outline.set_visible(False)


def _most(values: Iterable[np.ndarray]) -> float:
    return max((float(np.quantile(v, 0.99)) for v in values), default=0.0) or 1.0


def _wrapped(title: str) -> str:
    """The method on one line, its options on the next."""
    return title.replace(" ", "\n", 1) if "=" in title else title


def _array(images: Tensor) -> np.ndarray:
    return images.detach().cpu().float().numpy()
