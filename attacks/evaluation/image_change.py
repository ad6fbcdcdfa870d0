"""How far the released images are from the real ones, and what that costs."""

import numpy as np
import torch
from monai.metrics import PSNRMetric, SSIMMetric

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import Images, in_batches
from attacks.results import Displacement, ImageChange

BATCH = 64
LEFT = 1 / 4  # of the root mean square over all images: who moves less is left where he is


@torch.no_grad()
def image_change(
    model: Anonymizer, real: Images, released: Images, rows: np.ndarray, *, device: torch.device
) -> ImageChange:
    """SSIM (Wang et al. 2004), PSNR in dB (none where an image is untouched) and displacement.

    The means are over the images; displacement and Jacobian determinant over their pixels too,
    the largest and the smallest over all.
    """
    ssim = SSIMMetric(spatial_dims=2, data_range=1.0, reduction="none")
    psnr = PSNRMetric(max_val=1.0, reduction="none")
    alike, decibels = [], []  # the metrics' own buffers are gathered from all processes
    lengths, squares, longest, folds = [], [], [], []
    for batch in in_batches(rows, BATCH):
        before, after = real.batch(batch), released.batch(batch)
        alike.append(ssim(after, before))
        decibels.append(psnr(after, before))
        displacement = model.displacement(before.to(device))
        if displacement is not None:
            length = flow.magnitude(flow.pixels(displacement))
            lengths.append(length.mean((1, 2, 3)).cpu())
            squares.append(length.square().mean((1, 2, 3)).cpu())
            longest.append(length.amax().cpu())
            folds.append(flow.jacobian_determinant(displacement).amin().cpu())
    decibel = torch.cat(decibels)
    return ImageChange(
        ssim=float(torch.cat(alike).mean()),
        psnr=float(decibel.mean()) if torch.isfinite(decibel).all() else None,
        displacement_px=_displacement(lengths, torch.cat(squares), longest) if lengths else None,
        min_jacobian=float(torch.stack(folds).min()) if folds else None,
    )


def _displacement(
    lengths: list[torch.Tensor], squares: torch.Tensor, longest: list[torch.Tensor]
) -> Displacement:
    """Of the means (N,) of each image's lengths and of their squares, and the longest."""
    rms = squares.mean().sqrt()
    return Displacement(
        mean=float(torch.cat(lengths).mean()),
        max=float(torch.stack(longest).max()),
        rms=float(rms),
        left=float((squares.sqrt() < LEFT * rms).float().mean()),
    )
