"""Images that two collections share as they are: identical files and identical pixels, by hash."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from anonymize.data.batches import in_batches
from anonymize.fingerprint import sha256_file
from attacks.attackers.identical import pixel_digests
from attacks.linkage.album import Album
from attacks.linkage.any_file import read_levels

BATCH = 256
FILE, PIXELS = "file", "pixels"


def duplicates(first: Album, second: Album) -> dict[tuple[int, int], str]:
    """ "file" or "pixels" by (row of the first, row of the second).

    Pixels are compared at their own size, where they are equal after resizing. An image of one
    gray level throughout is nobody's, and equal to none.
    """
    rows = defaultdict(list)
    for row, digest in _digests(second).items():
        rows[digest].append(row)
    alike = [
        (row, other) for row, digest in _digests(first).items() for other in rows.get(digest, ())
    ]
    own, theirs = _of_files(first, {a for a, _ in alike}), _of_files(second, {b for _, b in alike})
    found: dict[tuple[int, int], str] = {}
    for a, b in alike:
        (file_a, whole_a), (file_b, whole_b) = own[a], theirs[b]
        if file_a and file_a == file_b:
            found[a, b] = FILE
        elif whole_a == whole_b:
            found[a, b] = PIXELS
    return found


def _digests(album: Album) -> dict[int, str]:
    """Of the resized pixels by row, but for images without any difference of gray."""
    found: dict[int, str] = {}
    for rows in in_batches(np.arange(len(album)), BATCH):
        images = album.images.batch(rows)
        shown = (images.amax((1, 2, 3)) > images.amin((1, 2, 3))).numpy()
        digests = pixel_digests(images)
        found |= dict(zip(rows[shown].tolist(), digests[shown].tolist(), strict=True))
    return found


def _of_files(album: Album, rows: set[int]) -> dict[int, tuple[str, str]]:
    """Digests of the file ("" where images are drawn) and of its pixels by row."""
    found = {}
    for row in rows:
        path = album.table.frame["path"].iloc[row]
        if not path:
            found[row] = "", pixel_digests(album.images.batch(np.array([row])))[0]
            continue
        pixels = read_levels(Path(path))
        levels = pixels.astype(np.float32) / np.iinfo(pixels.dtype).max
        whole = pixel_digests(torch.from_numpy(levels)[None, None])[0]
        found[row] = sha256_file(Path(path)), str(whole)
    return found
