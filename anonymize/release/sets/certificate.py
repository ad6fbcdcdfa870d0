"""What a set release says of itself: counts, options and bounds, and of no patient anything.

``certificate.json`` has these keys and types and no others, in one form of writing, so that nobody
can put anything else there unseen; ``certificate.md`` follows from it.
"""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from anonymize.errors import DataError
from anonymize.release.labels.texts import class_name
from anonymize.release.records.manifests import METHOD, ManifestError
from anonymize.release.sets.in_common import InCommon
from anonymize.release.uniform import LARGEST

KEY = re.compile(r"[a-z][a-z_]{0,31}")
WORD = re.compile(r"[a-z][a-z-]{0,31}")
MOST = 10**9
MOST_PARTS = 10_000  # of which a bound of a method is some
NOT_PROMISED = (
    "This is not differential privacy: no bound holds against whoever knows more than the release.",
    "Whoever holds the very image of a person may find out that it is in the release, and in which "
    "outputs.",
    "Small groups protect little: who is known to be in a group of five is one of five, and who "
    "knows the others is left with one.",
    "What all members of a group have in common, as a finding, is known of each as soon as the "
    "group is.",
    "Several releases of the same people give away what one does not: whoever stands in the same "
    "place of two is found by what they share.",
)
UNMEASURED = (
    "How often the strongest known attacker finds people is no part of this page: it stands in the "
    "project's results, and `attacks evaluate` measures it on data of yours."
)
MEASURED = (
    "What attackers reached was measured on other images; who has more of these, more patients to "
    "learn from or more time, may reach more."
)
NO_BOUND = "No bound on P@1, how often a first guess at who is in an output is right, is promised: "
OWN_PIXELS = "patches are the person's own pixels, and whoever has the image may know them again."
NONE_NAMED = "the method names none."
DIGITS = 3  # of figures that were measured
SOURCE = re.compile(r"[a-z][a-z0-9-]{0,31}")
Figure = Annotated[list[float], Field(min_length=3, max_length=3)]


