"""Knowledge × attacker × method: every AUC, the strongest attacker, and what it gains over HOG."""

from __future__ import annotations

from attacks.attackers.training_free import TrainingFree
from attacks.measuring.estimates import Estimate
from attacks.results import Attack, Method, Results, name_of

FLOOR = TrainingFree.name
PAIRS = {
    "released-real": "released ↔ real",
    "released-released": "released ↔ released",
    "before-after": "before ↔ after",
}


def attacker_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Header and rows: one attacker a row, one method a column.

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
        rows.append([name_of(key), known.knowledge, _compares(known), *map(_auc, attacks)])
    by_image = [method.strongest_by_image for method in results.methods]
    rows.append(["**strongest, image by image**", "", "", *map(_named, by_image)])
    if any(FLOOR in method.privacy for method in results.methods):
        rows.append(["above plain HOG by", "", "", *map(_gain, results.methods)])
    strongest = [method.strongest for method in results.methods]
    if strongest != by_image:
        rows.append(["**strongest of all**", "", "", *map(_named, strongest)])
    return header, rows


def _compares(attack: Attack) -> str:
    return "metadata" if attack.sees == "metadata" else PAIRS[attack.compares]


def _auc(attack: Attack | None) -> str:
    if attack is None:
        return "–"
    estimate: Estimate = attack.auc
    low_high = f" ({estimate.ci95[0]:.2f}–{estimate.ci95[1]:.2f})" if estimate.ci95 else ""
    return f"{estimate.mean:.3f}{low_high}"


def _named(found: tuple[str, Attack] | None) -> str:
    return f"{found[0]} {found[1].auc.mean:.3f}" if found else "–"


def _gain(method: Method) -> str:
    if method.strongest_by_image is None or FLOOR not in method.privacy:
        return "–"
    return f"{method.strongest_by_image[1].auc.mean - method.privacy[FLOOR].auc.mean:+.3f}"
