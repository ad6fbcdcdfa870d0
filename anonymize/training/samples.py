"""Sample pictures of a run: image, deformed, difference, displacement."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.training.part_figures import blank_figure, save_figure

COLUMNS = ("image", "anonymized", "difference", "displacement (pixels)")


def save_samples(model: Anonymizer, images: Tensor, path: Path, *, title: str) -> None:
    """A row of panels for each image (B, 1, H, W): itself, anonymized, the difference and, where
    the method deforms, the displacement.

    The difference is anonymized − image on a scale that the colour bar states; the displacement is
    drawn as its length in pixels with arrows of true direction.
    """
    displacement = model.displacement(images)
    images, anonymized = images.cpu(), model(images).cpu()
    difference = (anonymized - images)[:, 0]
    limit = max(float(difference.abs().max()), 1e-3)
    rows, columns = len(images), 3 if displacement is None else 4
    figure = blank_figure(2.75 * columns, 2.6 * rows + 0.5)
    figure.suptitle(title, fontsize=11)
    axes = figure.subplots(rows, columns, squeeze=False)
    for i in range(rows):
        for axis, values in ((axes[i, 0], images), (axes[i, 1], anonymized)):
            axis.imshow(values[i, 0].numpy(), cmap="gray", vmin=0, vmax=1)
        shown = axes[i, 2].imshow(difference[i].numpy(), cmap="RdBu_r", vmin=-limit, vmax=limit)
        figure.colorbar(shown, ax=axes[i, 2], shrink=0.85)
    if displacement is not None:
        _fields(figure, axes[:, 3], flow.pixels(displacement.cpu()))
    for axis, name in zip(axes[0], COLUMNS[:columns], strict=True):
        axis.set_title(name, fontsize=10)
    for axis in axes.flat:
        axis.set_axis_off()
    save_figure(figure, path, dpi=90)


def _fields(figure: Figure, axes, pixels: Tensor) -> None:
    length = flow.magnitude(pixels)[:, 0]
    longest = max(float(length.max()), 1e-3)
    for axis, field, own in zip(axes, pixels, length, strict=True):
        shown = axis.imshow(own.numpy(), cmap="viridis", vmin=0, vmax=longest)
        figure.colorbar(shown, ax=axis, shrink=0.85)
        if field.any():
            height, width = field.shape[-2:]
            every = max(height // 12, 1)
            x, y = np.arange(every // 2, width, every), np.arange(every // 2, height, every)
            arrows = field.numpy()[:, y][:, :, x]
            axis.quiver(x, y, *arrows, color="white", angles="xy", width=0.005)
