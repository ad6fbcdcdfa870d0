"""COCO JSON: boxes, polygons, run lengths and keypoints of many images in one file.

Only named fields are taken over: of an image file_name, width, height; of an annotation
category_id, bbox, segmentation, area, iscrowd, keypoints; of a category in use id, name, and the
names and skeleton of its keypoints. Ids are counted anew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from anonymize.errors import DataError
from anonymize.release.labels import rle
from anonymize.release.labels.motion import MAX_SIDE, Motion, Size, area, same_shape
from anonymize.release.labels.placed import Placed, checked, outline, rounded
from anonymize.release.labels.texts import class_name
from anonymize.release.reasons import Reason, Refused

LARGEST_CATEGORY = 999  # larger ids of categories are counted anew
TIGHT = 1.0  # pixels: a box that is this near to its outline's is the outline's box


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


Id = Annotated[int, Field(ge=0, lt=1 << 63)]
Side = Annotated[int, Field(ge=1, le=MAX_SIDE)]


class _Image(_Part):
    id: Id
    file_name: str = Field(min_length=1)
    width: Side | None = None
    height: Side | None = None


class _Runs(_Part):
    size: tuple[int, int] = Field(strict=False)
    counts: list[int] | str


class _Annotation(_Part):
    id: Id
    image_id: Id
    category_id: Id | None = None
    bbox: list[FiniteFloat] | None = Field(None, min_length=4, max_length=4)
    segmentation: list[list[FiniteFloat]] | _Runs | None = None
    area: FiniteFloat | None = Field(None, ge=0)
    iscrowd: int | None = Field(None, ge=0, le=1)
    keypoints: list[FiniteFloat] | None = None


class _Category(_Part):
    id: Id
    name: str
    keypoints: list[str] | None = None
    skeleton: list[Annotated[list[int], Field(min_length=2, max_length=2)]] | None = None


class _File(_Part):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category] = []


@dataclass(frozen=True)
class Coco:
    """A COCO file as a source of labels: plain values, images with their annotations."""

    number: int
    images: list[dict[str, Any]]
    categories: list[dict[str, Any]]
    kind: ClassVar[str] = "coco"

    def emptied(self) -> Coco:
        """The same without labels: what :meth:`assembled` needs."""
        return replace(self, images=[])

    def references(self) -> list[tuple[int, str]]:
        """(place in the file, file_name) of every image."""
        return [(place, image["file_name"]) for place, image in enumerate(self.images)]

    def labels_of(self, keys: list[int]) -> dict[str, Any]:
        """What belongs to one image, plain values. Raises DataError: two entries for one image."""
        if len(keys) > 1:
            raise _error(self.number, "images", "two entries for one image")
        image = self.images[keys[0]]
        return {"kind": self.kind, **{k: v for k, v in image.items() if k != "file_name"}}

    @staticmethod
    def mask_paths(labels: dict[str, Any]) -> list[str]:
        """Mask files that the labels of one image name: none."""
        return []

    @staticmethod
    def item(labels: dict[str, Any]) -> str:
        """How the private list names the labels of one image."""
        ids = ", ".join(str(a["id"]) for a in labels["annotations"])
        return f"image {labels['id']}" + (f": annotations {ids}" if ids else "")

    def head(self, labels: dict[str, Any]) -> list[Any]:
        """What of the file goes with the labels of one image: the categories that they use."""
        used = {a.get("category_id") for a in labels["annotations"]}
        return [c for c in self.categories if c["id"] in used]

    def texts(self, labels: dict[str, Any]) -> set[str]:
        """Names that are released with the labels of one image."""
        return {n for c in self.head(labels) for n in (c["name"], *c.get("keypoints", ()))}

    def assembled(self, released: list[tuple[str, dict[str, Any]]], *, renumber: bool) -> bytes:
        """The file of the released images, (output path, carried labels) in the order given.

        Ids are counted anew, since an old one may tell who it is; of categories only those in use
        are named, as they were when labels were carried over, under their own numbers where all of
        these are small and have one meaning (``renumber`` or not).
        """
        heads = [s.get("head", self.head(s)) for _, s in released]
        said = [{c["id"]: json.dumps(c, sort_keys=True) for c in head} for head in heads]
        kinds = {  # of each annotation: number and meaning of its category
            (place, at): (a["category_id"], said[place].get(a["category_id"], ""))
            for place, (_, labels) in enumerate(released)
            for at, a in enumerate(labels["annotations"])
            if "category_id" in a
        }
        used = sorted(set(kinds.values()))
        small = len(dict(used)) == len(used) and (not used or used[-1][0] <= LARGEST_CATEGORY)
        category = {kind: kind[0] if small else new for new, kind in enumerate(used, 1)}
        images: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        for place, (output, labels) in enumerate(released):
            size = {k: labels[k] for k in ("width", "height")}
            images.append({"id": place + 1, "file_name": output, **size})
            for at, old in enumerate(labels["annotations"]):
                new = {**old, "id": len(annotations) + 1, "image_id": place + 1}
                if "category_id" in old:
                    new["category_id"] = category[kinds[place, at]]
                annotations.append(new)
        order = {c["id"]: n for n, c in enumerate(self.categories)}
        used.sort(key=lambda kind: order.get(kind[0], len(order)))
        named = [{**json.loads(told), "id": category[k, told]} for k, told in used if told]
        content = {"images": images, "annotations": annotations, "categories": named}
        return json.dumps(content, sort_keys=True).encode() + b"\n"


def parse(data: bytes, number: int) -> Coco:
    """The file ``data``, the ``number``-th of the labels, in its order; done by a worker. Raises
    DataError: not COCO, or an annotation that cannot be; the message quotes no value."""
    try:
        file = _File.model_validate(json.loads(data))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = " ".join(str(part) for part in first["loc"][:3]) or "the file"
        raise _error(number, where, first["msg"][:80]) from None
    except (ValueError, RecursionError):
        raise _error(number, "the file", "no JSON") from None
    categories = {c.id: _category(c, number) for c in file.categories}
    images = {image.id: image for image in file.images}
    if len(images) != len(file.images):
        raise _error(number, "images", "an id occurs twice")
    if len({a.id for a in file.annotations}) != len(file.annotations):
        raise _error(number, "annotations", "an id occurs twice")
    annotations: dict[int, list[dict]] = {i: [] for i in images}
    for place, annotation in enumerate(file.annotations):
        where = f"annotations {place}"
        if annotation.image_id not in images:
            raise _error(number, where, "image_id is not among the images")
        if problem := _problem(annotation, images[annotation.image_id]):
            raise _error(number, where, problem)
        annotations[annotation.image_id].append(annotation.model_dump(exclude_none=True))
    with_own = [
        {**i.model_dump(exclude_none=True), "annotations": annotations[i.id]} for i in file.images
    ]
    return Coco(number, with_own, list(categories.values()))


def _error(number: int, where: str, problem: str) -> DataError:
    what = f"--labels {number} is no COCO file that can be carried over"
    return DataError(f"{what}: {where}: {problem}; mend it")


def _category(category: _Category, number: int) -> dict[str, Any]:
    where = f"--labels {number}, a category"
    content: dict[str, Any] = {"id": category.id, "name": class_name(category.name, where)}
    points = category.keypoints
    if points is not None:
        content["keypoints"] = [class_name(name, where) for name in points]
    if category.skeleton is not None:
        if not all(1 <= k <= len(points or ()) for pair in category.skeleton for k in pair):
            raise _error(number, "a category", "a skeleton must join its keypoints, from 1 on")
        content["skeleton"] = category.skeleton
    return content


def _problem(annotation: _Annotation, image: _Image) -> str:
    """What is wrong with an annotation; "" for nothing."""
    shapes, points = annotation.segmentation, annotation.keypoints
    if (image.width is None) != (image.height is None):
        return "its image has a width without height"
    if isinstance(shapes, list) and any(len(ring) < 6 or len(ring) % 2 for ring in shapes):
        return "a polygon needs three points or more, as x, y pairs"
    if isinstance(shapes, _Runs):
        if image.width is not None and shapes.size != (image.height, image.width):
            return "a mask of another size than its image"
        try:
            rle.checked(shapes.model_dump())
        except ValueError:
            return "run lengths that do not fill the mask"
    if points is not None and (len(points) % 3 or not set(points[2::3]) <= {0, 1, 2}):
        return "keypoints must be x, y, visibility triples, visibility 0, 1 or 2"
    if annotation.bbox is not None and min(annotation.bbox[2:]) < 0:
        return "a box of negative width or height"
    return ""


def carry(labels: dict[str, Any], motion: Motion) -> tuple[dict[str, Any], Placed]:
    """The labels of one image where they lie in its output. Raises Refused: a size that cannot be
    the image's, coordinates outside it, or no inverse."""
    size = (labels.get("width", motion.size[0]), labels.get("height", motion.size[1]))
    if not same_shape(size, motion.size):
        raise Refused(Reason.LABELS, "COCO: width and height are not the image's")
    placed = Placed()
    annotations = [_carried(a, motion, size, placed) for a in labels["annotations"]]
    content = {"id": labels["id"], "width": size[0], "height": size[1]}
    return {**content, "annotations": annotations}, placed


