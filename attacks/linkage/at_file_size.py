"""What a method makes of training images at the resolution of the files that are attacked.

Cells of DP-Pix, the grain of noise, the width of a filter are so many pixels of the file that a
method is given. An attacker looks at files reduced to its own size, where cells of 8 px of 512 are
cells of 1 px of 64: one that learns from images released at its own size learns another method. So
each training image is brought to the size of one of the files, released there, rounded to gray
levels, and reduced as the files are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from anonymize import whole_file
from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages
from anonymize.data.dataset import Dataset
from anonymize.data.image_files import Load, reading, resize
from anonymize.data.released import released_images
from anonymize.data.table import COLUMNS
from anonymize.seeds import derive_seed

Size = tuple[int, int]  # height, width
Report = Callable[[int, int], None]


def released_as_files(
    model: Anonymizer,
    data: Dataset,
    sizes: Sequence[Size],
    kept: Path,
    *,
    device: torch.device,
    progress: Report,
) -> HeldImages:
    """What ``model`` makes of every image of ``data`` at the sizes of files, at the size of
    ``data``; each image gets the size of a file that chance names, always the same.

    Args:
        sizes: of the files; none are known: the images are released at the size they have.
        kept: a ``.npy`` file that holds them from the first call on, since random numbers of a
            method are others each time.

    Returns:
        uint8 (N, 1, S, S), or float32 in [0, 1] where images of ``data`` have 16 bits.
    """
    if kept.is_file():
        return HeldImages(torch.from_numpy(np.load(kept)))
    if set(sizes) <= {(data.images.size,) * 2}:
        bits = 8 * data.images.dtype.itemsize
        held = released_images(model, data.images, device=device, bits=bits, progress=progress)
    else:
        held = HeldImages(_one_by_one(model, data, sizes, device, progress))
    with whole_file.replacing(kept) as path, path.open("wb") as file:
        np.save(file, held.pixels.numpy())
    return held


@torch.no_grad()
def _one_by_one(
    model: Anonymizer,
    data: Dataset,
    sizes: Sequence[Size],
    device: torch.device,
    progress: Report,
) -> torch.Tensor:
    kind, side = data.images.dtype, data.images.size
    top = np.iinfo(kind).max
    made = np.empty((len(data.table), 1, side, side), kind)
    for done, (row, image) in enumerate(_at_sizes(data, sizes), start=1):
        levels = image.astype(np.float32) / np.iinfo(image.dtype).max
        released = model(torch.from_numpy(levels)[None, None].to(device)).cpu()[0, 0]
        made[row, 0] = resize((released.numpy() * top).round().astype(kind), side)
        progress(done, len(made))
    found = torch.from_numpy(made) if kind == np.uint8 else torch.from_numpy(made / np.float32(top))
    return found


def _at_sizes(data: Dataset, sizes: Sequence[Size]) -> Iterator[tuple[int, np.ndarray]]:
    """Every image by row, in any order, from its own file at a size of ``sizes``."""
    frame, images = data.table.frame, data.images
    rng = np.random.default_rng(derive_seed(0, "size of a file"))
    chosen = [sizes[i] for i in rng.integers(len(sizes), size=len(frame))]
    if not frame["path"].astype(bool).all():  # drawn: at the size of a file that takes long
        yield from ((row, resize(images.array([row])[0], s)) for row, s in enumerate(chosen))
        return
    records = [
        {**record, "file_size": size}
        for record, size in zip(frame[list(COLUMNS)].to_dict("records"), chosen, strict=True)
    ]
    load, largest = partial(_load_at, data.table.load), max(map(max, sizes))
    with reading(load, records, size=largest, workers=data.options.workers) as read:
        for row, image in read(np.arange(len(records))):
            if isinstance(image, str):  # it could be read when it was cached
                image = resize(images.array([row])[0], chosen[row])
            yield row, image


def _load_at(load: Load, row: Any, size: int) -> np.ndarray:
    """The image of a row at the size of a file; runs in the reading processes."""
    return resize(load(row, max(row.file_size)), row.file_size)
