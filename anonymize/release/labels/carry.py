"""The labels of one image → files and records of its output. Pure; done by a worker."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anonymize.release.labels import coco, likeness, masks, table
from anonymize.release.labels.motion import Motion, same_shape
from anonymize.release.labels.outlines import drawn
from anonymize.release.labels.placed import Placed
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused

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


def carry(job: Job, displacement: np.ndarray | None, image: Radiograph) -> Carried:
    """The labels of an image that ``displacement`` (2, H, W) px has moved.

    Raises:
        Refused: one of them cannot be carried over, or they show the image itself; or it was
            turned by its Exif orientation, so that it is not known what their coordinates mean.
    """
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
        maps.append(mask.values)
        moved = mask.with_values(np.ascontiguousarray(motion.pull(mask.values)))
        data = masks.encode(moved)
        masks.check(moved, data)
        made[file.source, file.path] = data
    records = {}
    for number, labels in job.parts.items():
        records[number], placed[str(number)] = CARRIERS[labels["kind"]](labels, motion)
        more_runs, more_shapes = drawn(labels, size)
        runs += more_runs
        shapes += more_shapes
    likeness.check_unlike(image.gray(), maps, runs, shapes)
    return Carried(made, records, placed)
