"""Which releases are looked at, in which order, and how small a search is made."""

from collections.abc import Mapping
from typing import Any

from anonymize.configuration import load_options
from anonymize.options import TrainOptions

# What a search takes less of than `attacks evaluate`: so much fits into minutes of two CPU cores.
SMALL: Mapping[str, Any] = {
    "classifier.width": 16,
    "classifier.epochs": 6,
    "evaluation.repeats": 1,
    "evaluation.utility_repeats": 3,  # of two the interval is too wide to tell anything
    "evaluation.histogram_metric.copies": 2,
}
# They learn from releases of other patients; means, patches, what is done alike to all images, and
# all outputs of a patient together.
ATTACKERS = ("histogram-metric", "unmixing", "patchwise", "labels", "ensemble", "sets")
SETS = (
    *("mosaic:g=4,m=16,warp=0.1,read=1", "mosaic:g=3,m=9,warp=0.1,read=1"),  # of bent patches
    "mosaic:g=4,m=16,warp=0.1,read=1,band=coarse",
    *("mosaic:g=4,m=4", "mosaic:g=3,m=3", "k-same:k=5", "k-same:k=10"),
)
CELLS = (4, 8)  # of DP-Pix, along a side: those of a mosaic, and half as large ones


def candidates(size: int) -> tuple[str, ...]:
    """The methods for images of ``size`` pixels, as `anonymize.load` takes them; the most telling
    first, since time may end."""
    return (*SETS, *(f"dp-pix:b={max(size // n, 1)},epsilon=0.1" for n in CELLS))


def small_options(changes: Mapping[str, Any]) -> TrainOptions:
    """The options of a search; what a user changes wins. Raises UsageError: an unknown option, or a
    value out of range."""
    return load_options("quick", {**SMALL, **changes})
