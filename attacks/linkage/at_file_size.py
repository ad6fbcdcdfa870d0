"""What a method makes of training images at the resolution of the files that are attacked.

Cells of DP-Pix, the grain of noise, the width of a filter are so many pixels of the file that a
method is given. An attacker looks at files reduced to its own size, where cells of 8 px of 512 are
cells of 1 px of 64: one that learns from images released at its own size learns another method. So
each training image is brought to the size of one of the files, released there, rounded to gray
levels, and reduced as the files are.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anonymize import whole_file
from anonymize.data.batches import HeldImages
from anonymize.data.dataset import Dataset
from anonymize.data.image_files import Load, reading, resize
from anonymize.data.table import COLUMNS
from anonymize.display import Display, counter
from anonymize.seeds import derive_seed
from anonymize.set_anonymizer import SetAnonymizer
from attacks.knowledge.set_release import Released, released_by
from attacks.linkage.embeddings import Report, stored_embeddings

BATCH = 64  # images between two notes of how many are done
Size = tuple[int, int]  # height, width


def released_as_files(
    model: Callable[[Tensor], Tensor],
    data: Dataset,
    sizes: Sequence[Size],
    kept: Path,
    *,
    rows: np.ndarray | None = None,
    progress: Report,
) -> HeldImages:
    """What ``model`` makes of the images of ``data`` at the sizes of files, at the size of
    ``data``; each image gets the size of a file that chance names, always the same.

    Args:
        model: gives images (1, 1, H, W) on the CPU of such.
        sizes: of the files; none are known: the images are released at the size they have.
        rows: of the images; the others are black. None: all.
        kept: a ``.npy`` file that holds them from the first call on, since random numbers of a
            method are others each time; a call that was stopped is continued.

    Returns:
        uint8 (N, 1, S, S), or float32 in [0, 1] where images of ``data`` have 16 bits.
    """
    kind, side, count = data.images.dtype, data.images.size, len(data.table)
    wanted = np.arange(count) if rows is None else rows
    top = np.iinfo(kind).max
    rng = np.random.default_rng(derive_seed(0, "size of a file"))
    chosen = [(sizes or [(side, side)])[i] for i in rng.integers(len(sizes) or 1, size=count)]
    with _read_at(data, chosen) as read:

        @torch.no_grad()
        def released(some: np.ndarray) -> np.ndarray:
            rows = wanted[some]
            images, made = dict(read(rows)), np.empty((len(rows), side, side), np.float32)
            for image, row in zip(made, rows.tolist(), strict=True):
                levels = images[row].astype(np.float32) / np.iinfo(images[row].dtype).max
                shown = model(torch.from_numpy(levels)[None, None])[0, 0]
                image[:] = resize((shown.numpy() * top).round().astype(kind), side)
            return made.reshape(len(rows), -1)

        found = stored_embeddings(
            kept,
            released,
            shape=(len(wanted), side * side),
            made_from=kept.name,
            batch=BATCH,
            progress=progress,
        )
    levels = np.asarray(found).reshape(-1, 1, side, side)
    pixels = np.zeros((count, 1, side, side), np.uint8 if kind == np.uint8 else np.float32)
    pixels[wanted] = levels if kind == np.uint8 else levels / np.float32(top)
    return HeldImages(torch.from_numpy(pixels))


def sets_as_files(
    model: SetAnonymizer, data: Dataset, sizes: Sequence[Size], kept: Path, *, display: Display
) -> Released:
    """What a method that sees many images makes of each part of ``data``, at the longest side of
    most files, which are outputs of one size, and then at the size of ``data``; other arguments as
    of :func:`released_as_files`."""
    if kept.is_file():
        return Released.read(kept)
    side, kind = data.images.size, data.images.dtype
    sides = Counter(map(max, sizes))
    usual = max(sides, key=lambda one: (sides[one], one), default=side)
    options = data.options.model_copy(update={"size": usual})
    prepared = counter(display, "preparing images")
    large = data if options.size == side else Dataset.open(options, prepared)
    display.at("putting images together")
    made = released_by(model, large, device=torch.device("cpu"), bits=8 * kind.itemsize)
    images, top = made.pixels[:, 0].numpy(), np.iinfo(kind).max
    whole = kind == np.uint8  # else gray levels are parts of the largest
    small = [resize(i if whole else (i * top).round().astype(kind), side) for i in images]
    pixels = np.stack(small) if whole else np.stack(small) / np.float32(top)
    told = made.there, made.contributors, made.parts, made.labels, made.image
    found = Released(torch.from_numpy(pixels)[:, None], *told)
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with TemporaryDirectory(dir=kept.parent) as private:  # it says who is in an output
        written = Path(private, kept.name)
        found.write(written)
        written.chmod(0o600)
        whole_file.publish(written, kept)
    return found


@contextmanager
def _read_at(
    data: Dataset, sizes: Sequence[Size]
) -> Iterator[Callable[[np.ndarray], Iterator[tuple[int, np.ndarray]]]]:
    """``read(rows)`` gives (row, image), in any order, from its own file at the size of ``sizes``;
    one that is drawn, and one whose file is gone, from the cache."""
    frame, images = data.table.frame, data.images

    def cached(row: int) -> np.ndarray:
        return resize(images.array(np.array([row]))[0], sizes[row])

    if set(sizes) == {(images.size,) * 2} or not frame["path"].astype(bool).all():
        yield lambda rows: ((row, cached(row)) for row in rows.tolist())
        return
    records = [
        {**record, "file_size": size}
        for record, size in zip(frame[list(COLUMNS)].to_dict("records"), sizes, strict=True)
    ]
    load, largest = partial(_load_at, data.table.load), max(map(max, sizes))
    with reading(load, records, size=largest, workers=data.options.workers) as read:
        yield lambda rows: (
            (row, cached(row) if isinstance(image, str) else image) for row, image in read(rows)
        )


def _load_at(load: Load, row: Any, size: int) -> np.ndarray:
    """The image of a row at the size of a file; runs in the reading processes."""
    return resize(load(row, max(row.file_size)), row.file_size)
