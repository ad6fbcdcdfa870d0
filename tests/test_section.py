"""What no section of options takes, and how it is said."""

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


def test_a_long_value_is_not_repeated_whole():
    with pytest.raises(UsageError, match=r"option x: .*; got '1, 1") as caught:
        validated(Free, {"x": "1, " * 10_000})
    assert len(str(caught.value)) < 200
