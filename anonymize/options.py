"""Typed options of a run, read from YAML and ``--set``; unknown keys are refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import Field, ValidationError, create_model, model_validator

from anonymize.attacker_options import FeaturesOptions, PixelsOptions
from anonymize.errors import UsageError
from anonymize.identity_options import (
    ContrastiveOptions,
    HistogramMetricOptions,
    LearnedInverseOptions,
    RegistrationOptions,
    RetrievalOptions,
)
from anonymize.section import Options, only


class DataOptions(Options):
    """Which radiographs, and how they are split and paired."""

    source: str = Field("phantom", description="name of the data set's reader")
    root: Path | None = Field(
        None, description="folder of the data set; none for the phantom", **only()
    )
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
    validation_pairs: int = Field(5000, ge=2, description="fixed validation pairs, at most")
    validation_list: Path | None = Field(None, description="a list of them instead")
    test_pairs: int = Field(5000, ge=2, description="fixed test pairs, at most", **only("figures"))
    test_list: Path | None = Field(None, description="a list of them instead", **only("figures"))
    cache: Path | None = Field(
        None, description="folder of the HDF5 caches; none: the user's", **only()
    )
    workers: int = Field(2, ge=1, le=256, description="processes that read images", **only())

    @model_validator(mode="after")
    def _phantom(self) -> DataOptions:
        if self.images < self.patients:
            raise ValueError(
                f"data.images ({self.images}) must be at least data.patients ({self.patients})"
            )
        return self


class GeneratorOptions(Options):
    """What the generator of every trained method has; a method adds its own."""

    method: str
    features: int = Field(32, ge=1, description="channels of the U-Net's first level")
    levels: int = Field(4, ge=1, le=6, description="poolings; the size is a multiple of 2**levels")


class FlowOptions(GeneratorOptions):
    """PriCheXy-Net's U-Net and its flow field."""

    method: Literal["prichexy-net"] = "prichexy-net"
    mu: float = Field(0.01, ge=0, le=1, description="largest displacement; [−1, 1] spans an image")
    kernel: int = Field(9, ge=1, le=1023, description="Gaussian filter of the field: pixels, odd")
    sigma: float = Field(2.0, gt=0, description="its standard deviation in pixels")
    border: Literal["replicate", "reference"] = Field(
        "replicate", description="'reference' repeats the published program's frame artefact"
    )

    @model_validator(mode="after")
    def _odd(self) -> FlowOptions:
        if self.kernel % 2 == 0:
            raise ValueError(f"generator.kernel must be odd, got {self.kernel}")
        return self


class ClassifierOptions(Options):
    """The auxiliary classifier."""

    architecture: str = Field("densenet121", description="a backbone by name")
    weights: str | None = Field(None, description="torchvision's published weights by name")
    width: int = Field(32, ge=4, description="first channels of the backbone 'compact'")
    size: int | None = Field(None, ge=16, description="input size in pixels; none: as it comes")
    epochs: int = Field(30, ge=1, description="at most")
    patience: int = Field(5, ge=1, description="epochs without improvement on validation")
    batch: int = Field(32, ge=2, description="images a step")
    rate: float = Field(1e-4, gt=0, description="learning rate of Adam")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty")
    augment: bool = Field(True, description="small random affine maps and gray-scale changes")


class VerifierOptions(Options):
    """The siamese verifier: pre-trained, the opponent of the generator, and the attacker."""

    architecture: str = Field("resnet50", description="a backbone by name")
    weights: str | None = Field(None, description="torchvision's published weights by name")
    width: int = Field(32, ge=4, description="first channels of the backbone 'compact'")
    features: int = Field(128, ge=2, description="length of the embedding")
    epochs: int = Field(100, ge=1, description="at most")
    patience: int = Field(5, ge=1, description="epochs without improvement on validation")
    objective: Literal["pairs", "batch"] = Field(
        "pairs",
        description="'pairs': BCE on the listed pairs, as published; 'batch': every image of a "
        "batch against every other, BCE and InfoNCE, much stronger on few images",
    )
    batch: int = Field(32, ge=2, description="pairs a step")
    rate: float = Field(1e-4, gt=0, description="learning rate of Adam")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty")
    augment: bool = Field(False, description="small random affine maps and gray-scale changes")


class ReconstructionOptions(Options):
    """Pre-training of the generator: MSE(F(x), x)."""

    epochs: int = Field(200, ge=0, description="0 leaves the pre-training out")
    patience: int = Field(200, ge=1, description="epochs without improvement on validation")
    batch: int = Field(64, ge=2, description="images a step")
    rate: float = Field(1e-4, gt=0, description="learning rate of Adam")


