"""Figures as results hold them: fractions in [0, 1]; one that is undefined is null, never NaN."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

# Names of figures that become operating points and the ROC: ``MISSED|RATE``, ``PASSED|RATE``.
MISSED, PASSED, COMPARISONS = "fnmr", "tmr", "independent_comparisons"


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Number = Annotated[float, Field(allow_inf_nan=False)]
Figure = Annotated[float | None, BeforeValidator(_finite)]
Interval = tuple[Number, Number]


class Record(BaseModel):
    """Base of every part: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Estimate(Record):
    """A figure measured in one or several independent runs."""

    mean: Number
    sd: Number = Field(description="standard deviation of the runs, divisor n − ddof")
    runs: tuple[Number, ...] = Field(min_length=1)
    ci95: Interval | None = Field(None, description="of the mean, patients resampled")
    ddof: int = Field(0, description="0 as in the published program")


class OperatingPoint(Record):
    """What a threshold that few impostor pairs pass rejects of the genuine pairs."""

    false_match_rate: Number = Field(description="share of the impostor pairs that pass, at most")
    false_non_match_rate: Estimate
    certified: bool = Field(
        description="there are 3 / false_match_rate independent comparisons or more; with fewer, "
        "not one error would not show that the rate is so low (rule of three)"
    )


class Difference(Record):
    """The AUC less that of another method, run by run and on the same draws of patients."""

    to: str = Field(description="title of the other method")
    role: Literal["real", "control"] = Field(
        description="the real images, or what the method has to surpass"
    )
    difference: Estimate
    p: Figure = Field(None, description="two-sided, that there is none")
    p_holm: Figure = Field(
        None, description="the same among all differences of the evaluation in this reading"
    )


class NotWorse(Record):
    """Two one-sided tests at 5 % that a difference is within ±``margin`` (`comparisons`)."""

    margin: Number
    not_worse: bool = Field(description="shown: it is above −margin")
    equivalent: bool = Field(description="shown: it is below margin, too")
    p: Number = Field(description="one-sided, that it is −margin or less")
    ci90: Interval | None = Field(None, description="of the difference")


class GroupRate(Record):
    """The true match rate of genuine pairs that have something in common."""

    group: str
    pairs: int
    patients: int
    rate: Estimate | None = Field(None, description="null: too few pairs or patients")
    coin: Figure = Field(
        None,
        description="rate of random scores, expected, where scores are of all that shows a patient",
    )


class Breakdown(Record):
    """Where an attacker succeeds, at one threshold for all pairs of a reading; ``facts`` by the
    keys of `pair_facts.TITLES`."""

    false_match_rate: Number = Field(description="share of the impostor pairs above the threshold")
    rate: Estimate = Field(description="true match rate of all genuine pairs")
    facts: dict[str, tuple[GroupRate, ...]] = {}


class Figures(Record):
    """What an attacker reaches. ``estimates`` holds each figure but the AUC in full."""

    auc: Estimate
    auc_patient: Figure = Field(None, description="AUC of one genuine pair a patient, expected")
    auc_listed: Figure = None
    auc_validation: Figure = None
    auc_within: Figure = Field(None, description="AUC within the release, no real image compared")
    auc_members: Figure = Field(
        None,
        description="of releases of sets, asked for the very films: AUC of telling people who are "
        "in a release from people who are not, by films of theirs that did not go in",
    )
    precision_at_1: Figure = None
    precision_at_1_own: Figure = Field(
        None,
        description="of releases of sets: the first guess is this very contributor; precision_at_1 "
        "counts any contributor",
    )
    precision_at_1_coin: Figure = Field(
        None,
        description="precision_at_1 of random guesses, expected, where these are no single images: "
        "of releases of sets, and of who takes together all that shows a patient",
    )
    map_at_r: Figure = None
    r_precision: Figure = None
    r_s: Figure = Field(None, description="of patients with several images")
    r_s_coin: Figure = Field(None, description="r_s of random guesses, expected, of the same")
    r_s_all: Figure = Field(None, description="of all patients in the gallery")
    equal_error_rate: Figure = None
    top_5: Figure = None
    top_10: Figure = None
    top_15: Figure = None
    estimates: dict[str, Estimate] = Field(default_factory=dict)
    operating_points: tuple[OperatingPoint, ...] = ()
    roc: dict[str, Number] = Field({}, description="true match rate by false match rate")
    independent_comparisons: int | None = Field(
        None, description="pairs of identified patients of whom none is in two pairs"
    )
    differences: tuple[Difference, ...] = ()
    breakdown: Breakdown | None = Field(None, description="null: not measured")
    p_below_chance: Figure = Field(
        None,
        description="that the AUC is 0.5 or more; Holm, among all attacks of the evaluation in "
        "this reading",
    )

    @classmethod
    def of(cls, estimates: Mapping[str, Estimate], **others: Any) -> Self:
        """Made from estimates by name (`statistics.estimate_identification` gives them) and the
        other fields."""
        beside, operating = _operating(estimates)
        auc = beside.pop("auc")
        means = {k: v.mean for k, v in beside.items()}
        fields = {"auc": auc, "estimates": beside, **means, **operating, **others}
        return cls(**fields)

    def estimate(self, figure: str) -> Estimate | None:
        """The figure with its spread; None where it was not measured."""
        return self.auc if figure == "auc" else self.estimates.get(figure)


