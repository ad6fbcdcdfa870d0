"""Gray levels of a radiograph's file of any kind that `anonymize apply` reads.

Reading processes import this module: it stays light.
"""

import stat
from pathlib import Path
from typing import Any

import numpy as np

from anonymize.data.image_files import read_gray, resize
from anonymize.errors import DataError
from anonymize.release.decode import picture
from anonymize.release.formats import PICTURES, recognise
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.reasons import Refused

HEAD = 1 << 20  # bytes that tell whether a file may be an image


def is_candidate(path: Path) -> bool:
    """Whether a file might hold a picture: anything but text and system files. One that cannot be
    read is a candidate, so that it is counted; so are a link that leads to no file and a folder."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            return stat.S_ISDIR(mode) or path.is_symlink()
        if path.suffix.lower() in PICTURES:
            return True
        with path.open("rb") as file:
            recognise(path.name, file.read(HEAD))
    except Refused as refused:
        return not refused.reason.left_out
    except OSError:
        pass
    return True


def read_levels(path: Path) -> np.ndarray:
    """(H, W) uint8 or uint16 over the full range, upright, bright where a viewer shows bright.

    What a release refuses and Pillow can read is read as data sets are.

    Raises DataError: it holds no radiograph; the file is not named."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataError("the file is larger than 1 GiB")
        data = path.read_bytes()
        radiograph = picture(recognise(path.name, data), data)
    except OSError as error:
        raise DataError(f"the file cannot be read ({type(error).__name__})") from None
    except Refused as refused:
        try:
            return read_gray(path)
        except DataError:
            raise DataError(refused.reason.meaning) from None
    deep = radiograph.bits > 8 or radiograph.brightness is not None
    kind = np.uint16 if deep else np.uint8
    return np.rint(radiograph.gray() * np.float32(np.iinfo(kind).max)).astype(kind)


def load_any(row: Any, size: int) -> np.ndarray:
    """``Table.load`` of files of any kind: the image at ``row.path``, resized."""
    return resize(read_levels(Path(row.path)), size)
