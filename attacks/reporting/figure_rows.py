"""table.csv: every figure of an evaluation, one a row."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from anonymize.csv_cells import inert
from attacks.measuring.estimates import Breakdown, Estimate, Figures, LabelAuc, OperatingPoint
from attacks.measuring.release_figures import KINDS
from attacks.results import APART, TITLES, Classification, Results

COLUMNS = ("method", "kind", "of", "figure", "mean", "sd", "runs", "ci95_low", "ci95_high")


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence]) -> None:
    """A CSV file: fractions with six digits, nothing for None."""
    frame = pd.DataFrame([tuple(map(inert, row)) for row in rows], columns=list(columns))
    frame.to_csv(path, index=False, float_format="%.6f", lineterminator="\n")


def figure_rows(results: Results) -> Iterator[tuple]:
    """Every figure by `COLUMNS`; None where there is no value. Against matched impostors a figure's
    name ends with ", matched"."""
    for title, method in results.titled:
        for attacker, attack in method.privacy.items():
            for reading, own in (("", attack), (", matched", attack.matched)):
                for name, found in _privacy(own):
                    yield (title, "privacy", attacker, name + reading, *_spread(found))
        for kind in KINDS:
            if (read := getattr(method.utility, kind)) is not None:
                yield from ((title, "utility", kind, *row) for row in _utility_rows(read))
    for floor in results.floors:
        figures = {"auc": floor.auc, "auc, matched": floor.matched}
        figures |= {"precision_at_1": floor.precision_at_1, APART["r_s"]: floor.r_s}
        figures["precision_at_1, matched"] = floor.first_guess_matched
        figures["equal_error_rate, matched"] = floor.equal_error_rate
        figures |= {f"{name}, matched": found for name, found in _missed(floor.operating_points)}
        for name, figure in figures.items():
            if figure is not None:
                yield ("real images", "floor", floor.name, name, *_spread(figure))


def _privacy(found: Figures | None) -> Iterator[tuple[str, Estimate]]:
    """Every figure of a reading by its name."""
    if found is None:
        return
    for figure in TITLES:
        if (estimate := found.estimate(figure)) is not None:
            yield APART.get(figure, figure), estimate
    yield from (*_operating(found), *_rates(found.breakdown))


def _utility_rows(read: Classification) -> Iterator[tuple]:
    parts: dict[str, Estimate | LabelAuc | None] = {
        "auc": read.auc,
        "auc_told": read.told,
        "auc_held_back": read.held_back,
        "auc_on_released": read.on_released,
        "auc_difference": read.difference,
    }
    for name, found in parts.items():
        if found is not None:
            yield (name, *_spread(found))
    if read.ece is not None:
        yield ("ece", read.ece, None, _runs(read.auc), None, None)
    for label, value in read.auc.per_class.items():
        yield (f"auc:{label}", value, None, _runs(read.auc), None, None)


def _operating(attack: Figures) -> Iterator[tuple[str, Estimate]]:
    """Error rates and differences by name, "fnmr@0.001" with "(not certified)" where it is so."""
    yield from _missed(attack.operating_points)
    for other in attack.differences:
        yield f"auc less {other.role}", other.difference


def _missed(points: Iterable[OperatingPoint]) -> Iterator[tuple[str, Estimate]]:
    for point in points:
        doubt = "" if point.certified else " (not certified)"
        yield f"fnmr@{point.false_match_rate:g}{doubt}", point.false_non_match_rate


def _rates(breakdown: Breakdown | None) -> Iterator[tuple[str, Estimate]]:
    """The true match rates by name, "true_match_rate:sex=female" of a group."""
    if breakdown is None:
        return
    yield "true_match_rate", breakdown.rate
    for fact, groups in breakdown.facts.items():
        for group in groups:
            if group.rate is not None:
                yield f"true_match_rate:{fact}={group.group}", group.rate


def _spread(found: Estimate | LabelAuc) -> tuple:
    return (found.mean, found.sd, _runs(found), *(found.ci95 or (None, None)))


def _runs(found: Estimate | LabelAuc) -> int:
    return len(found.runs) or 1
