"""How much of what a warp did to drawn radiographs was rounding, where generators learnt in
bfloat16 (until 2026-11-29: coordinates of 8 bits): python tests/benchmarks/bench_rounding.py [OUT].

Smooth random fields, of which no component exceeds μ. Writes OUT (Markdown).
"""

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from kornia.geometry.transform import remap

from anonymize import flow
from anonymize.data.dataset import Dataset
from anonymize.options import DataOptions

GAMES = ((64, 0.04), (128, 0.02), (224, 0.01), (256, 0.01))  # of docs/miniature.md
IMAGES, APART = 32, 8  # pixels between the points of a field
HEADER = (
    "| side, pixels | μ | RMS displacement, pixels | change by the warp, RMS | of it rounding |"
)


def main(out: str = "") -> None:
    lines = [HEADER, "| --- | --- | --- | --- | --- |"]
    for size, mu in GAMES:
        data = Dataset.open(DataOptions(patients=20, images=IMAGES, size=size, workers=1))
        images = data.images.batch(np.arange(IMAGES)).float()
        generator = torch.Generator().manual_seed(0)
        points = 2 * torch.rand((IMAGES, 2, size // APART, size // APART), generator=generator) - 1
        spread = F.interpolate(points, size=(size, size), mode="bilinear", align_corners=True)
        field = mu * flow.smooth(spread)
        moved = flow.warp(images, field)
        change, lost = rms(moved - images), rms(_rounded(images, field) - moved)
        pixels = flow.pixels(field).square().sum(dim=1).mean().sqrt()
        lines.append(f"| {size} | {mu} | {pixels:.2f} | {change:.4f} | {lost / change:.0%} |")
    print("\n".join(lines))
    if out:
        Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")


def rms(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt())


def _rounded(images: torch.Tensor, field: torch.Tensor) -> torch.Tensor:
    """Warped by coordinates in bfloat16."""
    grid = (flow.identity_grid(field.bfloat16()) + field.bfloat16()).float()
    settings = {"padding_mode": "border", "align_corners": True, "normalized_coordinates": True}
    return remap(images, grid[:, 0], grid[:, 1], **settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
