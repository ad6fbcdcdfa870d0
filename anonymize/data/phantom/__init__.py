"""The built-in data set: procedural frontal chest radiographs with identity and findings."""

from anonymize.data.labels import CHESTXRAY14 as LABELS
from anonymize.data.phantom.course import cohort
from anonymize.data.phantom.draw import draw

__all__ = ["LABELS", "cohort", "draw"]
