"""Options of generators: what each has, and those of PriCheXy-Net's flow field."""

import math
from typing import Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from anonymize.section import Options


class GeneratorOptions(Options):
    """What the generator of every trained method has; a method adds its own."""

    method: str
    features: int = Field(32, ge=1, description="channels of the U-Net's first level")
    levels: int = Field(4, ge=1, le=6, description="poolings; the size is a multiple of 2**levels")

    def check_size(self, size: int) -> None:
        """Raises ValueError where there is no such generator of images of ``size`` pixels."""
        step = 2**self.levels
        if size % step:
            raise ValueError(
                f"data.size must be a multiple of {step} (2**generator.levels), got {size}"
            )


# Of the bound, in spacings of a spline's control points: a displacement does not fold (Choi and
# Lee 2000); of a velocity, none was found that does by searching for it.
STEEPEST_DISPLACEMENT, STEEPEST_VELOCITY = 0.48, 0.8


class FlowOptions(GeneratorOptions):
    """PriCheXy-Net's U-Net and its flow field."""

    method: Literal["prichexy-net"] = "prichexy-net"
    unit: Literal["share", "pixels", "millimetres"] | None = Field(
        None,
        description="what mu counts: shares of the image's side, pixels of an image of the "
        "training's size, or millimetres of the body; none: [−1, 1] spans an image (Eq. 1)",
    )
    side: float | None = Field(
        None,
        gt=0,
        description="millimetres of the body that an image's side shows (about 400 for an adult), "
        "for unit=millimetres",
    )
    mu: float = Field(0.01, ge=0, description="largest displacement; [−1, 1] spans an image")
    kernel: int = Field(9, ge=1, le=1023, description="Gaussian filter of the field: pixels, odd")
    sigma: float = Field(2.0, gt=0, description="its standard deviation in pixels")
    border: Literal["replicate", "reference"] = Field(
        "replicate", description="'reference' repeats the published program's frame artefact"
    )
    controls: int | None = Field(
        None,
        ge=4,
        le=256,
        description="control points on a side of a cubic B-spline, which takes the place of the "
        "Gaussian filter and does not fold (Rueckert et al. 1999); none: the filter",
    )
    squarings: int | None = Field(
        None,
        ge=3,
        le=10,
        description="the spline is a stationary velocity, integrated by so many squarings (7 is "
        "usual; Arsigny et al. 2006); none: it is the displacement itself",
    )
    bending: float | None = Field(
        None,
        gt=0,
        description="weight of the bending energy in the generator's loss (Rueckert et al. 1999); "
        "none: it is not in there",
    )
    tone: float | None = Field(
        None,
        gt=0,
        le=0.25,
        description="largest change of a gray level of [0, 1] besides, by a spline of the same "
        "control points; none: gray levels only move",
    )

    drawn: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="control points move in random directions, other ones for each image, and the "
        "network says how far: by this share of mu at least; none: it says whither, too",
    )

    @field_validator("mu")
    @classmethod
    def _within(cls, mu: float, info: ValidationInfo) -> float:
        half = (info.data.get("side") or math.inf) / 2
        most = {None: 1, "share": 0.5, "pixels": 1024, "millimetres": half}[info.data.get("unit")]
        if not mu <= most:
            raise ValueError(f"it must be less than or equal to {most:g}")
        return mu

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.kernel % 2 == 0:
            raise ValueError(f"generator.kernel must be odd, got {self.kernel}")
        if (self.unit == "millimetres") != (self.side is not None):
            raise ValueError("generator.side goes with generator.unit=millimetres: name both")
        for name in ("squarings", "tone", "drawn"):
            if getattr(self, name) is not None and self.controls is None:
                raise ValueError(f"generator.{name} needs generator.controls, the spline's")
        if self.drawn is not None and self.bending is not None:
            raise ValueError("generator.bending is of a field that is not drawn; leave it out")
        if self.controls and self.border == "reference":
            raise ValueError("generator.border=reference is of the filter; leave controls out")
        return self

    def reach(self, size: int) -> float:
        """The largest displacement, [−1, 1] spanning an image, of a network of ``size`` pixels."""
        of_body = 2 / (self.side or math.inf)
        spans = {None: 1, "share": 2, "pixels": 2 / (size - 1), "millimetres": of_body}
        return self.mu * spans[self.unit]

    def check_size(self, size: int) -> None:
        super().check_size(size)
        if self.controls is None:
            return
        if self.controls > size:
            raise ValueError(f"generator.controls must be at most data.size, got {self.controls}")
        limit = STEEPEST_VELOCITY if self.squarings else STEEPEST_DISPLACEMENT
        steepest = self.reach(size) * (self.controls - 3) / 2
        if steepest > limit:
            raise ValueError(
                f"generator.mu {self.mu:g} is {steepest:.2f} of the spacing of {self.controls} "
                f"control points, and may fold beyond {limit}; take fewer of generator.controls"
                + ("" if self.squarings else ", or generator.squarings=7")
            )
