"""The built-in procedural radiographs: no files, no root, the same for everyone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anonymize.data.image_files import resize
from anonymize.data.table import COLUMNS, Table
from anonymize.errors import DataError
from anonymize.fingerprint import fingerprint
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


def read(options: DataOptions, root: Path | None) -> Table:
    """The phantom's cohort of ``options.patients`` with ``options.images`` radiographs."""
    from anonymize.data import phantom

    if root is not None:
        raise DataError(
            "source phantom draws its images and reads no folder: leave --root out, "
            "or name the data set's reader with --source"
        )
    drawn = {"patients": options.patients, "images": options.images, "seed": options.phantom_seed}
    frame = phantom.cohort(**drawn)
    frame = frame.assign(path="", identified=True, part="")
    labels = tuple(phantom.LABELS)
    program = sorted(Path(phantom.__file__).parent.glob("*.py"))
    return Table(
        source="phantom",
        frame=frame[[*COLUMNS, *labels]].reset_index(drop=True),
        labels=labels,
        load=Drawing(options.phantom_seed),
        # a cache must not outlive the program that drew it
        fingerprint=fingerprint("phantom", drawn, program),
    )
