"""The labels of one image → files and records of its output, or regions to be left as they are.

Pure; carried by a worker.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from anonymize.release.burned_in.options import TextOptions
from anonymize.release.labels import coco, likeness, masks, table
from anonymize.release.labels.motion import Motion, Size, same_shape
from anonymize.release.labels.placed import Placed, outline
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused

TOLD = "what labels outline was spared, and is the real picture"
CARRIERS = {"coco": coco.carry, "table": table.carry}


@dataclass(frozen=True)
class MaskFile:
    """A mask that belongs to an image: its source, path there, name's end, and content."""

    source: int
    path: str
    end: str
    data: bytes = b""


@dataclass(frozen=True)
class Job:
    """All labels of one image; ``parts`` are plain values by the number of their source."""

    masks: tuple[MaskFile, ...]
    parts: dict[int, dict[str, Any]]
    refusal: str = ""  # why they could not be read

    @property
    def key(self) -> str:
        """Changes with any of the labels."""
        digest = hashlib.sha256(json.dumps(self.parts, sort_keys=True).encode())
        for mask in self.masks:
            digest.update(f"\0{mask.source}\0{mask.path}\0".encode("utf-8", "surrogateescape"))
            digest.update(hashlib.sha256(mask.data).digest())
        return digest.hexdigest()


@dataclass(frozen=True)
class Carried:
    """What is written for one image: mask files by their path there, records by their source."""

    masks: dict[tuple[int, str], bytes]
    records: dict[int, dict[str, Any]]
    placed: dict[str, Placed] = field(default_factory=dict)  # by "mask" or the source's number


def carry(
    job: Job, displacement: np.ndarray | None, image: Radiograph, text: TextOptions
) -> Carried:
    """The labels of an image that ``displacement`` (2, H, W) px has moved. Raises Refused: one of
    them cannot be carried over, they show the image itself, or text where it is looked for; or it
    was turned by its Exif orientation, so that it is not known what their coordinates mean."""
    height, width = image.pixels.shape[:2]
    size = width, height
    if job.refusal:
        raise Refused(Reason.LABELS, job.refusal)
    if image.turned:
        raise Refused(Reason.LABELS, "Exif orientation: turn the image's pixels first")
    motion = Motion(size, displacement)
    made, placed = {}, {}
    maps, runs, shapes = [], [], []
    for file in job.masks:
        mask = masks.decode(file.path, file.data)
        if not same_shape(mask.size, size):
            raise Refused(Reason.LABELS, "mask: another shape than the image")
        if text.looks:
            _check_text(mask.values, text)
        maps.append(mask.values)
        moved = replace(mask, values=np.ascontiguousarray(motion.pull(mask.values)))
        data = masks.encode(moved)
        masks.check(moved, data)
        made[file.source, file.path] = data
    records = {}
    for number, labels in job.parts.items():
        records[number], placed[str(number)] = CARRIERS[labels["kind"]](labels, motion)
        more_runs, more_shapes = drawn(labels, size)
        runs += more_runs
        shapes += more_shapes
    if text.looks and (runs or shapes):
        _check_text(likeness.drawing(runs, shapes, (height, width)), text)
    likeness.check_unlike(image.gray(), maps, runs, shapes)
    return Carried(made, records, placed)


def _check_text(values: np.ndarray, options: TextOptions) -> None:
    """Raises Refused where labels (H, W) or (H, W, C) show text, in whatever values."""
    from anonymize.release.burned_in import policy  # with the OCR

    codes = likeness.coded(values)
    shown = codes * np.uint8(255 // max(int(codes.max()), 1))
    policy.look_again(Radiograph("PNG", "gray", 8, shown[..., None]), options)


@dataclass(frozen=True)
class Spared:
    """Boxes (left, top, right, bottom) in pixels, and the margin around them in pixels."""

    boxes: list[tuple[float, float, float, float]]
    margin: float


def spared(job: Job | None, size: Size, margin: float | None) -> Spared | None:
    """The boxes around all shapes of ``job`` in an image of ``size`` (W, H); None: there are none.

    Args:
        margin: share of the shorter side; None spares nothing.

    Raises:
        Refused: masks, of which it is not known where they lie.
    """
    if margin is None or job is None:
        return None
    annotations = (a for part in job.parts.values() for a in part.get("annotations", ()))
    runs = any(isinstance(a.get("segmentation"), dict) and "bbox" not in a for a in annotations)
    if job.masks or job.refusal or runs:
        raise Refused(Reason.LABELS, "--spare needs boxes, polygons or points, and these are masks")
    boxes = []
    for part in job.parts.values():
        for shape in drawn(part, size)[1]:
            points = shape * np.asarray(size)
            left, top = points.min(0).tolist()
            right, bottom = points.max(0).tolist()
            boxes.append((left, top, right, bottom))
    return Spared(boxes, margin * min(size)) if boxes else None


def drawn(labels: dict[str, Any], size: Size) -> tuple[list[dict[str, Any]], list[np.ndarray]]:
    """(run lengths, shapes) of labels of an image of ``size`` (W, H), which they may give anew.

    Shapes are (N, 2), x and y as shares of width and height.
    """
    return (_drawn_coco if labels["kind"] == "coco" else _drawn_table)(labels, size)


def _drawn_coco(
    labels: dict[str, Any], size: Size
) -> tuple[list[dict[str, Any]], list[np.ndarray]]:
    own = labels.get("width", size[0]), labels.get("height", size[1])
    runs, shapes = [], []
    for annotation in labels["annotations"]:
        drawing = annotation.get("segmentation")
        if isinstance(drawing, dict):
            runs.append(drawing)
        else:
            shapes += [np.reshape(ring, (-1, 2)) / own for ring in drawing or ()]
        if "bbox" in annotation:
            shapes.append(outline(annotation["bbox"], "extent") / own)
        points = np.reshape(annotation.get("keypoints", ()), (-1, 3))
        shapes += [point[None, :2] / own for point in points if point[2]]
    return runs, shapes


def _drawn_table(
    labels: dict[str, Any], size: Size
) -> tuple[list[dict[str, Any]], list[np.ndarray]]:
    shape = labels["shape"]
    rows = [row for row in labels["rows"] if row["where"] and shape != "mask"]
    return [], [outline(row["where"], shape) / row.get("size", size) for row in rows]
