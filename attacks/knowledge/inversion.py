"""What an adversary who has the model itself can do: undo the release, or average its randomness.

A release y = f(x) of a deterministic method is undone by a fixed point, from x = y on. A method
that deforms, f(x) = x ∘ (id + d(x)): take the displacement of the estimate and warp y by its
inverse, without what was done to its gray levels besides. Any other: add to the estimate what its
own release still lacks, x ← x + y − f(x) (van Cittert 1931). Of all estimates the one whose release
is nearest to y is kept, image by image, so that nothing is ever worse than y itself.

A method with secret random numbers cannot be run backwards. There the adversary releases the images
that it knows, many times over, and compares with their mean.
"""

from collections.abc import Callable
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages, Images, in_batches
from anonymize.seeds import derive_seed
from anonymize.tone import toned

STEPS = 8
DRAWS = 8
CLOSE = 1 / 1024  # root mean square of gray levels: a quarter of one of 8 bits
BATCH = 64


@torch.no_grad()
def undone(model: Anonymizer, released: Tensor) -> Tensor:
    """The originals (B, 1, H, W), float32 in [0, 1], as far as a fixed point finds them.

    Args:
        model: deterministic.
        released: what it made of them, in [0, 1].
    """
    estimate = best = released
    error = torch.full((len(released),), torch.inf, device=released.device)
    for _ in range(STEPS):
        displacement = model.displacement(estimate)
        if displacement is None:
            again = model(estimate)
        else:
            tone, warped = model.tone(estimate), flow.warp(estimate, displacement)
            again = warped if tone is None else toned(warped, tone)
        apart = (again - released).square().mean(dim=(1, 2, 3))
        best = torch.where((apart < error).view(-1, 1, 1, 1), estimate, best)
        error = torch.minimum(apart, error)
        if error.max().sqrt() < CLOSE:
            break
        if displacement is None:
            estimate = estimate + released - again
        else:
            gray = released if tone is None else released - (again - warped)
            estimate = flow.warp(gray, flow.invert(displacement, iterations=8))
        estimate = estimate.clamp(0, 1)  # interpolation rounds beyond
    return best


def mean_release(
    model: Anonymizer, images: Images, *, device: torch.device, seed: int, draws: int = DRAWS
) -> HeldImages:
    """The mean of several releases of each image by other random numbers, float32."""
    models = [model.redrawn(derive_seed(seed, "draw", i)) for i in range(draws)]
    return each(images, lambda batch: reduce(torch.add, (m(batch) for m in models)) / draws, device)


def each(images: Images, change: Callable[[Tensor], Tensor], device: torch.device) -> HeldImages:
    """Images after a change, by batches."""
    rows = np.arange(len(images))
    parts = [change(images.batch(r).to(device)).cpu() for r in in_batches(rows, BATCH)]
    return HeldImages(torch.cat(parts))