class Measured(BaseModel):
    """The most that attackers of one evaluation reached against the method: the figure and its
    95 % interval, rounded; what a coin would reach where it is known.

    ``first_guess`` counts anybody who is in an output, ``given_away`` the patients whom some output
    names; None: by a program that counted fewer."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    source: str
    size: int = Field(ge=16, le=LARGEST)
    images: int = Field(ge=1, le=MOST)
    patients: int = Field(ge=2, le=MOST)
    attackers: int = Field(ge=1, le=MOST_PARTS)
    matched: bool = Field(
        description="impostors are alike in findings, sex, age and view, where these are known"
    )
    auc: Figure
    first_guess: Figure
    first_guess_coin: float | None = Field(None, ge=0, le=1)
    given_away: Figure | None = None
    given_away_coin: float | None = Field(None, ge=0, le=1)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        beside = self.given_away or [0.0] * 3
        for mean, low, high in (self.auc, self.first_guess, beside):
            if not 0 <= low <= mean <= high <= 1:
                raise ValueError("a figure beside its interval")
        coins = self.first_guess_coin or 0.0, self.given_away_coin or 0.0
        figures = (*self.auc, *self.first_guess, *beside, *coins)
        if self.given_away is None and self.given_away_coin is not None:
            raise ValueError("patients given away by a coin alone")
        if any(round(value, DIGITS) != value for value in figures):
            raise ValueError("more digits than a release writes")
        if not SOURCE.fullmatch(self.source):
            raise ValueError("a data set of another form")
        return self


class Certificate(BaseModel):
    """The figures of a release. Shares are of 1; None where there is nothing to be said."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    certificate: Literal[3] = 3
    method: str
    options: dict[str, bool | int | float | str] = Field(description="without secrets")
    size: int = Field(ge=16, le=LARGEST)
    format: Literal["png", "dicom"]
    inputs: int = Field(ge=0, le=MOST)
    released: int = Field(ge=0, le=MOST, description="inputs that went into an output")
    not_grouped: int = Field(ge=0, le=MOST)
    quarantined: int = Field(ge=0, le=MOST)
    left_out: int = Field(ge=0, le=MOST, description="no images")
    outputs: int = Field(ge=0, le=MOST)
    patients: int = Field(ge=0, le=MOST, description="in any output")
    groups: int = Field(ge=0, le=MOST)
    people_per_output_asked: int = Field(ge=2, le=MOST)
    people_per_output_min: int | None = Field(ge=2, le=MOST)
    people_per_output_median: float | None = Field(ge=2, le=MOST)
    patients_per_group_min: int | None = Field(ge=2, le=MOST)
    labels: list[str] = Field(max_length=1000)
    in_common: InCommon | None = None
    largest_share_of_an_image: float | None = Field(gt=0, le=1)
    guess_at_most: float | None = Field(gt=0, le=0.5)
    no_bound: str | None = Field(
        default_factory=lambda told: no_bound(told), description="why guess_at_most is null"
    )
    measured: Measured | None = None
    not_promised: list[str] = Field(default_factory=lambda told: not_promised(told["measured"]))

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not METHOD.fullmatch(self.method) or not all(map(is_plain, self.options.items())):
            raise ValueError("a method or an option of another form")
        if self.no_bound != no_bound(dict(self)):
            raise ValueError("another reason why there is no bound")
        if self.not_promised != not_promised(self.measured):
            raise ValueError("another list of what is not promised")
        if self.inputs != self.released + self.not_grouped + self.quarantined + self.left_out:
            raise ValueError("the counts of files do not add up")
        names = [_name(label) for label in self.labels]
        if len(set(names)) != len(names) or names != self.labels:
            raise ValueError("labels of another form")
        of_outputs = (
            *(self.people_per_output_min, self.people_per_output_median),
            self.patients_per_group_min,
        )
        if any((one is None) == bool(self.outputs) for one in of_outputs):
            raise ValueError("figures of outputs without any, or the other way round")
        self._of_labels()
        least, median, fewest = of_outputs
        if self.outputs and not (
            self.people_per_output_asked <= (least or 0) <= (median or 0) <= self.patients
            and (least or 0) <= (fewest or 0)
            and (fewest or 0) * self.groups <= self.patients
            and 1 <= self.groups <= self.outputs
            and self.patients <= self.released
        ):
            raise ValueError("counts of people that cannot be")
        if not self._countable():
            raise ValueError("bounds or medians that no counts have")
        if not self.outputs and (self.patients or self.groups or self.released):
            raise ValueError("people without outputs")
        return self

    def _of_labels(self) -> None:
        """Raises ValueError where figures of labels are of another release."""
        common = self.in_common
        if (common is not None) != bool(self.outputs and self.labels):
            raise ValueError("figures of labels without any, or the other way round")
        if common is not None and not common.of(self.groups, self.outputs, self.labels):
            raise ValueError("people who have more in common than there are")

    def _countable(self) -> bool:
        """Whether the median is one of counts, and bounds are of few parts."""
        bounds = filter(None, (self.largest_share_of_an_image, self.guess_at_most))
        of_few = all(float(Fraction(b).limit_denominator(MOST_PARTS)) == b for b in bounds)
        return of_few and (self.people_per_output_median or 0) % 0.5 == 0

    def written(self) -> bytes:
        """The one form in which it is written."""
        told = self.model_dump()
        # As releases were before there was such a thing.
        if self.measured is None:
            del told["measured"]
        else:
            told["measured"] = self.measured.model_dump(exclude_none=True)
        return (json.dumps(told, indent=2) + "\n").encode()


def no_bound(told: Mapping[str, Any]) -> str | None:
    """Why a certificate with these figures has no bound on a guess; None where it has one."""
    if told["guess_at_most"] is not None:
        return None
    return NO_BOUND + (NONE_NAMED if told["largest_share_of_an_image"] is None else OWN_PIXELS)


def not_promised(measured: Measured | None) -> list[str]:
    """What is not promised, and what figures there are of it."""
    return [*NOT_PROMISED, UNMEASURED if measured is None else MEASURED]


def read(data: bytes) -> Certificate:
    """The certificate in ``data``. Raises ManifestError: another key or type, a value that cannot
    be, or another form of writing."""
    try:
        found = Certificate.model_validate(json.loads(data))
    except (ValidationError, ValueError, RecursionError):
        raise ManifestError(0, "other keys, types or values than a release writes") from None
    if found.written() != data:
        raise ManifestError(0, "not as a release writes it")
    return found


def is_plain(option: tuple[str, Any]) -> bool:
    """True for an option whose name and value are numbers and words alone."""
    key, value = option
    fits = WORD.fullmatch(value) is not None if isinstance(value, str) else True
    number = type(value) in (bool, int, float, str) and (value == value)
    return KEY.fullmatch(key) is not None and fits and number


def _name(label: str) -> str:
    try:
        return class_name(label, "a label")
    except DataError as error:
        raise ValueError("a label of another form") from error
