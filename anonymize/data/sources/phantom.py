"""The built-in procedural radiographs: no files, no root, the same for everyone."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from anonymize.data.image_files import resize
from anonymize.data.table import COLUMNS, Table
from anonymize.errors import DataError
from anonymize.options import DataOptions

SMALLEST, LARGEST = 64, 1024  # sizes that are drawn; others are resized from the nearest


@dataclass(frozen=True)
class Drawing:
    """``Table.load`` of the phantom: draws the row's patient at its follow-up, uint8."""

    seed: int

    def __call__(self, row: Any, size: int) -> np.ndarray:
        from anonymize.data.phantom import draw

        drawn = min(max(size, SMALLEST), LARGEST)
        image = draw(
            seed=self.seed, patient_id=row.patient_id, follow_up=int(row.follow_up), size=drawn
        )
        return resize(np.rint(image * 255).astype(np.uint8), size)


def read(options: DataOptions) -> Table:
    """The phantom's cohort of ``options.patients`` with ``options.images`` radiographs.

    Raises:
        DataError: a root is given.
    """
    from anonymize.data.phantom import LABELS, cohort

    if options.root is not None:
        raise DataError(
            "source phantom draws its images and reads no folder: leave --root out, "
            "or name the data set's reader with --source"
        )
    frame = cohort(patients=options.patients, images=options.images, seed=options.phantom_seed)
    frame = frame.assign(path="", identified=True, part="")
    labels = tuple(LABELS)
    return Table(
        source="phantom",
        frame=frame[[*COLUMNS, *labels]].reset_index(drop=True),
        labels=labels,
        load=Drawing(options.phantom_seed),
        fingerprint=_fingerprint(options),
    )


def _fingerprint(options: DataOptions) -> str:
    who = [options.patients, options.images, options.phantom_seed]
    digest = hashlib.sha256(json.dumps(["phantom", who]).encode())
    # A cache must not outlive the program that drew it.
    package = files("anonymize.data.phantom")
    for module in sorted(package.iterdir(), key=lambda item: item.name):
        if module.name.endswith(".py"):
            digest.update(module.read_bytes())
    return digest.hexdigest()
