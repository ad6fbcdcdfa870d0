"""`anonymize apply` from end to end, beside reading and writing the files and nothing else."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pydicom
import torch
import torch.nn.functional as F
from PIL import Image

from anonymize.anonymizer import Anonymizer
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from anonymize.release import pipeline
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.options import ReleaseOptions
from tests.benchmarks.speed.case import Case, Work
from tests.benchmarks.speed.networks import FLOW, SIZE

KINDS = {"PNG": (1024, 1024), "JPEG": (2000, 2000), "DICOM": (2500, 2048)}
FILES = 4


def _picture(size: tuple[int, int], seed: int) -> np.ndarray:
    coarse = torch.rand(1, 1, 24, 24, generator=torch.Generator().manual_seed(seed))
    smooth = F.interpolate(coarse, size, mode="bicubic").clamp(0, 1)[0, 0].numpy()
    return smooth * 0.98 + 0.02 * np.random.default_rng(seed).random(size)


def _write(kind: str, path: Path, seed: int) -> None:
    picture = _picture(KINDS[kind], seed)
    if kind == "DICOM":
        from dicom_specimens import EXPLICIT, dx, with_pixels, written

        made = with_pixels(dx(), (picture * 65535).astype(np.uint16))
        path.write_bytes(written(made, EXPLICIT))
    else:
        Image.fromarray((picture * 255).astype(np.uint8)).save(path, quality=90)


def _folder(kind: str, files: int) -> tuple[tempfile.TemporaryDirectory, Path]:
    kept = tempfile.TemporaryDirectory()
    source, ending = Path(kept.name, "in"), {"PNG": "png", "JPEG": "jpg", "DICOM": "dcm"}[kind]
    source.mkdir()
    for i in range(files):
        _write(kind, source / f"{i}.{ending}", i)
    return kept, source


def _model() -> Anonymizer:
    return PriCheXyNet(FlowGenerator(FLOW), size=SIZE, fingerprint="0" * 64)


def release(kind: str, workers: int, text: bool, times: int) -> Work:
    kept, source = _folder(kind, FILES * times)
    found = TextOptions("remove") if text else TextOptions("keep")
    options = ReleaseOptions(workers=workers, text=found)

    def apply() -> None:
        with tempfile.TemporaryDirectory() as out:
            assert kept
            done = pipeline.apply(source, Path(out, "out"), _model(), options)
            assert not done.quarantined, "a benchmark that releases nothing"

    return apply


def plain(kind: str, times: int) -> Work:
    """Decoded, encoded, nothing else."""
    kept, source = _folder(kind, FILES * times)

    def copy() -> None:
        with tempfile.TemporaryDirectory() as out:
            assert kept
            for path in source.iterdir():
                if kind == "DICOM":
                    made = pydicom.dcmread(path)
                    made.PixelData = made.pixel_array.tobytes()
                    made.save_as(Path(out, path.name))
                else:
                    Image.open(path).convert("L").save(Path(out, path.name), quality=90)

    return copy


CASES = [
    Case(
        f"apply, {kind} {height} × {width}, {words}, workers {workers}",
        "images",
        FILES,
        partial(release, kind, workers, text),
        partial(plain, kind),
        grows=(kind, text, workers) == ("PNG", False, 2),
    )
    for kind, (height, width) in KINDS.items()
    for text, words in ((False, "no OCR"), (True, "OCR"))
    for workers in (1, 2)
]
