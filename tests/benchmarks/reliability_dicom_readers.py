"""Released DICOM files through other people's programs, where they are installed.

    python tests/benchmarks/reliability_dicom_readers.py [OUT.json]

dciodvfy (dicom3tools) and pydicom look for errors that the input did not have; pydicom, DCMTK and
GDCM read every file, and GDCM's and DCMTK's pixels must be those that were meant.
"""

import shutil
import subprocess
import sys
import tempfile
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from reliability import finish

# isort: split

import dicom_specimens as specimens
import pydicom
from dicom_specimens import capture, cr, dx, file, picture, with_pixels
from dicom_specimens import released as made_of

from anonymize.release.dicom.options import RETAINABLE

INPUTS = ("EXPLICIT", "IMPLICIT", "BIG_ENDIAN", "LOSSLESS_FIRST", "JPEG_LS", "JPEG_2000", "RLE")
IMAGES = [(cr, 10, False), (cr, 12, False), (dx, 14, False), (dx, 16, False), (dx, 12, True)]
IMAGES += [(capture, 8, False), (capture, 16, False)]
OPTIONS = [{}, {"retain": frozenset(RETAINABLE), "clean_descriptors": True}]


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def complaints(path: Path) -> set[str]:
    """Errors that dciodvfy finds."""
    done = run("dciodvfy", "-new", str(path))
    lines = (done.stdout + done.stderr).splitlines()
    return {line for line in lines if line.startswith("Error")}


def invalid(path: Path) -> set[str]:
    """Values that pydicom warns of while it reads all of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        str(pydicom.dcmread(path))
    return {str(w.message) for w in caught}


def by_gdcm(path: Path, folder: Path) -> np.ndarray:
    raw = folder / "raw.dcm"
    if run("gdcmconv", "--raw", str(path), str(raw)).returncode:
        return np.empty(0)
    return pydicom.dcmread(raw).pixel_array


def by_dcmtk(path: Path, folder: Path) -> np.ndarray | None:
    """None where DCMTK has no decoder (JPEG 2000)."""
    syntax = pydicom.dcmread(path, stop_before_pixels=True).file_meta.TransferSyntaxUID
    if syntax == specimens.JPEG_2000:
        return None
    raw = folder / "raw.dcm"
    if run("dcmdrle", str(path), str(raw)).returncode:
        return np.empty(0)
    return pydicom.dcmread(raw).pixel_array


def main(out: str | None = None) -> None:
    tools = {t: shutil.which(t) is not None for t in ("dciodvfy", "gdcmconv", "dcmdrle", "dcmdump")}
    counts = dict.fromkeys(("files", "new errors", "new invalid values", "unread", "pixels"), 0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, released = folder / "in.dcm", folder / "out.dcm"
        wishes = ("explicit", "jpeg2000", "rle")
        for (make, bits, signed), syntax, options, wish in product(IMAGES, INPUTS, OPTIONS, wishes):
            values = picture(bits, signed)
            made = with_pixels(make(), values, bits=bits, signed=signed)
            source.write_bytes(file(made, getattr(specimens, syntax)))
            released.write_bytes(made_of(source.read_bytes(), transfer_syntax=wish, **options))
            counts["files"] += 1
            counts["new invalid values"] += len(invalid(released) - invalid(source))
            readings = [pydicom.dcmread(released).pixel_array]
            if tools["dciodvfy"]:
                counts["new errors"] += len(complaints(released) - complaints(source))
            if tools["gdcmconv"]:
                readings.append(by_gdcm(released, folder))
            if tools["dcmdump"]:
                counts["unread"] += run("dcmdump", str(released)).returncode != 0
            if tools["dcmdrle"] and (found := by_dcmtk(released, folder)) is not None:
                readings.append(found)
            counts["pixels"] += len(readings)
            counts["unread"] += sum(not np.array_equal(r, values) for r in readings)
    programs = [name for name, there in tools.items() if there]
    finish({"programs": programs, **counts}, out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
