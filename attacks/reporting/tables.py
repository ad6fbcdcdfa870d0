"""The tables of results.json: for readers, and table.csv for programs.

A table is a header and rows of text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from attacks.attackers.training_free import TrainingFree
from attacks.measuring.estimates import Breakdown, Estimate, Figures, GroupRate, LabelAuc
from attacks.measuring.pair_facts import TITLES as FACTS
from attacks.results import TITLES, Attack, Method, Results, name_of

MAX_ATTACKER_COLUMNS = 6  # attackers with a column of their own
COLUMNS = ("method", "kind", "of", "figure", "mean", "sd", "runs", "ci95_low", "ci95_high")
FLOOR = TrainingFree.name
COMPARED = {
    "released-real": "released ↔ real",
    "released-released": "released ↔ released",
    "before-after": "before ↔ after",
}
TOO_FEW = "too few"

Table = tuple[list[str], list[list[str]]]


def in_words(found: Estimate | LabelAuc | None, *, digits: int = 3) -> str:
    """ "0.746 ± 0.026 (0.701–0.790)": mean, deviation of the runs if several, 95 % interval; "–"
    where nothing was measured."""
    if found is None or found.mean is None:
        return "–"
    spread = f" ± {found.sd:.{digits}f}" if len(found.runs) > 1 and found.sd is not None else ""
    low_high = "({:.{n}f}–{:.{n}f})".format(*found.ci95, n=digits) if found.ci95 else ""
    return f"{found.mean:.{digits}f}{spread} {low_high}".rstrip()


def number(value: float | None, digits: int) -> str:
    """So many digits behind the point; "–" for None."""
    return "–" if value is None else f"{value:.{digits}f}"


def table(results: Results) -> Table:
    """One method a row; each attacker's AUC, utility, SSIM, displacement.

    Of more than ``MAX_ATTACKER_COLUMNS`` attackers stand here the first one and the strongest:
    :func:`attacker_table` has all of them.
    """
    few = len(results.attackers) <= MAX_ATTACKER_COLUMNS
    shown = results.attackers if few else results.attackers[:1]
    header = ["method", *(f"{name} AUC ↓" for name in shown)]
    header += ["strongest AUC ↓"] * (shown != results.attackers)
    header += ["utility frozen ↑", "utility retrained ↑", "SSIM", "mean displacement (px)"]
    rows = []
    for title, method in results.titled:
        attacks = [method.privacy.get(name) for name in shown]
        if shown != results.attackers:
            attacks.append(method.strongest[1] if method.strongest else None)
        displacement = method.image.displacement_px
        rows.append(
            [
                title,
                *(in_words(a.auc if a else None) for a in attacks),
                in_words(method.utility.auc("frozen")),
                in_words(method.utility.auc("retrained")),
                number(method.image.ssim, 3),
                number(displacement.mean if displacement else None, 2),
            ]
        )
    return header, rows


def attacker_table(results: Results) -> Table:
    """Every AUC, the strongest attacker and its gain: one attacker a row, one method a column.

    The last rows say, for each method, which attacker is the strongest (the best one on the
    validation part, where there is one) and by how much its AUC exceeds that of plain gradient
    histograms on the same images; first among attackers that take every image alone, then with
    those that are told which released images are of one patient.
    """
    header = ["attacker", "knowledge", "compares", *results.titles()]
    rows = []
    for key in results.attackers:
        attacks = [method.privacy.get(key) for method in results.methods]
        known = next(attack for attack in attacks if attack is not None)
        compares = "metadata" if known.sees == "metadata" else COMPARED[known.compares]
        rows.append([name_of(key), known.knowledge, compares, *map(_auc, attacks)])
    by_image = [method.strongest_by_image for method in results.methods]
    rows.append(["**strongest, image by image**", "", "", *map(_named, by_image)])
    if any(FLOOR in method.privacy for method in results.methods):
        rows.append(["above plain HOG by", "", "", *map(_gain, results.methods)])
    strongest = [method.strongest for method in results.methods]
    if strongest != by_image:
        rows.append(["**strongest of all**", "", "", *map(_named, strongest)])
    return header, rows


def breakdown_table(results: Results) -> Table:
    """True match rates by age difference, new finding, view and so on: one group of genuine pairs
    a row, each method's strongest attacker a column; no rows where nothing was measured."""
    shown: dict[str, Breakdown] = {}
    for title, method in results.titled:
        name, attack = method.strongest or ("", None)
        if attack is not None and attack.breakdown is not None:
            shown[f"{title}: {name}"] = attack.breakdown
    header = ["", "", "pairs", "patients", *shown]
    if not shown:
        return header, []
    rows = [["all", "", "", "", *(in_words(b.rate, digits=2) for b in shown.values())]]
    for fact, title in FACTS.items():
        found = [{g.group: g for g in b.facts.get(fact, ())} for b in shown.values()]
        for n, group in enumerate(dict.fromkeys(name for groups in found for name in groups)):
            counted = next(groups[group] for groups in found if group in groups)
            counts = [f"{counted.pairs:,}", f"{counted.patients:,}"]
            rates = [_rate(groups.get(group)) for groups in found]
            rows.append(["" if n else title, group, *counts, *rates])
    return header, rows