def _carried(old: dict[str, Any], motion: Motion, size: Size, placed: Placed) -> dict[str, Any]:
    new: dict[str, Any] = {key: old[key] for key in ("category_id", "iscrowd") if key in old}
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
        ring = outline(old["bbox"], "extent")
        moved = placed.outline(checked(ring, size), motion, size)
        tight = old_bounds is not None and np.abs(old_bounds - (x, y, x + w, y + h)).max() <= TIGHT
        box = bounds if tight and bounds is not None else _bounds([moved])
        new["bbox"] = rounded(np.concatenate([box[:2], box[2:] - box[:2]]))
        if shape_area is None:
            shape_area = float(np.prod(box[2:] - box[:2]))
    if "area" in old and shape_area is not None:  # of nothing it is but a number
        new["area"] = rounded(shape_area)
    if "keypoints" in old:
        new["keypoints"] = _keypoints(old["keypoints"], motion, size, placed)
        new["num_keypoints"] = sum(v > 0 for v in new["keypoints"][2::3])
    return new


def _keypoints(flat: list[float], motion: Motion, size: Size, placed: Placed) -> list[float]:
    """x, y, visibility; a point that is not labelled, or has left the picture, is 0, 0, 0."""
    triples = np.reshape(flat, (-1, 3)).astype(float)
    labelled = triples[:, 2] > 0
    points = placed.points(checked(triples[labelled, :2], size), motion, size)
    inside = ((points >= 0) & (points <= size)).all(1)
    triples[labelled, :2] = points
    triples[~labelled] = 0
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
