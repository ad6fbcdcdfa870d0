"""Images on their way: out of files, drawn, and warped at their own size."""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from PIL import Image

from anonymize import flow
from anonymize.data.cache import prepare
from anonymize.data.phantom import cohort, draw
from anonymize.data.sources.registry import read
from anonymize.options import DataOptions
from anonymize.release import transform
from anonymize.release.radiograph import Radiograph
from tests.benchmarks.speed.case import Case, Work

STORED, WANTED = 1024, 256  # pixels along a side
NATIVE = (2500, 2048)


def _folder(count: int) -> tuple[tempfile.TemporaryDirectory, Path]:
    """Smooth random PNGs, two a patient."""
    kept, rng = tempfile.TemporaryDirectory(), np.random.default_rng(0)
    root = Path(kept.name, "set")
    root.mkdir()
    for i in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (16, 16), np.uint8))
        coarse.resize((STORED, STORED), Image.Resampling.BICUBIC).save(root / f"{i}.png")
    rows = [{"path": f"{i}.png", "patient_id": i // 2} for i in range(count)]
    pd.DataFrame(rows).to_csv(root / "list.csv", index=False)
    return kept, root


def cached(images: int, times: int) -> Work:
    """An epoch of images that were prepared before."""
    kept, root = _folder(images * times)
    options = DataOptions(source="folder", root=root, size=WANTED, cache=Path(kept.name))
    found = prepare(read(options), options)[1]
    order = np.random.default_rng(1).permutation(images * times)

    def epoch() -> None:
        assert kept
        for rows in np.array_split(order, max(len(order) // 32, 1)):
            found.batch(rows)

    return epoch


def preparing(images: int, times: int) -> Work:
    """The cache, made anew."""
    kept, root = _folder(images * times)

    def prepared() -> None:
        assert kept
        with tempfile.TemporaryDirectory() as cache:
            options = DataOptions(source="folder", root=root, size=WANTED, cache=Path(cache))
            prepare(read(options), options)

    return prepared


def plain_loading(images: int, times: int) -> Work:
    kept, root = _folder(images * times)

    def epoch() -> None:
        assert kept
        for path in root.glob("*.png"):
            small = Image.open(path).resize((WANTED, WANTED), Image.Resampling.BILINEAR)
            torch.from_numpy(np.asarray(small, np.float32) / 255)

    return epoch


def drawing(images: int, times: int) -> Work:
    table = cohort(patients=images * times // 4, images=images * times, seed=0)
    rows = list(zip(table["patient_id"], table["follow_up"], strict=True))
    return lambda: [draw(seed=0, patient_id=p, follow_up=int(v), size=WANTED) for p, v in rows]


def _native() -> tuple[np.ndarray, torch.Tensor]:
    torch.manual_seed(0)
    coarse = torch.rand(1, 1, 40, 32)
    picture = F.interpolate(coarse, NATIVE, mode="bicubic").clamp(0, 1)[0, 0]
    field = 0.01 * torch.tanh(torch.randn(1, 2, WANTED, WANTED))
    return (picture * 4095).numpy().astype(np.uint16), flow.smooth(field)


def warping(times: int) -> Work:
    pixels, field = _native()
    radiograph = Radiograph("PNG", "gray", 12, pixels[..., None])

    def warp() -> None:
        for _ in range(times):
            field_there = flow.resize(field, NATIVE)
            transform.anonymize(radiograph, field_there, None)  # type: ignore[arg-type]

    return warp


def plain_warping(times: int) -> Work:
    pixels, field = _native()

    def warp() -> None:
        image = torch.from_numpy(pixels.astype(np.float64))[None, None]
        there = F.interpolate(field, NATIVE, mode="bilinear", align_corners=True).double()
        grid = (flow.identity_grid(image) + there).permute(0, 2, 3, 1)
        made = F.grid_sample(image, grid, padding_mode="border", align_corners=True)
        made[0, 0].round().numpy().astype(np.uint16)

    return warp


CASES = [
    Case(
        f"images of {STORED}² at {WANTED} px, one epoch",
        "images",
        64,
        partial(cached, 64),
        partial(plain_loading, 64),
        grows=True,
    ),
    Case(
        f"the cache of images of {STORED}² at {WANTED} px",
        "images",
        64,
        partial(preparing, 64),
        partial(plain_loading, 64),
    ),
    Case(f"drawing phantoms, {WANTED} px", "images", 16, partial(drawing, 16), grows=True),
    Case("warp of 2500 × 2048, 12 bit", "images", 1, warping, plain_warping),
]