def floor_table(results: Results) -> Table:
    """What links without looking for a patient: one floor a row, in both readings; no rows where
    none was measured."""
    header = ["floor", "AUC", "AUC, matched impostors", "what it knows"]
    rows = [[f.name, in_words(f.auc), in_words(f.matched), f.message] for f in results.floors]
    return header, rows


def false_match_rate(results: Results) -> str:
    """The share of impostor pairs that passes the threshold, in percent; "" where none was set."""
    found = (attack.breakdown for _, _, attack in results.attacks())
    return next((f"{100 * b.false_match_rate:g} %" for b in found if b is not None), "")


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence]) -> None:
    """A CSV file: fractions with six digits, nothing for None."""
    frame = pd.DataFrame(rows, columns=list(columns))
    frame.to_csv(path, index=False, float_format="%.6f", lineterminator="\n")


def figure_rows(results: Results) -> Iterator[tuple]:
    """Every figure by `COLUMNS`; None where there is no value."""
    for title, method in results.titled:
        for attacker, attack in method.privacy.items():
            measured = ((figure, attack.estimate(figure)) for figure in TITLES)
            rates = (*_operating(attack), *_rates(attack.breakdown))
            for figure, found in (*measured, *rates):
                if found is not None:
                    yield (title, "privacy", attacker, figure, *_spread(found))
        for kind in ("frozen", "retrained"):
            if (read := getattr(method.utility, kind)) is not None:
                yield (title, "utility", kind, "auc", *_spread(read.auc))
                for label, value in read.auc.per_class.items():
                    row = (value, None, _runs(read.auc), None, None)
                    yield (title, "utility", kind, f"auc:{label}", *row)

    for floor in results.floors:
        for figure, found in (("auc", floor.auc), ("auc:matched", floor.matched)):
            if found is not None:
                yield ("real images", "floor", floor.name, figure, *_spread(found))


def _operating(attack: Figures) -> Iterator[tuple[str, Estimate]]:
    """Error rates and differences by name, "fnmr@0.001" with "(not certified)" where it is so."""
    for point in attack.operating_points:
        doubt = "" if point.certified else " (not certified)"
        yield f"fnmr@{point.false_match_rate:g}{doubt}", point.false_non_match_rate
    for other in attack.differences:
        yield f"auc less {other.role}", other.difference


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


def _auc(attack: Attack | None) -> str:
    if attack is None:
        return "–"
    low_high = "" if attack.auc.ci95 is None else " ({:.2f}–{:.2f})".format(*attack.auc.ci95)
    return f"{attack.auc.mean:.3f}{low_high}"


def _named(found: tuple[str, Attack] | None) -> str:
    return f"{found[0]} {found[1].auc.mean:.3f}" if found else "–"


def _gain(method: Method) -> str:
    if method.strongest_by_image is None or FLOOR not in method.privacy:
        return "–"
    return f"{method.strongest_by_image[1].auc.mean - method.privacy[FLOOR].auc.mean:+.3f}"


def _rate(group: GroupRate | None) -> str:
    if group is None:
        return "–"
    return TOO_FEW if group.rate is None else in_words(group.rate, digits=2)
