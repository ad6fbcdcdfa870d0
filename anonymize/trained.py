"""Anonymizers with a generator that is trained: what they share, and how training finds them."""

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anonymize import flow
from anonymize.anonymizer import GROUP, Anonymizer, method_class
from anonymize.errors import ModelError, UsageError, printable
from anonymize.fingerprint import sha256_file
from anonymize.generator_options import GeneratorOptions
from anonymize.inference import Inference, computes_bfloat16, drawn
from anonymize.model_card import Card, model_path, read_card
from anonymize.model_file import check_buildable, load_weights, versions
from anonymize.plugins import installed, plugins
from anonymize.section import validated


class Generator(nn.Module):
    """Images (B, 1, H, W) in [0, 1] to anonymized ones at the network's size, differentiable."""

    options: GeneratorOptions  # what it was built from
    core: nn.Module  # the part whose weights a model file holds
    frame: int = 0  # pixels at each edge that are displaced whatever it has learnt
    recordable: bool = False  # the same operations for all images, so that a GPU can repeat them

    def bound(self, size: int) -> float | None:
        """What no component of its displacement of size × size images exceeds; None: unknown."""
        return None

    def displacement(self, images: Tensor) -> Tensor | None:
        """(B, 2, H, W) by which images (B, 1, H, W) are deformed; None: they are not."""
        return None

    def displaced(self, images: Tensor, field: Tensor) -> Tensor:
        """What it makes of ``images`` if it deforms them by ``field`` instead of by its own
        :meth:`displacement`; differentiable in both."""
        return flow.warp(images, field)

    def redraw(self, seed: int) -> None:
        """Takes other random numbers, where an image is anonymized with any; training does so
        before every epoch."""

    def penalty(self, output: Tensor) -> Tensor:
        """A term of the method's own that training adds once to what the generator minimises.

        A mean over the images whose ``output`` of ``core`` (B, …) this is, with a gradient; 0
        without one where there is none.
        """
        return output.new_zeros(())


VERIFIER_AUC = "validation_verifier_auc"  # among a card's figures
# What data sets show that are not what most releases hold.
SHOWN = {"phantom": "drawings, no radiographs", "pediatric-pneumonia": "children of 1 to 5 years"}
ALIKE = 0.5 / 255  # what one image may differ by for the sake of speed, so that all keep their
# gray levels of 8 bits within one
FITTING = 2.0  # times smaller or larger than the images of the training an image may be

_Generator = Generator  # a method's own has this name in its class


class TrainedAnonymizer(Anonymizer):
    """A trained generator as an anonymizer for images of any size.

    A method names its options and its generator; ``anonymize train --set generator.method=NAME``
    finds it among the installed methods and trains it like any other.
    """

    Options: ClassVar[type[GeneratorOptions]] = GeneratorOptions
    Generator: ClassVar[type[_Generator]]

    origin: Card | None = None  # of the file that it was read from

    def __init__(self, generator: _Generator, *, size: int, fingerprint: str = "") -> None:
        self.generator = generator.eval().requires_grad_(False)
        self.size, self.fingerprint = size, fingerprint
        own = generator.options.model_dump(exclude={"method"}, exclude_none=True)
        self.options = {**own, "size": size}

    @classmethod
    def from_spec(cls, text: str) -> Self:
        """From a run directory or a model file."""
        if not text:
            raise UsageError(f"{cls.name} needs a run or a model file: {cls.name}:PATH")
        path = model_path(Path(text))
        card = read_card(path)
        if card.kind != "anonymizer" or card.method != cls.name:
            raise ModelError(f"{path} holds {card.method or card.kind}, not {cls.name}")
        options = validated(cls.Options, card.architecture)
        check_buildable(lambda: cls.Generator(options).core, path)
        generator = cls.Generator(options)
        load_weights(generator.core, path)
        made = cls(generator, size=card.size, fingerprint=sha256_file(path))
        made.origin = card
        return made

    @property
    def evidence(self) -> str:
        card = self.origin
        if card is None or "source" not in card.data:
            return f"it is not known what this model was trained on; {super().evidence} here"
        source, auc = printable(str(card.data["source"])), card.figures.get(VERIFIER_AUC)
        shown = SHOWN.get(source)
        told = f"trained on {source} ({shown})" if shown else f"trained on {source}"
        if auc is not None:
            told += (
                f", where the verifier that it was trained against still has AUC {auc:.2f} (0.5 "
                "is chance)"
            )
        return f"{told}; no other attacker was tried"

    def unfit(self, height: int, width: int) -> str:
        side = min(height, width)
        if self.size / FITTING <= side <= self.size * FITTING:
            return ""
        return (
            f"made for images of {self.size} px, and these have {side}: what was measured at "
            "one size does not hold at the other; train with --set data.size= nearer to it"
        )

    @property
    def told(self) -> tuple[str, ...] | None:
        return tuple(self.origin.labels) or None if self.origin is not None else None

    def card(self, *, data: dict, figures: dict[str, float], labels: Sequence[str] = ()) -> Card:
        """The card of this model for its file; ``labels``: what its training was told of."""
        return Card(
            kind="anonymizer",
            method=self.name,
            options=self.options,
            architecture=self.generator.options.model_dump(),
            size=self.size,
            labels=list(labels),
            data=data,
            versions=versions(),
            figures=figures,
        )

    def to(self, device: torch.device | str) -> Self:
        self.generator.to(device)
        vars(self).pop("inference", None)
        return self

    @cached_property
    def inference(self) -> Inference:
        """The generator's core as it predicts."""
        return Inference(self.generator.core)

    def accelerated(self) -> Self:
        """In bfloat16 where the processor has it and a drawn image then becomes the same, within
        half a gray level of 8 bits."""
        core, made = self.generator.core, copy(self)
        device = next(core.parameters()).device
        if not computes_bfloat16(device):
            return self
        made.inference = Inference(core, half=True)
        image = drawn(self.size).to(device)
        change = (made.anonymize(image) - self.anonymize(image)).abs().max()
        return made if change <= ALIKE else self

    def seen(self, images: Tensor) -> Tensor:
        """``images`` as the generator gets them: float32, resized to its own size."""
        size = (self.size, self.size)
        if tuple(images.shape[-2:]) == size:
            return images.float()
        resized = F.interpolate(images.float(), size=size, mode="bilinear", antialias=True)
        return resized.clamp(0, 1)


def trained_method(name: str) -> type[TrainedAnonymizer]:
    """The installed method ``name``; UsageError where it has nothing to train, or is not there."""
    found = method_class(name) if name in installed(GROUP) else Anonymizer
    if issubclass(found, TrainedAnonymizer):
        return found
    known = (n for n, m in plugins(GROUP, method_class) if issubclass(m, TrainedAnonymizer))
    raise UsageError(f"generator.method must be one of {', '.join(known)}; got {name!r}")
