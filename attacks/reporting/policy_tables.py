"""Verdicts, the guidelines and risk at the size of the world as tables, and as one page."""

from collections.abc import Sequence

from attacks.evaluation.policies.demands import Verdict
from attacks.evaluation.policies.guidelines import Guided
from attacks.measuring.world_records import STRATA, Rate, World, WorldPoint
from attacks.reporting.tables import Table, markdown, percent, text
from attacks.results import Method, Results

SHOWN = (10, 100, 1000, 10**4, 10**6, 10**9)  # people
EXTRAPOLATED = "extrapolated"
RISK = (
    "Linkage risk (share of the patients with several images who are found) in a gallery of so "
    "many people, by the attacker who finds most:"
)
LABEL = (
    "*Extrapolated*: nobody measured so many people. A tail was fitted to each probe's own scores "
    "with strangers, generalised Pareto (first figure) and generalised Weibull (second one), and "
    "strangers are taken to be like those that were measured; in brackets what neither model, nor "
    "so few patients, exclude (95 %)."
)


def verdict_table(verdict: Verdict) -> Table:
    """One demand a row."""
    rows = [[line.demand, line.outcome, line.said] for line in verdict.lines]
    return ["demand", "outcome", "why"], rows


def guideline_table(guided: Sequence[Guided]) -> Table:
    """One guideline a row: what was seen, and what a person answered."""
    rows = [[g.key, g.question, g.seen, g.answer or "**not answered**", g.why] for g in guided]
    return ["", "guideline", "what the program saw", "a person answers", "why"], rows


def world_table(results: Results) -> Table:
    """Linkage risk by people: one method a row, that of its attacker who finds most there."""
    header = ["released as", *(f"{people:,} people" for people in SHOWN)]
    rows = [
        [title, *(_cell(method, people) for people in SHOWN)]
        for title, method in results.titled
        if _worlds(method)
    ]
    return header, rows


def strata_table(results: Results) -> Table:
    """Rank-1 among the people who were measured, by what the gallery shows of the patient: the
    strongest attacker of each method."""
    header = ["released as", "another image", *STRATA.values()]
    rows = []
    for title, method in results.titled:
        if not (worlds := _worlds(method)):
            continue
        world = max(worlds.values(), key=lambda w: _met(w.points, w.people) or 0)
        cells = [
            _met(world.strata[s].points, world.people) if s in world.strata else None
            for s in STRATA
        ]
        shown = [_met(world.points, world.people), *cells]
        rows.append([title, *("–" if c is None else percent(c).replace("%", " %") for c in shown)])
    return header, rows


def held_out_table(results: Results) -> Table:
    """Rank-1 of all people foretold from a quarter of them, beside what was measured."""
    header = ["released as", "attacker", "people", "of", "foretold", "measured", "covered"]
    rows = [
        [
            *(title, key, f"{held.fitted_on:,}", f"{held.people:,}", rate_in_words(held.foretold)),
            *(f"{held.measured:.3f}", "yes" if held.covered else "**no**"),
        ]
        for title, method in results.titled
        for key, world in _worlds(method).items()
        if (held := world.held_out) is not None and held.measured is not None
    ]
    return header, rows


def world_page(results: Results) -> str:
    """world.md."""
    page = f"{RISK}\n\n"
    page += text(world_table(results), [LABEL])
    page += "\nFirst guess right among the people who were measured, by what the gallery shows:\n\n"
    page += markdown(*strata_table(results))
    held = held_out_table(results)
    if held[1]:
        page += "\nFirst guess right among all people, foretold from a part of them:\n\n"
        page += markdown(*held)
    return page


def verdict_page(results: Results, verdicts: Sequence[Verdict], guided: Sequence[Guided]) -> str:
    """verdict.md."""
    page = "# Verdict\n"
    for verdict in verdicts:
        page += f"\n## {verdict.method}: {verdict.outcome}\n\nPolicy: {verdict.policy}.\n\n"
        page += markdown(*verdict_table(verdict))
    if any(_worlds(method) for method in results.methods):
        page += f"\n## Risk at the size of the world\n\n{world_page(results)}"
    page += f"\n## Guidelines\n\n{text(guideline_table(guided), [GUIDELINES])}"
    return page


GUIDELINES = (
    "After Holub et al., Nature Communications 14, 2577 (2023), in our words: A1–A7 for what is "
    "shared as anonymous data, P1–P4 for personal data. What the program saw is no answer."
)


def rate_in_words(rate: Rate) -> str:
    """ "0.12, 0.10 (0.08–0.17)": both models, and what is not excluded."""
    second = "" if rate.second is None else f", {rate.second.mean:.3g}"
    within = "" if rate.within is None else f" ({rate.within[0]:.3g}–{rate.within[1]:.3g})"
    return f"{rate.estimate.mean:.3g}{second}{within}"


def _cell(method: Method, people: int) -> str:
    found = [
        (point.r_s, point.extrapolated)
        for world in _worlds(method).values()
        for point in world.points
        if point.people == people and point.r_s is not None
    ]
    if not found:
        return "–"
    rate, beyond = max(found, key=lambda f: f[0].estimate.mean)
    return f"*{EXTRAPOLATED}* {rate_in_words(rate)}" if beyond else rate_in_words(rate)


def _worlds(method: Method) -> dict[str, World]:
    """Of the attackers that look for patients."""
    return {k: a.world for k, a in method.privacy.items() if a.world and a.links_patients}


def _met(points: Sequence[WorldPoint], people: int) -> float | None:
    """Rank-1 among the most people who were measured, as far as they are."""
    exact = [p for p in points if not p.extrapolated and p.people <= people]
    return max(exact, key=lambda p: p.people).rank_1.estimate.mean if exact else None
