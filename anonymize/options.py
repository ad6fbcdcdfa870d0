"""Typed options of a run, read from YAML and ``--set``; unknown keys are refused."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from anonymize.errors import UsageError


class Options(BaseModel):
    """Base of every section: immutable, and a misspelt key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DataOptions(Options):
    """Which radiographs, and how they are split and paired."""

    source: str = Field("phantom", description="name of the data set's reader")
    root: Path | None = Field(None, description="folder of the data set; none for the phantom")
    size: int = Field(64, ge=16, le=4096, description="images are size × size pixels")
    on_missing: Literal["error", "skip"] = Field(
        "error", description="what a listed but absent or unreadable image does"
    )
    split_seed: int = Field(0, ge=0, description="seed of the patient-wise 70:10:20 split")
    uncertain: Literal["unknown", "positive", "negative"] = Field(
        "unknown", description="how CheXpert's uncertainty label −1 is read"
    )
    patients: int = Field(600, ge=10, description="phantom: number of patients")
    images: int = Field(2000, ge=10, description="phantom: number of images")
    phantom_seed: int = Field(0, ge=0, description="phantom: who is drawn")
    negatives: Literal["fixed", "fresh"] = Field(
        "fresh", description="impostor pairs: once (FTS) or drawn again each epoch (RNP)"
    )
    pairs: int | None = Field(
        None, ge=2, description="training pairs, half of them genuine; none: all genuine pairs"
    )
    pair_list: Path | None = Field(
        None, description="tab-separated training pairs (two file names, 1.0 or 0.0)"
    )
    cache: Path | None = Field(None, description="folder of the HDF5 caches; none: the user's")
    workers: int = Field(2, ge=1, le=256, description="processes that read images")

    @model_validator(mode="after")
    def _phantom(self) -> DataOptions:
        if self.images < self.patients:
            raise ValueError(
                f"data.images ({self.images}) must be at least data.patients ({self.patients})"
            )
        return self
