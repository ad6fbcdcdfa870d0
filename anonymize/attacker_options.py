"""Typed options of the attackers that have any, sections of ``evaluation``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from anonymize.section import Options

RANDOM = "random"


class PixelsOptions(Options):
    """The attacker ``pixels``."""

    side: int = Field(32, ge=2, le=1024, description="images are averaged to side × side pixels")
    distance: Literal["cosine", "euclidean"] = Field("cosine", description="of standardised pixels")


class FeaturesOptions(Options):
    """The attacker ``features``: a network with published weights."""

    network: str = Field("resnet50", description="of torchvision; timm:NAME for one of timm")
    weights: str = Field(
        "DEFAULT",
        description="published weights by name (timm: by tag), fetched where they are not in the "
        "cache; 'random' for a network that learnt nothing",
    )
    file: Path | None = Field(
        None, description="a file of published weights instead (.safetensors, or torch.save's)"
    )
    crop: Literal["whole", "central", "shifted"] = Field(
        "whole",
        description="what of an image is looked at; 'shifted': the probe's centre, the most alike "
        "of nine crops of the gallery image",
    )
    fraction: float = Field(0.8, gt=0, lt=1, description="side of a crop, as a share of the image")
    size: int = Field(224, ge=32, le=1024, description="a crop is resized to size × size pixels")
    distance: Literal["cosine", "euclidean"] = Field("cosine", description="of two features")
    batch: int = Field(32, ge=1, description="crops a step")

    @model_validator(mode="after")
    def _one_origin(self) -> FeaturesOptions:
        if self.file is not None and self.weights != "DEFAULT":
            raise ValueError(
                f"weights come from a file or by name, not both; got {self.weights!r} beside a file"
            )
        return self
