"""Attack an anonymizer of your own beside two controls: python evaluate_your_own.py

The radiographs are drawn, so the figures show how to measure and say nothing about real people.
With every attacker, checks and pictures: install the class as CONTRIBUTING.md shows, and name it to
`attacks evaluate`.
"""

import tempfile
from pathlib import Path

import pandas as pd
import torch
from kornia.filters import median_blur
from torch import Tensor

import anonymize
from anonymize import section
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.options import DataOptions
from attacks.attacker import linked
from attacks.attackers.histogram_metric import HistogramMetric
from attacks.attackers.training_free import TrainingFree
from attacks.knowledge.trial import Parts, View
from attacks.measuring.statistics import estimate_identification, measure_identification

CPU = torch.device("cpu")


class MedianFilter(anonymize.Anonymizer):
    """Every pixel becomes the median of its neighbourhood."""

    name = "median-filter"

    class Options(section.Options):
        """How large the neighbourhood is."""

        size: int = 5

    def anonymize(self, images: Tensor) -> Tensor:
        size = self.settings.size
        return median_blur(images, (size, size))


def attacked(data: Dataset, method: anonymize.Anonymizer) -> dict[str, str]:
    """AUC and 95 % interval of two attackers: one learns nothing, one learns from the release."""
    released = released_images(method, data.images, device=CPU)
    seen = View(real=Parts(data), released=Parts(data, released))
    figures = {}
    for attacker in (TrainingFree(), HistogramMetric(knowledge="informed")):
        seen.teach(attacker, seed=0)  # the training and validation parts
        probes, gallery = seen.compared("released-real", "test")
        scores = linked(attacker, probes, gallery)
        measured = measure_identification(scores, probes.owners, gallery.owners)
        auc = estimate_identification([measured])["auc"]
        figures[attacker.name] = f"{auc.mean:.2f} ({auc.ci95[0]:.2f}–{auc.ci95[1]:.2f})"
    return figures


def main(patients: int = 60, images: int = 200) -> pd.DataFrame:
    """One row a method: the real images, yours, and noise that should hide more."""
    methods = [
        anonymize.load("identity"),
        MedianFilter(size=9),
        anonymize.load("dp-pix:b=8,epsilon=0.1"),
    ]
    with tempfile.TemporaryDirectory() as cache:
        options = DataOptions(patients=patients, images=images, size=64, cache=Path(cache))
        data = Dataset.open(options)
        return pd.DataFrame({m.name: attacked(data, m) for m in methods}).T


if __name__ == "__main__":
    print(main().to_string())
