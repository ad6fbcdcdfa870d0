"""Tables of what was measured beside evaluations: times, bench, coverage, attackers' own tests."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from reproduced import RESULTS, results

from attacks.check.known_answers import ASKED, Answer, table
from attacks.evaluation.checks.check_record import committed, examined_by, shipped
from attacks.registry import DONORS, every_level
from attacks.reporting.readings import floors
from attacks.reporting.tables import markdown


def cost() -> str:
    measured = json.loads((RESULTS / "cost.json").read_text(encoding="utf-8"))
    rows = ((f"`{r['command']}`", f"{r['minutes']:g} min", r["memory"]) for r in measured["runs"])
    return markdown((f"on {measured['machine']}", "time", "memory"), rows)


def known_answers() -> str:
    """The bench, and when it was run: checks and intervals of later programs may say otherwise."""
    measured = json.loads((RESULTS / "known_answers.json").read_text(encoding="utf-8"))
    answers = [Answer.read(plain) for plain in measured["answers"]]
    counted = Counter(answer.verdict for answer in answers)
    found = ", ".join(f"{counted[one]} {one}" for one in ("right", "marked", "WRONG"))
    return f"{table(answers)}\nOf {len(answers)}: {found}. {_run(measured)}.\n\n{_floors()}\n"


def answers_by_attackers() -> str:
    """The same releases by the attackers that were asked for: the strongest against matched
    impostors, and the verdict."""
    by_chance = "*floor: a coin, true findings alone*"
    found: dict[str, list[str]] = {"real images": [], by_chance: ["0.500"] * len(ASKED)}
    header, said = ["release"], []
    for name, attackers in ASKED.items():
        measured = json.loads((RESULTS / answered(name)).read_text(encoding="utf-8"))
        header.append(", ".join(f"`{key}`" for key in attackers))
        said.append(_run(measured))
        found["real images"].append(f"{measured['answers'][0]['said']['real']:.3f}")
        for answer in map(Answer.read, measured["answers"]):
            verdict = answer.verdict.replace("WRONG", "**WRONG**")
            cells = found.setdefault(answer.case, [])
            cells.append(f"{answer.said.attacker} {answer.said.auc:.3f}, {verdict}")
    made = markdown(header, [[case, *cells] for case, cells in found.items()])
    return f"{made}\n{'; '.join(dict.fromkeys(said))}. Other floors: known_answers.md.\n"


def _floors() -> str:
    """As far as they are known of the bench: it keeps none of its evaluation."""
    other = results("phantom")
    tested = f"{other.source.images} images of {other.source.patients} patients"
    return (
        "Floors were not measured on these images; against matched impostors a coin and true "
        f"findings alone have 0.5 on any. Of another phantom, {tested}: {floors(other)[0]}"
    )


def _run(measured: Mapping[str, Any]) -> str:
    """When a bench was run, and how many were tested."""
    source, date = measured["source"], measured["made"]["date"][:10]
    return f"Run on {date}, tested on {source['images']:,} images of {source['patients']} patients"


def answered(asked: str) -> str:
    """The file of the bench with the attackers of `ASKED` by that name."""
    return "known_answers.json" if asked == "all" else f"known_answers_{asked}.json"


def delong() -> str:
    """DeLong's intervals of a pair AUC and ours, beside how far AUCs of worlds lie apart."""
    made = json.loads((RESULTS / "delong.json").read_text(encoding="utf-8"))
    header = ["patients", "pairs", "AUCs of worlds lie apart by (SD)", "standard error: DeLong"]
    header += ["ours", "95 % intervals that hold the truth: DeLong's", "ours"]
    rows = []
    for row in made["rows"]:
        errors = (f"{row[name]:.4f}" for name in ("spread", "delong_error", "our_error"))
        shares = (_share(row[name], row["worlds"]) for name in ("delong", "ours"))
        rows.append([f"{row['patients']}, {row['worlds']} worlds", row["pairs"], *errors, *shares])
    return markdown(header, rows)


def coverage() -> str:
    """How often 95 % intervals hold the truth, by figure and number of patients."""
    made = json.loads((RESULTS / "coverage.json").read_text(encoding="utf-8"))
    header = ["95 % intervals that hold the truth"]
    header += [f"{w['patients']} patients ({_worlds(w)})" for w in made["worlds"]]
    rows = (
        (title, *(_held(world, name) for world in made["worlds"]))
        for name, title in made["figures"].items()
    )
    return markdown(header, rows)


def _worlds(world: dict) -> str:
    """How many there are."""
    several, alone = world["repetitions"], world["alone"]
    more = f"; of one run: {alone:,}" if alone != several else ""
    return f"{several:,} worlds{more}"


def _held(world: dict, name: str) -> str:
    """The share, and its standard error over the worlds."""
    if (share := world["coverage"].get(name)) is None:
        return "–"
    return _share(share, world["worlds"][name])


def _share(share: float, worlds: int) -> str:
    error = (share * (1 - share) / worlds) ** 0.5
    return f"{100 * share:.1f} ± {100 * error:.1f} %"


def checked() -> str:
    """What every attacker came to in its own tests (``attacks check --json``): the AUC, in bold
    where the test failed; a dash where it does not concern the attacker."""
    outcomes = _outcomes()
    cases = list(dict.fromkeys(o["case"] for o in outcomes))
    found = {(o["attacker"], o["case"]): o for o in outcomes}
    tested = {o["attacker"] for o in outcomes}
    own = {o["case"] for o in outcomes if o["attacker"] == DONORS}
    keys = [*(c.key for c in every_level()), DONORS]

    def said(key: str, case: str) -> str:
        if (key == DONORS) != (case in own):
            return "–"  # nobody is asked what was made for others
        return _outcome(found.get((key, case)), key in tested)

    rows = [(key, *(said(key, case) for case in cases)) for key in keys]
    first, last = (f(o["made"] for o in outcomes) for f in (min, max))
    several = f"from {first} to {last}, each attacker with the program of its day"
    days = f"Run {f'on {first}' if first == last else several}.\n"
    if earlier := [key for key in keys if tested_earlier([key])]:
        days += f"With sources that have changed since: {len(earlier)} of {len(rows)}.\n"
    return f"{markdown(('attacker', *cases), rows)}\n{days}"


def pass_their_tests(attackers: Iterable[str]) -> bool | None:
    """Whether attackers passed those tests, by their keys; None where one was not tested."""
    by_attacker: dict[str, set[str]] = {}
    for outcome in _outcomes():
        by_attacker.setdefault(outcome["attacker"], set()).add(outcome["status"])
    found = [by_attacker.get(key, set()) for key in attackers]
    if any("failed" in statuses for statuses in found):
        return False
    return True if all("passed" in statuses for statuses in found) else None


def tested_earlier(attackers: Iterable[str]) -> bool:
    """Whether the tests of one of these attackers were of other sources than today's."""
    return any(found.by != examined_by(key) for key, found in shipped(attackers).items())


@cache
def _outcomes() -> list[dict]:
    return committed()


def _outcome(outcome: dict | None, tested: bool) -> str:
    if outcome is None:
        return "not finished" if tested else "not tested"
    if outcome["auc"] is None:
        return "–" if outcome["status"] == "not applicable" else "**failed**"
    auc = f"{outcome['auc']:.2f}"
    return auc if outcome["status"] == "passed" else f"**failed {auc}**"
