"""What the released images look like beside the real ones."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attacks.reporting.pictures.figures import COLOURS, INK
from attacks.reporting.pictures.sheet import Column, examples_shown, sheet

CROP = (0.30, 0.16, 0.34)  # top, left and side of the zoomed square, as parts of the image


def examples(
    images: Mapping[str, Tensor], path: Path, displacements: Mapping[str, Tensor] | None = None
) -> None:
    """Real and released images side by side.

    Below each image what changed (released − real: purple darker, orange brighter) and, where a
    method deforms, how far each pixel moved; such methods stand first. Each method has
    scales of its own, written in a corner, which end where 99 % of its pixels lie: a slight warp is
    not blank beside a coarse method, nor a coarse one saturated.

    Args:
        images: (N, 1, H, W) in [0, 1] by title, the real images first, then each method. So many
            of the N are shown as make a page of good shape.
        path: .png or .svg.
        displacements: (N, 2, H, W) in pixels by title, x to the right and y downwards, for the
            methods that deform.
    """
    pictures, changes = _pictures(images)
    moved = {title: _array(field) for title, field in (displacements or {}).items()}
    lengths = {title: np.hypot(d[:, 0], d[:, 1]) for title, d in moved.items()}
    real = next(iter(pictures))
    order = sorted(pictures, key=lambda title: (title != real, title not in moved))
    ordered, deforms = {t: pictures[t] for t in order}, {real, *moved} if moved else set()
    with _sheet(path, ordered, lambda line: 3 if deforms & set(line) else 2) as (figure, columns):
        for column in columns:
            title, n, axes = column.title, column.example, column.axes
            axes[0].imshow(pictures[title][n], cmap="gray", vmin=0, vmax=1)
            if _withheld(axes[0], pictures[title][n]):
                continue
            if title in changes:
                show_change(axes[1], changes[title], n)
            if title in moved:
                longest = most(lengths[title])
                _show_displacement(axes[2], moved[title][n], lengths[title][n], longest)
                _corner(axes[2], f"≤ {longest:.2g} px")
        first = columns[0].axes
        _scale(figure, first[1], "released − real", "PuOr_r", "−", "+")
        if moved:
            _scale(figure, first[2], "displacement", "viridis", "0", "far")


def crops(images: Mapping[str, Tensor], path: Path) -> None:
    """Figure 3 of the paper: every method's image, and a square of it enlarged below."""
    pictures, _ = _pictures(images)
    with _sheet(path, pictures, lambda line: 2) as (_, columns):
        for column in columns:
            picture = pictures[column.title][column.example]
            top, left, side = (round(part * len(picture)) for part in CROP)
            whole, part = column.axes
            whole.imshow(picture, cmap="gray", vmin=0, vmax=1)
            if not _withheld(whole, picture):
                box = Rectangle((left - 0.5, top - 0.5), side, side, fill=False, color=COLOURS[4])
                whole.add_patch(box)
            part.imshow(picture[top : top + side, left : left + side], cmap="gray", vmin=0, vmax=1)


def differences(images: Mapping[str, Tensor], path: Path) -> None:
    """Maps of released − real, each method on its own scale: where it changes the image."""
    _, changes = _pictures(images)
    with _sheet(path, changes, lambda line: 1) as (_, columns):
        for column in columns:
            show_change(column.axes[0], changes[column.title], column.example)


def _sheet(
    path: Path, pictures: Mapping[str, np.ndarray], rows: Callable[[Sequence[str]], int]
) -> AbstractContextManager[tuple[Figure, list[Column]]]:
    """:func:`sheet` of as many of the pictures (N, H, W) as make a page of good shape."""
    number = examples_shown(len(pictures), len(next(iter(pictures.values()))))
    return sheet(path, list(pictures), number, rows)


def show_change(axes: Axes, change: np.ndarray, number: int) -> None:
    """One of the changes (N, H, W) of a method, on the scale of all, which its corner says."""
    end = most(np.abs(change))
    axes.imshow(change[number], cmap="PuOr_r", vmin=-end, vmax=end)
    if not _withheld(axes, change[number]):
        _corner(axes, f"± {end:.2g}")


def _withheld(axes: Axes, picture: np.ndarray) -> bool:
    """Whether nothing was released of the image; the empty place says so."""
    found = bool(np.isnan(picture).all())
    if found:
        axes.text(
            0.5, 0.5, "withheld", transform=axes.transAxes, fontsize=8, color=INK,
            ha="center", va="center",
        )  # fmt: skip
    return found


def _corner(axes: Axes, text: str) -> None:
    axes.text(
        0.03, 0.03, text, transform=axes.transAxes, fontsize=8, color=INK,
        bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1.5},
    )  # fmt: skip


def _pictures(images: Mapping[str, Tensor]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Images (N, H, W) by title, and released − real for all but the first."""
    pictures = {title: _array(tensor)[:, 0] for title, tensor in images.items()}
    real, *released = pictures
    return pictures, {title: pictures[title] - pictures[real] for title in released}


def _show_displacement(
    axes: Axes, displacement: np.ndarray, length: np.ndarray, longest: float
) -> None:
    """Length as colour, direction as arrows of one scale for all pictures."""
    axes.imshow(length, cmap="viridis", vmin=0, vmax=longest)
    if not length.any():
        return
    step = max(1, length.shape[0] // 12)
    rows, columns = np.mgrid[step // 2 : length.shape[0] : step, step // 2 : length.shape[1] : step]
    x, y = displacement[:, rows, columns]
    axes.quiver(
        columns, rows, x, y, color="white", angles="xy", scale_units="xy",
        scale=longest / (1.5 * step), width=0.008, headwidth=3, headlength=3.5,
    )  # fmt: skip


def _scale(figure: Figure, axes: Axes, label: str, colours: str, low: str, high: str) -> None:
    """What the colours mean, where the real image has nothing to show."""
    bar = figure.colorbar(
        mpl.cm.ScalarMappable(mpl.colors.Normalize(0, 1), colours),
        cax=axes.inset_axes((0.17, 0.5, 0.66, 0.08)),
        orientation="horizontal",
        ticks=[0, 1],
    )
    bar.ax.set_title(label, fontsize=8, color=INK)
    bar.ax.set_xticklabels([low, high], fontsize=7.5)
    bar.outline.set_visible(False)


def most(values: np.ndarray) -> float:
    """Where a scale of these values ends: 99 % of them lie below; 1 where these are 0, or none is a
    number."""
    known = values[np.isfinite(values)]
    return (float(np.quantile(known, 0.99)) if known.size else 0.0) or 1.0


def _array(images: Tensor) -> np.ndarray:
    return images.detach().cpu().float().numpy()