class AdversarialOptions(Options):
    """The game of generator, verifier and classifier (Eq. 4 to 6 of the paper)."""

    epochs: int = Field(250, ge=1, description="passes over the pairs")
    patience: int = Field(250, ge=1, description="epochs without improvement on validation")
    batch: int = Field(64, ge=2, description="pairs a step")
    rate: float = Field(1e-4, gt=0, description="learning rate of the generator (Adam)")
    verifier: Literal["updated", "frozen"] = Field("updated", description="Eq. 6")
    verifier_rate: float = Field(1e-4, gt=0, description="learning rate of the verifier (Adam)")
    auxiliary: Literal["frozen", "updated"] = Field("frozen", description="Eq. 5 if updated")
    auxiliary_loss: Literal["sum", "mean"] = Field(
        "sum", description="Eq. 2 over the labels; 'mean' as the published program"
    )
    verification_weight: float = Field(1.0, ge=0, description="factor of L_ver in Eq. 4")


class EvaluationOptions(Options):
    """How `attacks evaluate` measures a run."""

    repeats: int = Field(
        10, ge=1, description="independent trainings of each trained attacker", **only()
    )
    resamplings: int = Field(1000, ge=10, description="bootstrap draws of the patients")
    utility: bool = Field(
        True, description="measure what the images are still good for, too", **only()
    )
    attacker_start: Literal["verifier", "scratch"] = Field(
        "verifier",
        description="the attacker goes on from the verifier of real images, or starts anew (from "
        "verifier.weights where they are given)",
    )
    attacker_epochs: int | None = Field(
        None, ge=1, description="at most, of each trained attacker; none: verifier.epochs"
    )
    attacker_pairs: Literal["released-released", "released-real", "mixed"] = Field(
        "released-released",
        description="what the attacker trains on: both images of a pair released (as published), "
        "one of them real, or half of the pairs each",
    )
    false_match_rate: float = Field(
        0.01, gt=0, lt=1, description="of the threshold at which true match rates are given"
    )
    scenario: Literal["released-real", "released-released", "before-after"] = Field(
        "released-real",
        description="a released image against the patient's other real images, against the "
        "patient's other released images, or against its own original",
    )
    pixels: PixelsOptions = PixelsOptions()
    features: FeaturesOptions = FeaturesOptions()
    contrastive: ContrastiveOptions = ContrastiveOptions()
    retrieval: RetrievalOptions = RetrievalOptions()
    histogram_metric: HistogramMetricOptions = HistogramMetricOptions()
    registration: RegistrationOptions = RegistrationOptions()
    learned_inverse: LearnedInverseOptions = LearnedInverseOptions()


class TrainOptions(Options):
    """Everything that `anonymize train` is made of, and how it is measured.

    ``generator`` holds the options of PriCheXy-Net; :func:`train_options` gives the same class for
    another method.
    """

    seed: int = Field(0, ge=0, description="of every random choice")
    threads: int | None = Field(
        None, ge=1, description="CPU threads; none: torch's choice", **only()
    )
    precision: Literal["no", "bf16", "fp16"] = Field(
        "no", description="mixed precision of training; 'no' is float32"
    )
    accumulation: int = Field(
        1, ge=1, description="micro-batches a batch is computed in, to need less memory"
    )
    data: DataOptions = DataOptions()
    generator: FlowOptions = Field(FlowOptions(), **only("model"))
    classifier: ClassifierOptions = ClassifierOptions()
    verifier: VerifierOptions = VerifierOptions()
    reconstruction: ReconstructionOptions = Field(ReconstructionOptions(), **only("model"))
    adversarial: AdversarialOptions = Field(AdversarialOptions(), **only("model"))
    evaluation: EvaluationOptions = Field(EvaluationOptions(), **only("figures"))
    samples: int = Field(4, ge=0, le=16, description="images in each sample picture", **only())

    @model_validator(mode="after")
    def _fits(self) -> TrainOptions:
        step = 2**self.generator.levels
        if self.data.size % step:
            raise ValueError(
                f"data.size must be a multiple of {step} (2**generator.levels), "
                f"got {self.data.size}"
            )
        return self


@cache
def train_options(method: str) -> type[TrainOptions]:
    """The options of a run that trains ``method``.

    Raises:
        UsageError: no such method, or one that has nothing to train.
    """
    if method == FlowOptions().method:
        return TrainOptions
    from anonymize.trained import trained_method

    options = trained_method(method).Options
    section = Field(options(), **only("model"))
    return create_model("TrainOptions", __base__=TrainOptions, generator=(options, section))


