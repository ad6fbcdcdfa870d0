"""Random changes of training images (Schmahl et al. 2025, with small affine maps as an option)."""

import kornia.augmentation as K
from torch import nn

GRAY = 0.5


def changes(*, photometric: bool, erase: float, affine: bool) -> nn.Module:
    """Each image (B, 1, H, W) in [0, 1] is changed on its own.

    Args:
        photometric: gamma from 0.7 to 1.4, contrast times 0.8 to 1.2, brightness by up to 0.2.
        erase: probability that a gray rectangle hides 2 to 15 % of the image.
        affine: rotations up to 8°, shifts up to 5 % of the side, scalings up to 10 %.
    """
    steps: list[nn.Module] = []
    if affine:
        steps.append(
            K.RandomAffine(
                degrees=8.0,
                translate=(0.05, 0.05),
                scale=(0.9, 1.1),
                padding_mode="border",
                align_corners=True,
                p=1.0,
            )
        )
    if photometric:
        steps.append(K.RandomGamma(gamma=(0.7, 1.4), gain=(1.0, 1.0), p=1.0))
        steps.append(K.RandomContrast((0.8, 1.2), p=1.0))
        steps.append(K.RandomBrightness((0.8, 1.2), p=1.0))
    if erase:
        steps.append(K.RandomErasing(scale=(0.02, 0.15), value=GRAY, p=erase))
    return nn.Sequential(*steps)
