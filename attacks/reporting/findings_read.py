"""What the run's classifier, which real images taught, reads in each release: a verdict in words,
from an interval over patients that both sets of images share."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from anonymize.data.batches import HeldImages
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.runs import CLASSIFIER
from anonymize.statistics import BEARERS, measure_classification
from anonymize.training.compute import Compute
from anonymize.training.parts import load_classifier
from anonymize.training.stages import predict
from attacks.evaluation.plan import Plan
from attacks.measuring.comparisons import paired_runs
from attacks.measuring.estimates import Estimate
from attacks.measuring.statistics import summary
from attacks.reporting.tables import signed

NOTABLE = 0.05  # of AUC: findings are read as well where such a loss is outside the interval


class Read(NamedTuple):
    """Mean AUC of the findings, NaN where none can be judged; and how much above that of the real
    images, None for these themselves."""

    auc: float
    difference: Estimate | None = None


def reads(run: Path, plan: Plan, compute: Compute) -> list[Read]:
    """One a method of the plan, of which the first is the real images; on the test part."""
    data, options = Dataset.open(plan.options.data), plan.options
    classifier = load_classifier(run / CLASSIFIER).to(compute.device)
    rows, found = data.table.part("test"), []
    shown = HeldImages(data.images.batch(rows))
    for entrant in plan.entrants:
        released = released_images(entrant.model(compute.device), shown, device=compute.device)
        measured = measure_classification(
            predict(classifier, released, np.arange(len(rows)), compute.device),
            data.targets[rows],
            data.patients[rows],
            data.table.labels,
            resamplings=options.evaluation.resamplings,
            seed=options.seed,
        )
        found.append(measured.mean)
    real, *others = found
    if math.isnan(real.value):
        return [Read(math.nan) for _ in found]
    less = [summary(paired_runs([other], [real])) for other in others]
    return [Read(real.value), *map(Read, (other.value for other in others), less)]


def verdict(real: Read, own: Read) -> str:
    """Whether findings are read as well as in real images, and the figures that say so."""
    difference = own.difference
    if difference is None:
        return f"No finding can be judged: fewer than {BEARERS} patients have it, or lack it."
    figures = f"AUC {own.auc:.3f}, there {real.auc:.3f}, by one classifier, taught by real images"
    low, high = difference.ci95 or (difference.mean, difference.mean)
    known = difference.ci95 is not None or not difference.mean  # the same in every draw
    if known and high < 0:
        return f"Findings are read worse than in real images, by {loss(difference)}: {figures}."
    said = "indings are read as well as in real images"
    said = f"F{said}" if known and low > -NOTABLE else f"Too few patients to tell whether f{said}"
    return f"{said}, {signed(difference)}: {figures}."


def price(own: Read) -> str:
    """What the same classifier loses by a release; empty where that is not known."""
    difference = own.difference
    if difference is None:
        return ""
    lost = f"loses {loss(difference)} of AUC" if difference.mean < 0 else "loses nothing"
    return f"the same classifier {lost} by it, one taught by such images less"


def loss(difference: Estimate) -> str:
    """ "0.030 (0.010–0.050)": how far below, and its 95 % interval where there is one."""
    if difference.ci95 is None:
        return f"{-difference.mean:.3f}"
    low, high = difference.ci95
    between = f"{-high:.3f}–{-low:.3f}" if high < 0 else f"{-high:.3f} to {-low:.3f}"
    return f"{-difference.mean:.3f} ({between})".replace("-", "−")
