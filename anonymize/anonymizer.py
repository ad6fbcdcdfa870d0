"""The Anonymizer contract, and how one is found: by run, by model file or by method name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from anonymize import section
from anonymize.errors import ModelError, UsageError
from anonymize.plugins import plugin
from anonymize.specs import GROUP, checked, parse_options, resolved

# What holds for every method that moves pixels and changes nothing else (docs/results).
DEFORMED = "a smooth deformation leaves people linkable for whoever trains on released images"
TONED = "whether a smooth deformation with changed gray levels hides anybody was not measured"


class Anonymizer(ABC):
    """Images in, anonymized images out: a method has :meth:`anonymize`, the rest has defaults.

    Args:
        options: keywords, the fields of the method's ``Options``.

    Attributes:
        name: the method's, by default that of its entry point.
        Options: a section of typed options; none by default.
        fingerprint: sha256 of the model file, "" for methods without one.
        is_random: random numbers go into a release, so that the model alone cannot undo it.
        is_differentially_private: its noise is a guarantee, which a figure of the input breaks.
        is_concurrent: several threads may call it at once, as none of its calls keeps anything.

    Raises:
        UsageError: an unknown option (the message lists the known ones) or a value out of range.
    """

    name: ClassVar[str]
    Options: ClassVar[type[section.Options]] = section.Options
    fingerprint: str = ""
    is_random: ClassVar[bool] = False
    is_differentially_private: ClassVar[bool] = False
    is_concurrent: ClassVar[bool] = False

    def __init__(self, **options: Any) -> None:
        if options and not self.Options.model_fields:
            raise UsageError(f"{self.name} takes no options, got {', '.join(options)}")
        self.settings = checked(self.name, self.Options, options)

    @classmethod
    def from_spec(cls, text: str) -> Self:
        """Made from the text behind ``NAME:``, for instance ``b=8,epsilon=0.1``."""
        return cls(**parse_options(text))

    @cached_property
    def settings(self) -> Any:
        """The options, typed: of the class ``Options``."""
        return self.Options()

    @cached_property
    def options(self) -> dict[str, Any]:
        """What the method was made with, plain values for reports and manifests."""
        return self.settings.model_dump(exclude_none=True)

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{type(self).__name__}({options})"

    @property
    def mu(self) -> float | None:
        """Largest displacement in normalised coordinates; None where the method has none."""
        return self.options.get("mu")

    @property
    def changes_nothing(self) -> bool:
        """True for a method that gives the input back (identity, strength 0): never a release."""
        return False

    @property
    def noise_is_known(self) -> bool:
        """True where whoever knows the options can take the noise off again: never a release."""
        return False

    @property
    def key_file(self) -> Path | None:
        """The file of the secret that its noise follows from, if there is one."""
        return None

    @property
    def told(self) -> Collection[str] | None:
        """Labels that it was made with; None: nobody recorded which. () by default: none."""
        return ()

    @property
    def pool(self) -> Collection[str]:
        """``image_id`` of the images of others that go into a release; () by default: it is made
        of its own image alone. What is learnt from the pool needs no release, and is measured
        beside it by ``attacks evaluate``."""
        return ()

    @property
    def evidence(self) -> str:
        """What is known of how well people are protected, said at the end of a release."""
        return "no attacker was tried"

    def unfit(self, height: int, width: int) -> str:
        """Why an image of so many pixels is not protected as much as was meant; "" where it is."""
        return ""

    def keyed(self, secret: bytes) -> Self:
        """The same, whose random numbers follow from ``secret`` and the images, so that whoever
        holds it makes the same outputs again; itself, by default, where it has none."""
        return self

    def redrawn(self, seed: int) -> Self:
        """The same method with other random numbers; itself where it has none."""
        return self

    def to(self, device: torch.device | str) -> Anonymizer:
        """Moves the parameters, where there are any; returns itself."""
        return self

    def accelerated(self) -> Self:
        """The same on its device, as fast as it makes 8-bit images that are alike within a gray
        level, for a release; itself by default."""
        return self

    def displacement(self, images: Tensor) -> Tensor | None:
        """float32 (B, 2, H, W) for images (B, 1, H, W); None where the method does not deform."""
        return None

    def tone(self, images: Tensor) -> Tensor | None:
        """What a method that deforms does to gray levels besides: t of :func:`tone.toned`, float32
        (B, 1, H, W); None, as by default, where it leaves them alone."""
        return None

    @abstractmethod
    def anonymize(self, images: Tensor) -> Tensor:
        """float32 (B, 1, H, W) in [0, 1] in and out."""

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """Anonymizes ``images`` (B, 1, H, W) in [0, 1]; same shape, type and device.

        Raises:
            UsageError: other shape or type, values outside [0, 1] or not finite.
        """
        check_images(images)
        try:
            released = self.anonymize(images.float())
        except Exception as error:
            error.add_note(f"This happened in method {self.name}.")
            raise
        if released.shape != images.shape:
            raise ModelError(
                f"method {self.name} must give images of shape {tuple(images.shape)}, "
                f"got {tuple(released.shape)}"
            )
        if released.numel() and not finite(released):
            raise ModelError(f"method {self.name} gave NaN or infinity; look at its weights")
        return released.clamp(0, 1).to(images.dtype)


def check_images(images: Tensor) -> None:
    """Raises UsageError unless ``images`` is a floating (B, 1, H, W) tensor in [0, 1]."""
    if not isinstance(images, Tensor) or images.ndim != 4 or images.shape[1] != 1:
        shape = tuple(getattr(images, "shape", ()))
        raise UsageError(f"images must have shape (B, 1, H, W), got {shape}")
    if not images.is_floating_point():
        raise UsageError(f"images must be floating point in [0, 1], got {images.dtype}")
    low, high = torch.aminmax(images) if images.numel() else (0, 1)
    if not 0 <= low <= high <= 1:
        raise UsageError("images must lie in [0, 1]; divide by the largest value of their type")


def finite(values: Tensor) -> bool:
    """True where none of one or more is infinity or NaN, which is the least and the greatest of all
    that hold it: one pass, and nothing is kept."""
    return bool(torch.stack(torch.aminmax(values)).isfinite().all())


def method_class(name: str) -> type[Anonymizer]:
    """The installed method ``name``; PluginError where there is no such anonymizer."""
    return plugin(GROUP, name, Anonymizer)


def load(spec: str | Path, *, device: torch.device | str = "cpu") -> Anonymizer:
    """An anonymizer from a run directory, a model file, or a method with options.

    ``"runs/quick"``, ``"model.safetensors"``, ``"prichexy-net:runs/quick"``,
    ``"dp-pix:b=8,epsilon=0.1"``, ``"identity"``.

    Raises:
        UsageError: neither a path nor an installed method; the message lists the methods.
        ModelError: a file that is no model of ours.
    """
    return _made(*resolved(spec)).to(device)


def _made(name: str, argument: str) -> Anonymizer:
    method = method_class(name)
    try:
        return method.from_spec(argument)
    except UsageError:
        raise
    except (TypeError, ValueError) as error:  # a stranger's constructor
        raise UsageError(f"method {name} cannot be made of {argument!r}: {error}") from None