def config_names() -> list[str]:
    """The configurations that come with the package."""
    return sorted(path.stem for path in _configs().glob("*.yaml"))


def _configs() -> Path:
    """Their folder: in the installed package, beside it in a source tree (``python -m``)."""
    installed = Path(__file__).parent / "configs"
    return installed if installed.is_dir() else Path(__file__).parents[1] / "configs"


def load_options(
    config: str | Path = "quick", changes: dict[str, Any] | None = None
) -> TrainOptions:
    """Options from a configuration by name or file, with ``changes`` ("a.b" → value) on top.

    Raises:
        UsageError: no such configuration, unreadable YAML, unknown key or a value out of range.
    """
    values = read_config(config)
    if "base" in values:
        raise UsageError(
            f"config {str(config)!r} is an evaluation; give it to `attacks evaluate --config`"
        )
    for key, value in (changes or {}).items():
        section = values
        *path, last = key.split(".")
        for name in path:
            section = section.setdefault(name, {})
            if not isinstance(section, dict):
                raise UsageError(f"option {key}: {name} is a value, not a section")
        section[last] = value
    generator = values.get("generator") or {}
    method = generator.get("method", "prichexy-net") if isinstance(generator, dict) else ""
    return validated(train_options(str(method)) if method else TrainOptions, values)


def validated(model: type[Options], values: dict[str, Any]) -> Any:
    """``model(**values)``; what pydantic refuses becomes a UsageError of one line."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise UsageError("; ".join(_explain(e, model) for e in error.errors()[:3])) from None


def parse_setting(text: str) -> tuple[str, Any]:
    """``key=value`` of ``--set``; the value is read as YAML."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--set must read key=value, for instance data.size=128; got {text!r}")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError:
        raise UsageError(f"--set {key}: {value!r} is not YAML") from None
    # YAML 1.1 reads 1e-4 as a string.
    if isinstance(parsed, str):
        with suppress(ValueError):
            parsed = float(parsed)
    return key.strip(), parsed


def write_options(options: TrainOptions, path: Path) -> None:
    """The options as YAML; absolute paths stay what they are."""
    values = options.model_dump(mode="json")
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def read_config(config: str | Path) -> dict[str, Any]:
    """The keys and values of a configuration by name or file, as they stand there.

    Raises:
        UsageError: no such configuration, or unreadable YAML.
    """
    names = config_names()
    if str(config) in names:
        text = (_configs() / f"{config}.yaml").read_text(encoding="utf-8")
    else:
        try:
            text = Path(config).read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"config must be one of {', '.join(names)} or a readable YAML file; "
                f"got {str(config)!r} ({type(error).__name__})"
            ) from None
        except UnicodeDecodeError:
            raise UsageError(f"config {str(config)!r} is not UTF-8 text") from None
    try:
        values = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        place = "" if line is None else f" at line {line + 1}"
        raise UsageError(f"config {str(config)!r} is not YAML{place}") from None
    if not isinstance(values, dict):
        raise UsageError(f"config {str(config)!r} must hold keys and values")
    return values


def _explain(error: dict[str, Any], model: type[Options]) -> str:
    place = ".".join(str(p) for p in error["loc"])
    if error["type"] == "extra_forbidden":
        section: Any = model
        for name in error["loc"][:-1]:
            entries = isinstance(name, int)
            section = get_args(section)[0] if entries else section.model_fields[name].annotation
        return (
            f"unknown option {place}{_nearest(place, section, model)}; "
            f"known here: {', '.join(section.model_fields)}"
        )
    message = error["msg"].removeprefix("Value error, ").replace("Input should", "it must")
    if not place:
        return message
    return f"option {place}: {message}; got {error['input']!r}"


def _nearest(place: str, section: type[Options], model: type[Options]) -> str:
    """A question that names the option most like ``place``; empty where none is."""
    before, dot, last = place.rpartition(".")
    found = get_close_matches(last, section.model_fields, n=1, cutoff=0.7)
    found = [f"{before}{dot}{name}" for name in found]
    found = found or [path for path in _paths(model) if path.endswith(f".{last}")]
    return f" (did you mean {found[0]}?)" if len(found) == 1 else ""


def _paths(model: type[Options], prefix: str = "") -> Iterator[str]:
    for name, option in model.model_fields.items():
        yield f"{prefix}{name}"
        if isinstance(option.annotation, type) and issubclass(option.annotation, Options):
            yield from _paths(option.annotation, f"{prefix}{name}.")
