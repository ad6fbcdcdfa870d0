"""Images cropped to the lungs, whose boxes a file gives (Schmahl et al. 2025)."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from anonymize.data.batches import in_batches
from anonymize.errors import DataError
from attacks.attacker import ImageSet, unit_float

BATCH = 256
COLUMNS = ("image_id", "left", "top", "right", "bottom")
Box = tuple[str, np.ndarray]  # image id; left, top, right, bottom


class LungCrop:
    """Crops images by their numbers; an image without a box stays whole.

    Args:
        boxes: (rows of the table, 4): left, top, right, bottom as shares of width and height; NaN
            where there is none.
        margin: added on each side, as a share of the box's side.
    """

    def __init__(self, boxes: np.ndarray, *, margin: float) -> None:
        side = np.tile(boxes[:, 2:] - boxes[:, :2], 2) * margin
        grown = np.clip(boxes + side * [-1, -1, 1, 1], 0, 1)
        whole = np.array([0.0, 0.0, 1.0, 1.0])
        self._boxes = np.where(np.isnan(grown).any(axis=1, keepdims=True), whole, grown)

    def __call__(self, images: ImageSet) -> ImageSet:
        """The boxes, each enlarged to the size of the images (N, 1, H, W), in their type."""
        rows = np.arange(len(images))
        parts = [
            _cropped(images.images[batch], self._boxes[images.owners.image[batch]])
            for batch in in_batches(rows, BATCH)
        ]
        return ImageSet(torch.cat(parts), images.owners)


def read_boxes(path: Path, image_ids: Sequence[str]) -> np.ndarray:
    """float64 (n, 4), shares of width and height, NaN where the file has no box of an image; of
    several boxes (two lungs) what spans them all.

    Args:
        path: COCO JSON whose ``file_name`` is the image id or ends in it; or CSV with the columns
            ``image_id, left, top, right, bottom`` in shares of width and height.

    Raises:
        DataError: not readable, of another form, a box that is none, or no image of the data.
    """
    found = np.full((len(image_ids), 4), np.nan)
    numbers = {name: i for i, name in enumerate(image_ids)}
    try:
        entries = list(_coco(path) if path.suffix.lower() == ".json" else _csv(path))
    except OSError as error:
        raise DataError(f"lung boxes cannot be read ({type(error).__name__})") from None
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise DataError(
            "lung boxes must be COCO JSON (images with file_name, width and height; annotations "
            f"with image_id and bbox) or CSV with the columns {', '.join(COLUMNS)}"
        ) from None
    for name, box in entries:
        if not (np.isfinite(box).all() and (box[:2] < box[2:]).all()):
            raise DataError(
                "a lung box must have left < right and top < bottom; mend the file of boxes"
            )
        row = numbers.get(name, numbers.get(name.rpartition("/")[2]))
        if row is not None:
            found[row, :2] = np.fmin(found[row, :2], box[:2])
            found[row, 2:] = np.fmax(found[row, 2:], box[2:])
    if np.isnan(found).all():
        raise DataError("the file of lung boxes names no image of the data set")
    return found


def _coco(path: Path) -> Iterator[Box]:
    listing = json.loads(path.read_text(encoding="utf-8"))
    images = {image["id"]: image for image in listing["images"]}
    for annotation in listing["annotations"]:
        image = images[annotation["image_id"]]
        x, y, width, height = annotation["bbox"]
        size = np.array([image["width"], image["height"]] * 2, float)
        yield str(image["file_name"]), np.array([x, y, x + width, y + height]) / size


def _csv(path: Path) -> Iterator[Box]:
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield row["image_id"], np.array([float(row[column]) for column in COLUMNS[1:]])


def _cropped(images: Tensor, boxes: np.ndarray) -> Tensor:
    low, high = torch.from_numpy(boxes).float().split(2, dim=1)
    # From the output's [−1, 1] to the box within the input's
    theta = torch.diag_embed(high - low)
    theta = torch.cat([theta, (low + high - 1).unsqueeze(2)], dim=2)
    grid = F.affine_grid(theta, list(images.shape), align_corners=False).to(images.device)
    floats = unit_float(images)
    crops = F.grid_sample(floats, grid, padding_mode="border", align_corners=False)
    if images.dtype == torch.uint8:
        return (crops * 255).round().to(torch.uint8)
    return crops
