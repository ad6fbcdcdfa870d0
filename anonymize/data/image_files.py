"""Gray images from files, resized, one by one or in several processes.

Arrays are (H, W), uint8 or uint16, over the full range of the type. This module is what reading
processes import: it stays light.
"""

import multiprocessing
import os
import signal
import struct
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from PIL import Image
from PIL.TiffImagePlugin import TiffImageFile

from anonymize.errors import DataError

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
_FORMATS = ("PNG", "JPEG", "TIFF")
Load = Callable[[Any, int], np.ndarray]  # a row of the source's columns, and the size
Result = tuple[int, np.ndarray | str]
_FEW = 64  # images that are sooner read than processes are started
_TASK_BYTES = 2**22
_PHOTOMETRIC = 262  # TIFF tag PhotometricInterpretation; 0 is WhiteIsZero


def read_gray(path: str | Path) -> np.ndarray:
    """The gray image (H, W), uint8 or uint16, in a PNG, JPEG or TIFF file of any suffix.

    Colour, palette and transparency become gray as Pillow's mode "L" does it (transparency is
    dropped); gray images of 16 bits keep them.

    Raises DataError: absent, truncated, another format, several frames, larger than Pillow's limit
    against decompression bombs, or numbers that are not 8- or 16-bit gray values. The message does
    not name the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=_FORMATS) as image:
                return _gray(image)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise DataError(
            f"the image has more than {Image.MAX_IMAGE_PIXELS} pixels, the limit against "
            "decompression bombs"
        ) from None
    except FileNotFoundError:
        raise DataError("the file is not there") from None
    except PermissionError:
        raise DataError("the file may not be read") from None
    except Image.UnidentifiedImageError:
        raise DataError("the file is no PNG, JPEG or TIFF image") from None
    except DataError:
        raise
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error):
        raise DataError("the file is damaged or truncated") from None


def _gray(image: Image.Image) -> np.ndarray:
    if image.format == "TIFF" and getattr(image, "n_frames", 1) > 1:
        raise DataError("the file holds several frames; give one image a file")
    if image.mode.startswith("I;16"):
        pixels = np.asarray(image).astype(np.uint16)
        # Pillow inverts WhiteIsZero for 8 bits only.
        inverted = isinstance(image, TiffImageFile) and image.tag_v2.get(_PHOTOMETRIC) == 0
        return 65535 - pixels if inverted else pixels
    if image.mode == "I":
        pixels = np.asarray(image)
        if pixels.min() < 0 or pixels.max() > 65535:
            raise DataError("the gray values do not fit 16 bits; convert them to 0 … 65535")
        return pixels.astype(np.uint16)
    if image.mode == "F":
        raise DataError("the gray values are floating-point; convert them to 8 or 16 bits")
    return np.array(image.convert("L"))


def resize(array: np.ndarray, size: int | tuple[int, int]) -> np.ndarray:
    """The image squeezed to a square (size, size), or to (height, width), by Pillow's bilinear
    filter, type unchanged."""
    height, width = (size, size) if isinstance(size, int) else size
    if array.shape == (height, width):
        return array
    if array.dtype == np.uint8:
        image = Image.fromarray(array)
        return np.array(image.resize((width, height), Image.Resampling.BILINEAR))
    # Pillow filters 16-bit images byte by byte in some versions; "F" is exact in all.
    image = Image.fromarray(array.astype(np.float32))
    resized = np.asarray(image.resize((width, height), Image.Resampling.BILINEAR))
    return np.clip(np.rint(resized), 0, 65535).astype(np.uint16)


def load_file(row: Any, size: int) -> np.ndarray:
    """``Table.load`` of every source that has files: the image at ``row.path``, resized."""
    return resize(read_gray(row.path), size)


@contextmanager
def reading(
    load: Load, records: list[dict[str, object]], *, size: int, workers: int
) -> Iterator[Callable[[np.ndarray], Iterator[Result]]]:
    """``read(rows)`` gives (row, image) or (row, why there is none) in any order.

    ``records`` are the table's columns, one dict a row. With one of the ``workers``, or few images,
    they are read in this process. DataError where a reading process died.
    """
    if workers == 1 or len(records) < _FEW:
        yield lambda rows: (
            (int(row), result) for row in rows for result in _load(load, [records[row]], size)
        )
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_process)

    def read(rows: np.ndarray) -> Iterator[Result]:
        step = int(np.clip(_TASK_BYTES // size**2, 1, 16))
        tasks = iter([rows[start : start + step] for start in range(0, len(rows), step)])
        running: dict[Future[list[np.ndarray | str]], np.ndarray] = {}
        while True:
            while len(running) < 4 * workers and (task := next(tasks, None)) is not None:
                running[pool.submit(_load, load, [records[row] for row in task], size)] = task
            if not running:
                return
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                yield from zip(running.pop(done).tolist(), done.result(), strict=True)

    try:
        # A script without a main guard runs again in each process; it fails here, at once.
        pool.submit(int).result()
        yield read
    except BrokenProcessPool:
        raise DataError(
            "a process that reads images died; a script must call this under "
            'if __name__ == "__main__":, or with workers=1 (--workers 1, if memory ran out)'
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _load(load: Load, records: list[dict[str, object]], size: int) -> list[np.ndarray | str]:
    """Images of the rows, or why there is none; runs in the reading processes."""
    results: list[np.ndarray | str] = []
    for record in records:
        try:
            results.append(load(SimpleNamespace(**record), size))
        except DataError as error:
            results.append(str(error))
    return results


def _start_process() -> None:
    # Ctrl-C reaches the whole group of processes; the one that writes decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """End with the process that started this one, should that be killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
