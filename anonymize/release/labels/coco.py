"""COCO JSON: boxes, polygons, run lengths and keypoints of many images in one file.

Only named fields are taken over: of an image id, file_name, width, height; of an annotation id,
image_id, category_id, bbox, segmentation, area, iscrowd, keypoints; of a category id, name, and
the names and skeleton of its keypoints.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from anonymize.errors import DataError
from anonymize.release.labels import rle
from anonymize.release.labels.motion import Motion, Size, area, same_shape
from anonymize.release.labels.placed import Placed, box_ring, checked, rounded
from anonymize.release.labels.texts import class_name
from anonymize.release.reasons import Reason, Refused

TIGHT = 1.0  # pixels: a box that is this near to its outline's is the outline's box
NUMBERED = "--labels {number} is no COCO file that can be carried over: {where}: {problem}; mend it"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _Image(_Part):
    id: int
    file_name: str = Field(min_length=1)
    width: int | None = Field(None, ge=1)
    height: int | None = Field(None, ge=1)


class _Runs(_Part):
    size: tuple[int, int] = Field(strict=False)
    counts: list[int] | str


class _Annotation(_Part):
    id: int
    image_id: int
    category_id: int | None = None
    bbox: list[FiniteFloat] | None = Field(None, min_length=4, max_length=4)
    segmentation: list[list[FiniteFloat]] | _Runs | None = None
    area: FiniteFloat | None = None
    iscrowd: int | None = Field(None, ge=0, le=1)
    keypoints: list[FiniteFloat] | None = None


class _Category(_Part):
    id: int
    name: str
    keypoints: list[str] | None = None
    skeleton: list[list[int]] | None = None


class _File(_Part):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category] = []


class Coco:
    """A COCO file as a source of labels."""

    kind, extension = "coco", ".json"

    def __init__(self, data: bytes, number: int) -> None:
        """Reads and checks the file, the ``number``-th of the labels.

        Raises:
            DataError: not COCO, or an annotation that cannot be; the message quotes no value.
        """
        self.number = number
        try:
            content = json.loads(data)
        except ValueError:
            raise self._error("the file", "no JSON") from None
        try:
            file = _File.model_validate(content)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = " ".join(str(part) for part in first["loc"][:3]) or "the file"
            raise self._error(where, first["msg"][:80]) from None
        self.categories = [self._category(c) for c in file.categories]
        self.images = {image.id: image for image in file.images}
        if len(self.images) != len(file.images):
            raise self._error("images", "an id occurs twice")
        if len({a.id for a in file.annotations}) != len(file.annotations):
            raise self._error("annotations", "an id occurs twice")
        self._annotations: dict[int, list[dict]] = {i: [] for i in self.images}
        for place, annotation in enumerate(file.annotations):
            if annotation.image_id not in self.images:
                raise self._error(f"annotations {place}", "image_id is not among the images")
            self._annotations[annotation.image_id].append(self._checked(annotation, place))

    def references(self) -> list[tuple[int, str]]:
        """(image id, file_name) of every image."""
        return [(image.id, image.file_name) for image in self.images.values()]

    def labels_of(self, keys: list[int]) -> dict[str, Any]:
        """What belongs to one image, plain values.

        Raises:
            DataError: two entries for one image.
        """
        if len(keys) > 1:
            raise self._error("images", "two entries for one image")
        image = self.images[keys[0]]
        size = {} if image.width is None else {"width": image.width, "height": image.height}
        annotations = self._annotations[image.id]
        return {"kind": self.kind, "id": image.id, **size, "annotations": annotations}

    @staticmethod
    def mask_paths(labels: dict[str, Any]) -> list[str]:
        """Mask files that the labels of one image name: none."""
        return []

    @staticmethod
    def item(labels: dict[str, Any]) -> str:
        """How the private list names the labels of one image."""
        ids = ", ".join(str(a["id"]) for a in labels["annotations"])
        return f"image {labels['id']}" + (f": annotations {ids}" if ids else "")

    def assembled(self, released: list[tuple[str, dict[str, Any]]], *, renumber: bool) -> bytes:
        """The file of the released images, (output path, carried labels) in the order given.

        ``renumber``: ids are counted anew, since an old one may tell who it is.
        """
        images: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        for place, (output, labels) in enumerate(released, 1):
            own = place if renumber else labels["id"]
            size = {k: labels[k] for k in ("width", "height")}
            images.append({"id": own, "file_name": output, **size})
            for annotation in labels["annotations"]:
                number = len(annotations) + 1 if renumber else annotation["id"]
                annotations.append({**annotation, "id": number, "image_id": own})
        content = {"images": images, "annotations": annotations, "categories": self.categories}
        return json.dumps(content, sort_keys=True).encode() + b"\n"

    def _error(self, where: str, problem: str) -> DataError:
        return DataError(NUMBERED.format(number=self.number, where=where, problem=problem))

    def _category(self, category: _Category) -> dict[str, Any]:
        where = f"--labels {self.number}, a category"
        content = {"id": category.id, "name": class_name(category.name, where)}
        if category.keypoints is not None:
            content["keypoints"] = [class_name(name, where) for name in category.keypoints]
        if category.skeleton is not None:
            content["skeleton"] = category.skeleton
        return content

    def _checked(self, annotation: _Annotation, place: int) -> dict[str, Any]:
        where = f"annotations {place}"
        image = self.images[annotation.image_id]
        if (image.width is None) != (image.height is None):
            raise self._error(f"the image of {where}", "width without height")
        content = annotation.model_dump(exclude_none=True)
        shapes = annotation.segmentation
        if isinstance(shapes, list) and any(len(ring) < 6 or len(ring) % 2 for ring in shapes):
            raise self._error(where, "a polygon needs three points or more, as x, y pairs")
        if isinstance(shapes, _Runs):
            if image.width is not None and shapes.size != (image.height, image.width):
                raise self._error(where, "a mask of another size than its image")
            try:
                rle.decode(content["segmentation"])
            except (ValueError, MemoryError):
                raise self._error(where, "run lengths that do not fill the mask") from None
        if annotation.keypoints is not None and len(annotation.keypoints) % 3:
            raise self._error(where, "keypoints must be x, y, visibility triples")
        if annotation.bbox is not None and min(annotation.bbox[2:]) < 0:
            raise self._error(where, "a box of negative width or height")
        return content


def carry(labels: dict[str, Any], motion: Motion) -> tuple[dict[str, Any], Placed]:
    """The labels of one image where they lie in its output.

    Raises:
        Refused: a size that cannot be the image's, coordinates outside it, or no inverse.
    """
    size = (labels.get("width", motion.size[0]), labels.get("height", motion.size[1]))
    if not same_shape(size, motion.size):
        raise Refused(Reason.LABELS, "COCO: width and height are not the image's")
    placed = Placed()
    annotations = [_carried(a, motion, size, placed) for a in labels["annotations"]]
    content = {"id": labels["id"], "width": size[0], "height": size[1]}
    return {**content, "annotations": annotations}, placed


def _carried(old: dict[str, Any], motion: Motion, size: Size, placed: Placed) -> dict[str, Any]:
    new: dict[str, Any] = {
        key: old[key] for key in ("id", "image_id", "category_id", "iscrowd") if key in old
    }
    placed.count += 1
    bounds = shape_area = old_bounds = None
    shapes = old.get("segmentation")
    if isinstance(shapes, dict):
        mask = rle.decode(shapes)
        if not same_shape(mask.shape[::-1], motion.size):
            raise Refused(Reason.LABELS, "COCO: a mask of another shape than the image")
        moved = motion.pull(mask)
        new["segmentation"] = rle.encode(moved, as_string=isinstance(shapes["counts"], str))
        bounds, old_bounds, shape_area = _mask_box(moved), _mask_box(mask), float(moved.sum())
    elif shapes:
        rings = [checked(np.reshape(ring, (-1, 2)), size) for ring in shapes]
        moved_rings = [placed.outline(ring, motion, size) for ring in rings]
        new["segmentation"] = [rounded(ring) for ring in moved_rings]
        bounds, old_bounds = _bounds(moved_rings), _bounds(rings)
        shape_area = sum(area(ring) for ring in moved_rings)
    if "bbox" in old:
        x, y, w, h = old["bbox"]
        ring = box_ring(x, y, x + w, y + h)
        outline = placed.outline(checked(ring, size), motion, size)
        tight = old_bounds is not None and np.abs(old_bounds - (x, y, x + w, y + h)).max() <= TIGHT
        box = bounds if tight and bounds is not None else _bounds([outline])
        new["bbox"] = rounded(np.concatenate([box[:2], box[2:] - box[:2]]))
        if shape_area is None and "area" in old:
            grown = area(outline) / area(ring) if w * h else 1.0
            is_box = abs(old["area"] - w * h) <= 1e-3 * max(w * h, 1)
            shape_area = float(np.prod(box[2:] - box[:2])) if is_box else old["area"] * grown
    if "area" in old:
        new["area"] = rounded(old["area"] if shape_area is None else shape_area)
    if "keypoints" in old:
        new["keypoints"] = _keypoints(old["keypoints"], motion, size, placed)
        new["num_keypoints"] = sum(v > 0 for v in new["keypoints"][2::3])
    return new


def _keypoints(flat: list[float], motion: Motion, size: Size, placed: Placed) -> list[float]:
    """x, y, visibility; a point that has left the picture becomes 0, 0, 0 as COCO asks."""
    triples = np.reshape(flat, (-1, 3)).astype(float)
    labelled = triples[:, 2] > 0
    points = placed.points(checked(triples[labelled, :2], size), motion, size)
    inside = ((points >= 0) & (points <= size)).all(1)
    triples[labelled, :2] = points
    triples[np.flatnonzero(labelled)[~inside]] = 0
    return rounded(triples.ravel())


def _bounds(rings: list[np.ndarray]) -> np.ndarray:
    points = np.concatenate(rings)
    return np.concatenate([points.min(0), points.max(0)])


def _mask_box(mask: np.ndarray) -> np.ndarray | None:
    if not mask.any():
        return None
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], float)
