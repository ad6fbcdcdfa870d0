"""Progress lines name what an AUC is of."""

import numpy as np
import pytest

from anonymize.statistics import Measured
from attacks.evaluation.said_aucs import linked_in_words, read_in_words


def measured(value):
    return Measured(value, np.zeros(0))


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        (
            {"auc": 0.912, "matched|auc": 0.871},
            "AUC 0.871, matched impostors; 0.912, all impostors",
        ),
        ({"auc": 0.912}, "AUC 0.912, all impostors"),
        ({"auc": float("nan")}, "AUC undefined, all impostors"),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_an_attackers_is_said_against_whom_the_headline_first(figures, said, known):
    found = linked_in_words({name: measured(value) for name, value in figures.items()}, known)
    assert found == said + "; measured before" * known


def test_a_classifiers_is_the_mean_of_the_findings():
    assert read_in_words(measured(0.8), known=False) == "AUC 0.800, mean of the findings"
