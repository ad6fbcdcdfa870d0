"""What a person sees of a file: its pixels as they are stored, decoded by a worker."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from anonymize.release import decode, intake, listing, storage
from anonymize.release.archives import Found
from anonymize.release.radiograph import MAX_BYTES, Radiograph
from anonymize.release.reasons import Reason, Refused
from anonymize.release.review.session import Session
from anonymize.release.workers.worker_pool import WorkerPool

MOST_PIXELS = 16_000_000  # that are shown; larger pictures are shrunk
DARK, BRIGHT = 0.01, 0.99  # of what a viewer shows: the ends of a DICOM file's first window


@dataclass(frozen=True)
class View:
    """Pixels (height, width, channels) of 8 or 16 bits, bright where a viewer shows bright.

    What is ``low`` or less is shown black, ``high`` or more white, unless somebody changes that.
    ``shrunk`` pixels of the file, across and down, are one of these.
    """

    values: np.ndarray
    low: int
    high: int
    shrunk: int


def view(name: str, data: bytes) -> View:
    """What ``data``, a file called ``name``, shows; done by a worker. Raises Refused: it cannot be
    decoded."""
    radiograph = decode.picture(name, data)
    values, shrunk = radiograph.pixels, 1
    while -(-values.shape[0] // shrunk) * -(-values.shape[1] // shrunk) > MOST_PIXELS:
        shrunk += 1
    low, high = _window(radiograph)
    if radiograph.layout == "cmyk":
        ink = 1 - values.astype(np.float32) / radiograph.top
        values, low, high = np.round(255 * ink[..., :3] * ink[..., 3:]).astype(np.uint8), 0, 255
    elif radiograph.gray_as_colour:
        values = values[..., :1]
    return View(_shrunk(values, shrunk), low, high, shrunk)


def _window(radiograph: Radiograph) -> tuple[int, int]:
    """The values that are shown black and white."""
    shown = radiograph.brightness
    if shown is not None:
        low = int(np.searchsorted(shown, DARK, "right")) - 1
        high = int(np.searchsorted(shown, BRIGHT))
        return max(low, 0), min(max(high, low + 1), radiograph.top)
    if radiograph.bits > 8:
        return int(radiograph.pixels.min()), int(radiograph.pixels.max())
    return 0, radiograph.top


def _shrunk(values: np.ndarray, times: int) -> np.ndarray:
    """``values`` (H, W, C), means of ``times``² pixels each; the last rows and columns may go."""
    if times == 1:
        return np.ascontiguousarray(values)
    height, width = (side // times for side in values.shape[:2])
    blocks = values[: height * times, : width * times].reshape(height, times, width, times, -1)
    return np.round(blocks.mean((1, 3))).astype(values.dtype)


class Pictures:
    """The files of a session, each exactly the one that the journal names."""

    def __init__(self, session: Session, pool: WorkerPool) -> None:
        self._session, self._pool = session, pool
        self._places = session.journal.places
        self._archive = lru_cache(maxsize=4)(self._entries)

    def output(self, number: int) -> View:
        """An output, wherever it waits. Raises Refused: it is gone, is another one, or cannot be
        decoded."""
        entry, journal = self._session.entry(number), self._session.journal
        folder = journal.folder(entry)
        try:
            data, _ = storage.read_regular(folder / entry.output, MAX_BYTES, folder)
        except OSError as error:
            raise Refused(Reason.VANISHED, type(error).__name__) from None
        return self._view(entry.output, data, entry.output_sha256)

    def input(self, number: int, which: int) -> View:
        """One of the files that an output was made of. Raises Refused: as ``output``."""
        path, sha256 = self._session.inputs(number)[which]
        data, _ = intake.contents(self._found(path), self._places, self._pool)
        return self._view(path, data, sha256)

    def _view(self, name: str, data: bytes, sha256: str) -> View:
        if hashlib.sha256(data).hexdigest() != sha256:
            raise Refused(Reason.CHANGING)
        return self._pool.call(view, name, data)

    def _found(self, path: str) -> Found:
        """Where an input is, which may lie in an archive."""
        parts = path.split("/")
        for count in range(1, len(parts)):
            above = "/".join(parts[:count])
            if above.lower().endswith(".zip") and (self._places.root / above).is_file():
                return self._archive(above).get(path, Found(path))
        return Found(path)

    def _entries(self, archive: str) -> dict[str, Found]:
        entries = listing.opened(Found(archive), self._places, self._pool)
        return {found.path: found for found in entries}
