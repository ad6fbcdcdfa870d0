"""The built-in data set: procedural frontal chest radiographs with identity and findings."""

from anonymize.data.phantom.cohort import cohort
from anonymize.data.phantom.draw import draw
from anonymize.data.phantom.labels import LABELS

__all__ = ["LABELS", "cohort", "draw"]