def _operating(estimates: Mapping[str, Estimate]) -> tuple[dict[str, Estimate], dict[str, Any]]:
    """Estimates without those of `operating`, and these as fields."""
    others, missed, roc = {}, {}, {}
    for name, estimate in estimates.items():
        kind, _, rate = name.partition("|")
        if kind == MISSED:
            missed[float(rate)] = estimate
        elif kind == PASSED:
            roc[rate] = estimate.mean
        else:
            others[name] = estimate
    if COMPARISONS not in others:
        return others, {}
    independent = round(others.pop(COMPARISONS).mean)
    points = tuple(
        OperatingPoint(
            false_match_rate=rate, false_non_match_rate=found, certified=independent * rate >= 3
        )
        for rate, found in missed.items()
    )
    return others, {"operating_points": points, "roc": roc, "independent_comparisons": independent}


class Matched(Figures):
    """The same figures of pairs of images of the same findings, sex, age and view."""

    genuine_pairs: int | None = Field(None, description="null: all, whether alike or not")
    impostor_pairs: int


class LabelAuc(Record):
    """Mean over the labels of the AUC of each; one that hardly anybody has, or lacks, has none."""

    mean: Figure
    sd: Figure = None
    runs: tuple[Number, ...] = ()
    ci95: Interval | None = None
    per_class: dict[str, Figure] = Field(default_factory=dict)


class Floor(Record):
    """What links images without looking for a patient in them."""

    name: str
    message: str = Field("", description="what it knows, and what its figure means")
    auc: Estimate | None = Field(None, description="null: not measured; the message says why")
    matched: Estimate | None = Field(None, description="AUC against matched impostors")
    precision_at_1: Estimate | None = Field(None, description="first guesses right, among all")
    first_guess_matched: Estimate | None = Field(
        None, description="first guesses right, among matched images"
    )
    r_s: Estimate | None = Field(None, description="patients given away, among all")
    equal_error_rate: Estimate | None = Field(None, description="against matched impostors")
    operating_points: tuple[OperatingPoint, ...] = Field((), description="of the same pairs")


class Generators(Record):
    """Methods alike but for their seed, as one: each run is one generator, or one lot of a method
    that draws, its value the mean of all attacks on it. By attacker, against all impostors and
    against matched ones.

    Every interval of a difference holds other generators, other trainings and other patients;
    ``p_holm`` is among all differences of several generators in its reading."""

    name: str
    options: dict[str, Any] = Field(default_factory=dict, description="that they share")
    seeds: tuple[int, ...]
    auc: dict[str, Estimate] = Field(default_factory=dict)
    matched: dict[str, Estimate] = Field(default_factory=dict)
    differences: dict[str, tuple[Difference, ...]] = Field(
        {}, description="of auc, by attacker; these and others are empty of earlier results"
    )
    matched_differences: dict[str, tuple[Difference, ...]] = Field({}, description="of matched")
    retrained: Estimate | None = Field(
        None, description="mean AUC of the retrained classifiers; null: not measured, or earlier"
    )
    retrained_differences: tuple[Difference, ...] = ()
