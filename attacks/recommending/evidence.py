"""What a choice is made from, read out of the results of an evaluation."""

from collections.abc import Sequence

import numpy as np

from anonymize.data.dataset import Dataset
from attacks.evaluation.floors import TASK
from attacks.measuring.estimates import Estimate
from attacks.recommending.choice import Evidence, Interval, Point
from attacks.results import Attack, Check, Method, Results

# A small search has few seeds, and says how many in words of its own.
FEW_SEEDS = frozenset(
    {"the retrained classifier was trained often enough", "independent runs agree"}
)


def evidence_of(
    results: Results, specs: Sequence[str], *, patients: int, kept: Sequence[str] = ()
) -> Evidence:
    """The real images and the releases ``specs``, in the order of the results.

    Args:
        patients: as `bearing` counts them.
        kept: findings that must have a figure each; (): what the images tell decides.
    """
    real = results.real
    assert real is not None  # they always take part
    floor = next((f.matched for f in results.floors if f.name == TASK), None)
    return Evidence(
        real=_interval(_auc(real)),
        points=tuple(
            Point(spec, _interval(_auc(method)), _loss(method, kept))
            for spec, method in zip(specs, results.released, strict=True)
        ),
        floor=_interval(floor),
        patients=patients,
        readable=real.utility.readable is True,
    )


def failed(results: Results) -> list[Check]:
    """The checks that speak against some of the figures."""
    return [
        check
        for check in results.checks
        if check.tested and not (check.passed or check.informative or check.name in FEW_SEEDS)
    ]


def strongest(method: Method) -> tuple[str, Attack] | None:
    """Name and figures of the attacker that links most against matched impostors, on the very
    images: better too strong than too weak. None where nobody is alike."""
    return max(_linking(method), key=lambda item: item[1].headline.auc.mean, default=None)


def best_guesser(method: Method) -> tuple[str, Attack] | None:
    """The same of the attacker whose first guess among matched images is right most often."""

    def guessed(item: tuple[str, Attack]) -> float:
        return item[1].headline.precision_at_1 or 0.0

    return max(_linking(method), key=guessed, default=None)


def bearing(data: Dataset) -> int:
    """Identified patients of the test part with two images or more."""
    frame = data.table.frame.loc[data.table.part("test")]
    _, counts = np.unique(
        frame.loc[frame["identified"].astype(bool), "patient_id"].to_numpy(str), return_counts=True
    )
    return int((counts > 1).sum())


def lost(method: Method) -> Estimate | None:
    """AUC less than that of real images of a classifier that learnt from the release, of the
    findings that are to be kept; None where that was not measured."""
    found = method.utility.retrained
    if found is None:
        return None
    return found.difference if found.told is None else found.told_difference


def by_finding(method: Method) -> dict[str, float | None]:
    """AUC of each finding that is to be kept, of the same classifier."""
    found = method.utility.retrained
    if found is None:
        return {}
    return dict((found.auc if found.told is None else found.told).per_class)


def _linking(method: Method) -> list[tuple[str, Attack]]:
    """Attackers that find patients by their pixels, and met somebody alike."""
    known = method.privacy.items()
    return [(key, a) for key, a in known if a.links_patients and a.matched is not None]


def _auc(method: Method) -> Estimate | None:
    found = strongest(method)
    return None if found is None else found[1].headline.auc


def _loss(method: Method, kept: Sequence[str]) -> Interval | None:
    measured = by_finding(method)
    if any(measured.get(name) is None for name in kept):
        return None
    found = _interval(lost(method))
    return None if found is None else Interval(-found.mean, -found.high, -found.low)


def _interval(found: Estimate | None) -> Interval | None:
    return None if found is None or found.ci95 is None else Interval(found.mean, *found.ci95)
