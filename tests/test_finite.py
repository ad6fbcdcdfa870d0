"""NaN and infinity are no option of anything, and the message says so."""

import pytest

from anonymize.errors import UsageError
from anonymize.options import TrainOptions
from anonymize.section import Options, validated


class Free(Options):
    """Without bounds of its own."""

    x: float = 0.0
    few: tuple[float, ...] = ()


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("section", "made"),
    [
        (Free, lambda value: {"x": value}),
        (Free, lambda value: {"few": [1.0, value]}),
        (TrainOptions, lambda value: {"generator": {"mu": value}}),
    ],
)
def test_a_section_takes_finite_numbers(section, made, value):
    with pytest.raises(UsageError, match=r"it must be a finite number; got"):
        validated(section, made(value))
