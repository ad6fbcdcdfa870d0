"""Radiographs of nobody: what a generative model of other people's images makes up.

A vector-quantized autoencoder (van den Oord et al. 2017; monai's) makes a grid of words of an
image, one for 8 × 8 pixels, and a transformer learns which word comes next (Esser et al. 2021), the
kind of image being told first. Both learn on the CPU, at 64 to 96 pixels, until patients whom they
do not learn from gain no more. A sample has the outlines and shades of a chest, and few of its fine
lines.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from monai.networks.nets import VQVAE
from torch import Tensor, nn

from anonymize.data.batches import HeldImages, Images, in_batches
from anonymize.inference import one_thread
from anonymize.training.compute import Compute, Part
from anonymize.training.loop import BatchStage, Figures, Mean, fit

WORDS, WORD = 256, 32  # of the vocabulary, and the numbers that each stands for
CHANNELS = (32, 64, 64)  # of the autoencoder, after each halving of the sides
WIDTH, HEADS, DEPTH = 128, 4, 4  # of the transformer
DROPOUT = 0.1
SELDOM = 0.03  # of the mean use of a word
HELD = 10  # one patient of so many of each kind is learnt from by neither
AT_ONCE = 64  # images


@dataclass(frozen=True)
class _Training:
    epochs: int
    patience: int
    batch: int = 32
    rate: float = 1e-3


AUTOENCODER, WRITER = _Training(100, 6), _Training(60, 4)


def made_up(images: Images, kinds: Sequence[Sequence[np.ndarray]], each: int, seed: int) -> Tensor:
    """Samples, float32 (K · each, 1, H, W) in [0, 1], ``each`` of every kind in turn. On one
    thread, so that the last bits do not depend on how many there are.

    Args:
        images: that the model learns from, (N, 1, H, W) in [0, 1].
        kinds: for each of K kinds its patients, two or more, each as the rows of the images.
        seed: of networks, training and samples; torch's own state stays as it was.
    """
    with one_thread(), torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        rows, kind, held = _learnt(kinds)
        shown = HeldImages(_padded(torch.cat([images.batch(r) for r in in_batches(rows, AT_ONCE)])))
        autoencoder = VQVAE(
            spatial_dims=2,
            in_channels=1,
            out_channels=1,
            channels=CHANNELS,
            num_res_layers=1,
            num_res_channels=CHANNELS,
            downsample_parameters=[(2, 4, 1, 1)] * len(CHANNELS),
            upsample_parameters=[(2, 4, 1, 1, 0)] * len(CHANNELS),
            num_embeddings=WORDS,
            embedding_dim=WORD,
            decay=0.9,
        )
        fit(_Autoencoding(autoencoder, shown, ~held, held), seed=seed)
        words = _words(autoencoder, shown)
        writer = Writer(len(kinds), words[0].numel())
        fit(_Writing(writer, words.flatten(1), kind, ~held, held), seed=seed)
        asked = torch.arange(len(kinds)).repeat_interleave(each)
        made = [
            autoencoder.decode_samples(writer.written(some).unflatten(1, words.shape[1:]))
            for some in asked.split(AT_ONCE)
        ]
    height, width = images.batch(rows[:1]).shape[-2:]
    return torch.cat(made).detach()[..., :height, :width].clamp(0, 1)


class Writer(nn.Module):
    """Logits of the next word, (B, n, WORDS), of n − 1 words behind a kind: int64 (B, n)."""

    def __init__(self, kinds: int, length: int) -> None:
        super().__init__()
        self.length = length
        self.tokens = nn.Embedding(WORDS + kinds, WIDTH)
        self.places = nn.Parameter(torch.zeros(length, WIDTH))
        for weight in (self.tokens.weight, self.places):
            nn.init.normal_(weight, std=0.02)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, DROPOUT, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, DEPTH, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens: Tensor) -> Tensor:
        count = tokens.shape[1]
        later = nn.Transformer.generate_square_subsequent_mask(count)
        inputs = self.tokens(tokens) + self.places[:count]
        return self.head(self.layers(inputs, mask=later, is_causal=True))

    @torch.no_grad()
    def written(self, kinds: Tensor) -> Tensor:
        """Words (B, length), drawn one after the other for kinds (B,)."""
        tokens = WORDS + kinds[:, None]
        for _ in range(self.length):
            likely = self(tokens)[:, -1].softmax(dim=1)
            tokens = torch.cat([tokens, torch.multinomial(likely, 1)], dim=1)
        return tokens[:, 1:]


class _Learning(BatchStage):
    """A stage that learns some rows, and is judged by others."""

    recordable = False

    def __init__(
        self, name: str, options: _Training, network: nn.Module, learn: np.ndarray, held: np.ndarray
    ) -> None:
        super().__init__(name, options, {"network": network}, Compute())
        self.rows, self._held = np.flatnonzero(learn), np.flatnonzero(held)

    def inputs(self, part: Part) -> tuple[Tensor, ...]:
        return ()

    def loss(self, part: Part, *inputs: Tensor) -> Tensor:
        return self.error(part.rows)

    def validate(self) -> Figures:
        total = Mean()
        for rows in in_batches(self._held, AT_ONCE):
            total.add(self.error(rows), len(rows))
        return {"loss": total.value}

    @abstractmethod
    def error(self, rows: np.ndarray) -> Tensor:
        """The mean loss of some rows."""


class _Autoencoding(_Learning):
    """Mean absolute error of gray levels and of differences of neighbours, and how far what is
    coded is from its word."""

    def __init__(self, network: VQVAE, images: Images, learn: np.ndarray, held: np.ndarray) -> None:
        super().__init__("autoencoder", AUTOENCODER, network, learn, held)
        self._autoencoder, self._images = network, images

    def begin(self, seed: int) -> np.ndarray:
        """Words that hardly anything is coded by, at first all, become codes of some images
        (random restarts, Dhariwal et al. 2020); else few words come to stand for everything."""
        words = self._autoencoder.quantizer.quantizer
        unused = words.ema_cluster_size <= SELDOM * words.ema_cluster_size.mean()
        with torch.no_grad():
            drawn = torch.from_numpy(self.rows)[torch.randperm(len(self.rows))[:AT_ONCE]]
            codes = self._autoencoder.encode(self._images.batch(drawn.numpy())).movedim(1, -1)
            codes = codes.flatten(0, -2)
            taken = codes[torch.randint(len(codes), (int(unused.sum()),))]
            for weight in (words.embedding.weight, words.ema_w):
                weight[unused] = taken
            words.ema_cluster_size[unused] = 1.0
        return self.rows

    def error(self, rows: np.ndarray) -> Tensor:
        real = self._images.batch(rows)
        again, coded = self.network(real)
        edges = (F.l1_loss(again.diff(dim=d), real.diff(dim=d)) for d in (-2, -1))
        return F.l1_loss(again, real) + sum(edges) / 2 + coded


class _Writing(_Learning):
    """Cross-entropy of the next word."""

    def __init__(
        self, network: Writer, words: Tensor, kind: Tensor, learn: np.ndarray, held: np.ndarray
    ) -> None:
        super().__init__("writer", WRITER, network, learn, held)
        self._tokens = torch.cat([WORDS + kind[:, None], words], dim=1)

    def error(self, rows: np.ndarray) -> Tensor:
        tokens = self._tokens[torch.from_numpy(rows)]
        likely = self.network(tokens[:, :-1])
        return F.cross_entropy(likely.flatten(0, 1), tokens[:, 1:].flatten())


def _learnt(kinds: Sequence[Sequence[np.ndarray]]) -> tuple[np.ndarray, Tensor, np.ndarray]:
    """Rows of the images in turn, the kind of each, and whether it is held back."""
    rows, kind, held = [], [], []
    for number, patients in enumerate(kinds):
        back = set(torch.randperm(len(patients))[: max(1, len(patients) // HELD)].tolist())
        for patient, own in enumerate(patients):
            rows.append(own)
            kind += [number] * len(own)
            held += [patient in back] * len(own)
    return np.concatenate(rows), torch.tensor(kind), np.array(held)


def _padded(images: Tensor) -> Tensor:
    """To sides that can be halved as often as the autoencoder does."""
    height, width = images.shape[-2:]
    step = 2 ** len(CHANNELS)
    return F.pad(images, (0, -width % step, 0, -height % step), mode="replicate")


@torch.no_grad()
def _words(autoencoder: VQVAE, images: HeldImages) -> Tensor:
    """int64 (N, h, w)."""
    batches = in_batches(np.arange(len(images)), AT_ONCE)
    return torch.cat([autoencoder.index_quantize(images.batch(rows)) for rows in batches])
