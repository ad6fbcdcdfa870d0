"""Neural obfuscation (Heinrich and Hansen, MIDL 2024): images out of a network too small for them.

A decoder (NeRV, Chen et al. 2021) and an embedding of each image are fitted to a few images at
once. The network has several times fewer numbers than these have pixels, so what is particular to
one image is lost first. At release each embedding takes some of the others': E becomes (I + ρ N) E.
"""

from collections.abc import Sequence

import numpy as np
import torch
from kornia.losses import ssim_loss
from torch import Tensor, nn

from anonymize.data.batches import Images
from anonymize.inference import one_thread
from anonymize.set_anonymizer import Radiographs
from baselines.grouping import by_patient
from baselines.options import NeuralObfuscationOptions
from baselines.set_method import SetMethod

DOUBLINGS = 4  # of the side, from the embedding to the image
RATE = 2e-2
WINDOW = 11  # pixels of the SSIM (Wang et al. 2004)
AT_ONCE = 64  # images that are decoded


class NeuralObfuscation(SetMethod):
    """Every image is released once, decoded from its embedding with some of those that it was
    fitted with; who stands in a batch is drawn by lot.

    Nothing is promised. An output is named after the one image that it shows: what others of the
    batch leave in it, by the common decoder and by their embeddings, has no bound.
    """

    name = "neural-obfuscation"
    Options = NeuralObfuscationOptions

    @property
    def people(self) -> int:
        return 1

    def mixed(self, given: Radiographs, rng: np.random.Generator) -> list[list[np.ndarray]]:
        return [[np.array([row]) for row in own] for own in by_patient(given.patients)]

    def made(
        self, images: Images, outputs: Sequence[np.ndarray], rng: np.random.Generator
    ) -> Tensor:
        rows = np.concatenate(outputs)  # in random order
        batches = np.array_split(rows, -(-len(rows) // self.settings.batch))
        return torch.cat([self._obfuscated(images.batch(batch)) for batch in batches])

    def _obfuscated(self, images: Tensor) -> Tensor:
        seed = int(self.noise.words(images[0, 0], 1)[0] >> 1)
        with one_thread(), torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(seed)
            decoder, embeddings = fitted(images, self.settings)
            others = torch.randn(len(images), len(images))
            return decoded(decoder, embeddings + self.settings.rho * others @ embeddings)


class Decoder(nn.Module):
    """Images (B, 1, H, W) in [0, 1] of embeddings (B, D): a coarse one, its sides doubled."""

    def __init__(self, embedding: int, width: int, shape: tuple[int, int]) -> None:
        super().__init__()
        self.shape = shape
        self.start = tuple(-(-side // 2**DOUBLINGS) for side in shape)
        self.stem = nn.Linear(embedding, width * self.start[0] * self.start[1])
        convolutions = (nn.Conv2d(width, 4 * width, 3, padding=1) for _ in range(DOUBLINGS))
        self.body = nn.Sequential(
            *(layer for c in convolutions for layer in (c, nn.PixelShuffle(2), nn.GELU()))
        )
        self.head = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, embeddings: Tensor) -> Tensor:
        coarse = self.stem(embeddings).unflatten(1, (-1, *self.start))
        images = torch.sigmoid(self.head(self.body(coarse)))
        return images[..., : self.shape[0], : self.shape[1]]


def fitted(images: Tensor, options: NeuralObfuscationOptions) -> tuple[Decoder, Tensor]:
    """A decoder and embeddings (B, D) of images (B, 1, H, W), by the SSIM between both."""
    height, width = images.shape[-2:]
    decoder = Decoder(options.embedding, options.width, (height, width))
    embeddings = nn.Parameter(torch.randn(len(images), options.embedding))
    optimizer = torch.optim.Adam([*decoder.parameters(), embeddings], RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    for _ in range(options.steps):
        optimizer.zero_grad()
        ssim_loss(decoder(embeddings), images, WINDOW).backward()
        optimizer.step()
        schedule.step()
    return decoder, embeddings.detach()


@torch.no_grad()
def decoded(decoder: Decoder, embeddings: Tensor) -> Tensor:
    """float32 (B, 1, H, W) of embeddings (B, D)."""
    return torch.cat([decoder(some) for some in embeddings.split(AT_ONCE)])
