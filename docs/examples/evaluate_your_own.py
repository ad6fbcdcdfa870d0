"""Attack an anonymizer of your own beside two controls: python evaluate_your_own.py

The radiographs are drawn, so the figures show how to measure and say nothing about real people.
Installed as CONTRIBUTING.md shows, the class has a name that `attacks evaluate` knows.
"""

import sys
from pathlib import Path

import pandas as pd
from kornia.filters import median_blur
from torch import Tensor

import anonymize
import attacks
from anonymize import section


class MedianFilter(anonymize.Anonymizer):
    """Every pixel becomes the median of its neighbourhood."""

    name = "median-filter"

    class Options(section.Options):
        """How large the neighbourhood is."""

        size: int = 5

    def anonymize(self, images: Tensor) -> Tensor:
        size = self.settings.size
        return median_blur(images, (size, size))


def main(out: Path, patients: int = 60, images: int = 200) -> pd.DataFrame:
    """AUC against all impostors of two attackers: of real images, yours, and noise that hides more.

    So few people have hardly an impostor who is alike; with more, read "auc, matched" first."""
    found = attacks.evaluate(
        [MedianFilter(size=9), "dp-pix:b=8,epsilon=0.1"],
        attackers=["training-free", "histogram-metric"],  # the second learns from the release
        options={
            "data.patients": patients,
            "data.images": images,
            "evaluation.repeats": 1,
            "evaluation.utility": False,
        },
        out=out,
    )
    auc = found.frame.query("kind == 'privacy' and figure == 'auc'")
    for check in found.checks.query("not passed").itertuples():
        print(f"{check.name}: {check.message}")
    return auc[["method", "of", "mean", "ci95_low", "ci95_high"]]


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else "evaluation")).to_string(index=False))
