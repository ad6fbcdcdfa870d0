"""One radiograph file as a tensor, as every method and attacker takes it."""

from pathlib import Path

import torch
from torch import Tensor

from anonymize.errors import DataError
from anonymize.release.decode import picture
from anonymize.release.formats import recognise
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.reasons import Refused


def read(path: str | Path) -> Tensor:
    """The radiograph in a PNG, JPEG, TIFF or DICOM file, float32 (1, 1, H, W) in [0, 1].

    It is upright and at its own size, dense tissue bright: what a viewer shows, of DICOM through
    the first window or table (PS3.3 C.11.2), MONOCHROME1 turned to MONOCHROME2. Colour becomes
    gray. The file is opened in this process, without the limits of `anonymize apply`.

    Raises:
        DataError: no such file, or none that holds one radiograph; its name is not repeated.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"path must be a file of at most {MAX_BYTES >> 20} MiB")
        data = path.read_bytes()
        radiograph = picture(recognise(path.name, data), data)
    except OSError as error:
        raise DataError(f"path must be a file that can be read ({type(error).__name__})") from None
    except Refused as error:
        raise DataError(f"path holds no radiograph that can be read: {error}") from None
    return torch.tensor(radiograph.gray())[None, None]
