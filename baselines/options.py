"""Options of the methods of this package; without torch, so that a wrong one is said at once."""

import math
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from anonymize.generator_options import GeneratorOptions
from anonymize.section import Options

Band = Literal["coarse", "fine"]


class NoiseOptions(Options):
    """Where the random numbers come from; without any of these, from the operating system.

    The numbers follow from the options of a method, too, but for those that are None: so is the
    default of an option that comes later, and what was drawn before it stays as it was.
    """

    seed: int | None = Field(
        None, ge=0, description="repeats the numbers for everybody: for evaluations only"
    )
    key_file: Path | None = Field(
        None, description="repeats the numbers for who holds this file: 32 secret bytes or more"
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.seed is not None and self.key_file is not None:
            raise ValueError("give seed or key_file, not both")
        return self


class SetOptions(NoiseOptions):
    """Whom to bring together."""

    by: Literal["labels", "teacher"] = Field(
        "labels",
        description="patients of equal labels, or of whom a classifier that learnt from others "
        "sees the same",
    )
    codes: int = Field(16, ge=1, le=1000, description="kinds of patients at most")
    small: Literal["withhold"] | None = Field(
        None,
        description="what becomes of kinds with too few patients for one output; else they join "
        "the nearest",
    )
    read: float | None = Field(
        None,
        ge=0,
        le=1,
        description="weight, in an output's labels, of what networks read in it that learnt from "
        "other patients; the rest is the mean of those who went in",
    )


class DPPixOptions(NoiseOptions):
    """Cells, privacy budget, and what neighbouring images are."""

    b: int = Field(8, ge=1, le=4096, description="cell width in pixels of the image that is given")
    epsilon: float = Field(0.1, gt=0, description="privacy budget ε")
    m: int = Field(1, ge=1, description="pixels in which neighbouring images may differ")


def _part(value: Any) -> float:
    """A number from 0 to 0.5, also written as a ratio: "2/96"."""
    above, slash, below = str(value).partition("/")
    try:
        part = float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        part = math.nan
    if not 0 <= part <= 0.5:
        raise ValueError(
            "it must be a part of the shorter side from 0 to 0.5 (2 px of 96 is sigma=2/96)"
        )
    return part


class GaussianBlurOptions(Options):
    """How much is blurred."""

    sigma: Annotated[float, BeforeValidator(_part)] = Field(
        0.02, description="standard deviation as a part of the shorter side; 2/96 is 2 px of 96"
    )


class DownSamplingOptions(Options):
    """How small the image becomes, by ``factor`` or by ``side``."""

    factor: float | None = Field(
        None, ge=1, description="both sides are divided by it; 8 by default"
    )
    side: int | None = Field(
        None, ge=1, description="or: shorter side of the small image in pixels"
    )

    @model_validator(mode="before")
    @classmethod
    def _one(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("factor") is not None and values.get("side") is not None:
            raise ValueError("give factor or side, not both")
        return {"factor": 8} | values if values.get("side") is None else values


class RandomWarpOptions(NoiseOptions):
    """The field, in the terms of PriCheXy-Net's options."""

    mu: float | None = Field(
        0.01, ge=0, le=1, description="largest displacement; [−1, 1] spans an image"
    )
    rms: float | None = Field(
        None,
        gt=0,
        le=0.5,
        description="instead: root mean square of the displacement's length, for each image",
    )
    size: int = Field(256, ge=16, le=2048, description="the noise has size × size vectors")
    kernel: int = Field(9, ge=1, description="Gaussian filter of the field: its pixels, odd")
    sigma: float = Field(2.0, gt=0, description="its standard deviation in pixels of the field")
    border: Literal["reference"] | None = Field(
        None, description="the published program's frame, which folds inwards at every strength"
    )
    controls: int | None = Field(
        None, ge=4, le=256, description="of a cubic B-spline instead of the filter, on a side"
    )
    squarings: int | None = Field(
        None, ge=3, le=10, description="the spline is a velocity, integrated by so many squarings"
    )
    tone: float | None = Field(
        None, gt=0, le=0.25, description="largest change of a gray level besides, by a spline, too"
    )

    @model_validator(mode="before")
    @classmethod
    def _strength(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("border") == "replicate":  # the generator's word for none
            values = {**values, "border": None}
        if values.get("rms") is None:
            return values
        if values.get("mu") is not None:
            raise ValueError("give mu or rms, not both")
        return {**values, "mu": None}

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel must be odd, got {self.kernel}")
        for name in ("squarings", "tone"):
            if getattr(self, name) is not None and self.controls is None:
                raise ValueError(f"{name} needs controls, the spline's")
        if self.controls and self.border:
            raise ValueError("border=reference is of the filter; leave controls out")
        if self.border and self.rms is None:
            raise ValueError("border=reference moves further than mu; give rms instead")
        if self.controls and self.controls > self.size:
            raise ValueError(f"controls must be at most size, {self.size}, got {self.controls}")
        return self


class KSameOptions(SetOptions):
    """Who is put together."""

    k: int = Field(5, ge=2, le=1000, description="different patients in an output, at least")


class MosaicOptions(SetOptions):
    """How much of whom is shown."""

    g: int = Field(4, ge=2, le=16, description="patches along a side")
    m: int = Field(
        4, ge=1, description="patches of a patient in the whole release, at most; g² is an image"
    )
    uses: int = Field(1, ge=1, le=100, description="mosaics that show each patch")
    feather: float = Field(
        0.5, ge=0, le=1, description="part of a patch over which it passes into its neighbour"
    )
    warp: float | None = Field(
        None, gt=0, le=0.3, description="RMS of a random warp of each patch; half an image is 1"
    )
    band: Band | None = Field(
        None, description="coarse or fine structure alone, parted at cut; else both"
    )
    cut: float | None = Field(
        None,
        gt=0,
        le=0.25,
        description="of the side: standard deviation of the filter that parts coarse from fine; "
        "none: 1/64",
    )

    @model_validator(mode="after")
    def _share(self) -> Self:
        if self.m > self.g**2:
            raise ValueError(f"m must be at most g² = {self.g**2}, got {self.m}")
        return self


class UtilityCodeOptions(NoiseOptions):
    """How little of whom is told."""

    codes: int = Field(16, ge=1, le=1000, description="kinds of patients at most")
    donors: int = Field(10, ge=2, description="patients of the pool that a code has at least")
    per: Literal["patient", "image"] = Field(
        "patient", description="one code for all images of a patient, or one for each"
    )
    own: float = Field(
        0.0, ge=0, le=0.5, description="weight of the image itself, which ends every promise"
    )
    pool: float = Field(
        0.5, gt=0, le=1, description="share of the patients it learns from that are its pool"
    )
    samples: int | None = Field(
        None,
        ge=0,
        le=10000,
        description="of a generative model of the pool, for each code, in place of its films",
    )


class NeuralObfuscationOptions(NoiseOptions):
    """How much of an image is kept."""

    rho: float = Field(
        0.06, ge=0, le=10, description="of the others' embeddings; 0.04 to 0.08 were published"
    )
    batch: int = Field(64, ge=2, le=4096, description="images that share a decoder, at most")
    embedding: int = Field(64, ge=1, le=4096, description="numbers of an image")
    width: int = Field(16, ge=1, le=1024, description="channels of the decoder")
    steps: int = Field(300, ge=1, description="of Adam, for every decoder")


class PrivacyNetOptions(GeneratorOptions):
    """Privacy-Net's U-Net; the published one has 16 first features and three poolings."""

    method: Literal["privacy-net"] = "privacy-net"
    features: int = Field(16, ge=1, description="channels of the U-Net's first level")
    levels: int = Field(3, ge=1, le=6, description="poolings; the size is a multiple of 2**levels")
