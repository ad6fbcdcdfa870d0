"""The tables of results.json: table.md for readers, table.csv for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attacks.measuring.estimates import Breakdown, Estimate, Interval, LabelAuc
from attacks.results import TITLES, Classification, Results

MAX_ATTACKER_COLUMNS = 6  # attackers with a column of their own
COLUMNS = ("method", "kind", "of", "figure", "mean", "sd", "runs", "ci95_low", "ci95_high")


def in_words(estimate: Estimate | None, *, digits: int = 3) -> str:
    """ "0.746 ± 0.026 (0.701–0.790)": mean, deviation of the runs if several, 95 % interval."""
    if estimate is None:
        return "–"
    spread = f" ± {estimate.sd:.{digits}f}" if len(estimate.runs) > 1 else ""
    return f"{estimate.mean:.{digits}f}{spread}{_interval(estimate.ci95, digits)}"


def label_auc_in_words(classification: Classification | None, *, digits: int = 3) -> str:
    """ "0.762 (0.758–0.766)", or "–" where nothing was measured."""
    if classification is None or classification.auc.mean is None:
        return "–"
    auc = classification.auc
    spread = f" ± {auc.sd:.{digits}f}" if len(auc.runs) > 1 and auc.sd is not None else ""
    return f"{auc.mean:.{digits}f}{spread}{_interval(auc.ci95, digits)}"


def table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Header and rows: one method a row; each attacker's AUC, utility, SSIM, displacement.

    Of more than ``MAX_ATTACKER_COLUMNS`` attackers stand here the first one and the strongest:
    `attacker_table` has all of them.
    """
    few = len(results.attackers) <= MAX_ATTACKER_COLUMNS
    shown = results.attackers if few else results.attackers[:1]
    header = ["method", *(f"{name} AUC ↓" for name in shown)]
    header += ["strongest AUC ↓"] * (shown != results.attackers)
    header += ["utility frozen ↑", "utility retrained ↑", "SSIM", "mean displacement (px)"]
    rows = []
    for title, method in zip(results.titles(), results.methods, strict=True):
        attacks = [method.privacy.get(name) for name in shown]
        if shown != results.attackers:
            attacks.append(method.strongest[1] if method.strongest else None)
        displacement = method.image.displacement_px
        rows.append(
            [
                title,
                *(in_words(a.auc if a else None) for a in attacks),
                label_auc_in_words(method.utility.frozen),
                label_auc_in_words(method.utility.retrained),
                _number(method.image.ssim, 3),
                _number(displacement.mean if displacement else None, 2),
            ]
        )
    return header, rows


def write_markdown(results: Results, path: Path) -> None:
    """table.md: mean ± deviation of the runs (95 % interval)."""
    Path(path).write_text(markdown(*table(results)), encoding="utf-8")


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(_cells(line)) + " |\n" for line in lines)


def write_csv(results: Results, path: Path) -> None:
    """table.csv: one figure a row (method, kind, of, figure, mean, sd, runs, low, high)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in figure_rows(results):
        writer.writerow([f"{v:.6f}" if isinstance(v, float) else v for v in row])
    Path(path).write_text(out.getvalue(), encoding="utf-8")


def figure_rows(results: Results) -> Iterator[tuple]:
    """Every figure by `COLUMNS`; None where there is no value."""
    for title, method in zip(results.titles(), results.methods, strict=True):
        for attacker, attack in method.privacy.items():
            measured = ((figure, attack.estimate(figure)) for figure in TITLES)
            for figure, found in (*measured, *_rates(attack.breakdown)):
                if found is not None:
                    yield (title, "privacy", attacker, figure, *_spread(found))
        for kind in ("frozen", "retrained"):
            if (read := getattr(method.utility, kind)) is not None:
                yield (title, "utility", kind, "auc", *_spread(read.auc))
                for label, value in read.auc.per_class.items():
                    row = (value, None, _runs(read.auc), None, None)
                    yield (title, "utility", kind, f"auc:{label}", *row)


def _rates(breakdown: Breakdown | None) -> Iterator[tuple[str, Estimate]]:
    """The true match rates by name, "true_match_rate:sex=female" of a group."""
    if breakdown is None:
        return
    yield "true_match_rate", breakdown.rate
    for fact, groups in breakdown.facts.items():
        for group in groups:
            if group.rate is not None:
                yield f"true_match_rate:{fact}={group.group}", group.rate


def _interval(ci95: Interval | None, digits: int) -> str:
    return f" ({ci95[0]:.{digits}f}–{ci95[1]:.{digits}f})" if ci95 else ""


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _spread(found: Estimate | LabelAuc) -> tuple:
    return (found.mean, found.sd, _runs(found), *(found.ci95 or (None, None)))


def _runs(found: Estimate | LabelAuc) -> int:
    return len(found.runs) or 1


def _cells(line: Iterable[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in line]
