"""The labels of one image as they are drawn: run lengths, and outlines and points."""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.release.labels.motion import Size
from anonymize.release.labels.placed import box_ring


def drawn(labels: dict[str, Any], size: Size) -> tuple[list[dict[str, Any]], list[np.ndarray]]:
    """(run lengths, shapes) of labels of an image of ``size`` (W, H), which they may give anew.

    Shapes are (N, 2), x and y as shares of width and height.
    """
    return (_coco if labels["kind"] == "coco" else _table)(labels, size)


def _coco(labels: dict[str, Any], size: Size) -> tuple[list[dict[str, Any]], list[np.ndarray]]:
    own = labels.get("width", size[0]), labels.get("height", size[1])
    runs, shapes = [], []
    for annotation in labels["annotations"]:
        outline = annotation.get("segmentation")
        if isinstance(outline, dict):
            runs.append(outline)
        else:
            shapes += [np.reshape(ring, (-1, 2)) / own for ring in outline or ()]
        if "bbox" in annotation:
            shapes.append(_box(*annotation["bbox"]) / own)
        points = np.reshape(annotation.get("keypoints", ()), (-1, 3))
        shapes += [point[None, :2] / own for point in points if point[2]]
    return runs, shapes


def _table(labels: dict[str, Any], size: Size) -> tuple[list[dict[str, Any]], list[np.ndarray]]:
    shapes = []
    for row in labels["rows"]:
        where, own = row["where"], row.get("size", size)
        if not where or labels["shape"] == "mask":
            continue
        if labels["shape"] == "corners":
            shapes.append(box_ring(*where) / own)
        elif labels["shape"] == "extent":
            shapes.append(_box(*where) / own)
        else:
            shapes.append(np.reshape(where, (-1, 2)) / own)
    return [], shapes


def _box(x: float, y: float, width: float, height: float) -> np.ndarray:
    return box_ring(x, y, x + width, y + height)
