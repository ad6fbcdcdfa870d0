"""True match rates of the strongest attackers by age difference, new finding, view and so on."""

from __future__ import annotations

from attacks.measuring.estimates import Breakdown, GroupRate
from attacks.measuring.pair_facts import TITLES
from attacks.reporting.tables import in_words
from attacks.results import Results

TOO_FEW = "too few"


def breakdown_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Header and rows: one group of genuine pairs a row, each method's strongest attacker a column;
    no rows where nothing was measured."""
    shown: dict[str, Breakdown] = {}
    for title, method in zip(results.titles(), results.methods, strict=True):
        name, attack = method.strongest or ("", None)
        if attack is not None and attack.breakdown is not None:
            shown[f"{title}: {name}"] = attack.breakdown
    header = ["", "", "pairs", "patients", *shown]
    if not shown:
        return header, []
    rows = [["all", "", "", "", *(in_words(b.rate, digits=2) for b in shown.values())]]
    for fact, title in TITLES.items():
        found = [{g.group: g for g in b.facts.get(fact, ())} for b in shown.values()]
        for n, group in enumerate(dict.fromkeys(name for groups in found for name in groups)):
            counted = next(groups[group] for groups in found if group in groups)
            counts = [f"{counted.pairs:,}", f"{counted.patients:,}"]
            rates = [_rate(groups.get(group)) for groups in found]
            rows.append(["" if n else title, group, *counts, *rates])
    return header, rows


def false_match_rate(results: Results) -> str:
    """The share of impostor pairs that passes the threshold, in percent; "" where none was set."""
    found = (
        attack.breakdown.false_match_rate
        for method in results.methods
        for attack in method.privacy.values()
        if attack.breakdown is not None
    )
    return next((f"{100 * rate:g} %" for rate in found), "")


def _rate(group: GroupRate | None) -> str:
    if group is None:
        return "–"
    return TOO_FEW if group.rate is None else in_words(group.rate, digits=2)
