"""An AUC in the progress lines of an evaluation, which say what it is of."""

import math
from collections.abc import Mapping

from anonymize.statistics import Measured
from attacks.measuring.matching import PREFIX
from attacks.measuring.reading_names import ALL, MATCHED, NAMES


def linked_in_words(figures: Mapping[str, Measured], known: bool) -> str:
    """What an attacker reaches, the headline first: "AUC 0.871, matched impostors; 0.912, all
    impostors; measured before"."""
    said = {MATCHED: figures.get(f"{PREFIX}auc"), ALL: figures["auc"]}
    found = (f"{_value(auc)}, {NAMES[reading]}" for reading, auc in said.items() if auc)
    return f"AUC {'; '.join(found)}{_before(known)}"


def read_in_words(auc: Measured, known: bool) -> str:
    """What a classifier reads: "AUC 0.812, mean of the findings; measured before"."""
    return f"AUC {_value(auc)}, mean of the findings{_before(known)}"


def _value(auc: Measured) -> str:
    return "undefined" if math.isnan(auc.value) else f"{auc.value:.3f}"


def _before(known: bool) -> str:
    return "; measured before" if known else ""
