"""The built-in radiographs of the tests: phantoms, every patient with equally many images.

Where patients have different numbers of images, those with many make more genuine pairs. A score
that depends on the gallery image alone, as any score of pure noise does, then has an AUC other than
0.5 without knowing anything about the probe. With equal numbers chance is 0.5.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from anonymize.data.cache import prepare
from anonymize.data.dataset import Dataset
from anonymize.data.phantom.course import MOST_FOLLOW_UPS
from anonymize.data.sources.registry import read
from anonymize.data.splits import assign
from anonymize.data.table import PARTS
from anonymize.errors import UsageError
from anonymize.options import DataOptions
from anonymize.seeds import derive_seed

FRACTIONS = (0.6, 0.1, 0.3)  # of the patients: training, validation, test
FEWEST = 20  # patients


def cohort(
    options: DataOptions, progress: Callable[[int, int], None] = lambda done, total: None
) -> Dataset:
    """``data.patients`` phantom patients with ``data.images / data.patients`` images each.

    Raises UsageError: another source, too few patients, or a number of images that is no multiple
    of 2 to 12 times their number."""
    each, rest = divmod(options.images, options.patients)
    if options.source != "phantom":
        raise UsageError(
            f"attacks check draws its images: data.source is phantom, not a folder's "
            f"{options.source}"
        )
    if options.patients < FEWEST or rest or not 2 <= each <= MOST_FOLLOW_UPS:
        raise UsageError(
            f"attacks check needs {FEWEST} patients or more, with 2 to {MOST_FOLLOW_UPS} images "
            f"each; got {options.patients} patients with {options.images} images in all"
        )
    whole = read(options.model_copy(update={"images": MOST_FOLLOW_UPS * options.patients}))
    table = whole.with_frame(whole.frame[whole.frame["follow_up"] < each])
    table = assign(table, seed=options.split_seed, fractions=FRACTIONS)
    table, images = prepare(table, options, progress)
    return Dataset(table, images, table.targets(np.arange(len(table))), options)


def relabelled(data: Dataset, *, seed: int) -> Dataset:
    """The same images with the patients of each part dealt out anew: nobody is in two parts, every
    patient has as many images as before, and no two images of one name need show one person."""
    patients = data.table.frame["patient_id"].to_numpy(object).copy()
    for part in PARTS:
        rows = data.table.part(part)
        rng = np.random.default_rng(derive_seed(seed, part))
        patients[rows] = rng.permutation(patients[rows])
    return replace(data, table=data.table.with_frame(data.table.frame.assign(patient_id=patients)))


def as_files(data: Dataset, folder: Path, *, alike: bool = False) -> Dataset:
    """The same images with a file each in ``folder``, of a size of its own or ``alike``; what they
    show is nothing."""
    folder.mkdir(parents=True)
    paths = [folder / f"{row}.png" for row in range(len(data.table))]
    for row, path in enumerate(paths):
        Image.new("L", (1 if alike else 1 + row, 1)).save(path)
    frame = data.table.frame.assign(path=[str(path) for path in paths])
    return replace(data, table=data.table.with_frame(frame))
