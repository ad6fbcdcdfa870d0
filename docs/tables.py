"""Puts what is made into README.md and docs/*.md: python docs/tables.py

A table stands between ``<!-- table: PATH -->`` and ``<!-- end -->`` and is the file at PATH, seen
from the repository's root. These files are made here: tables of several committed results, the
tables of each from its results.json (schema version 1 or 2), the coverage of the intervals, what
the attackers' own tests and the bench of known answers came to, and the map of the rooms. The
pictures that need no images are drawn again.

Of figures that a documented command does not give any more, the tables say so themselves.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import reproduced
import rooms

from attacks.check.known_answers import Answer, table
from attacks.registry import every_level
from attacks.reporting.comparison import notes, table_1
from attacks.reporting.folder import pages as tables_of
from attacks.reporting.paper_figures import figure_2
from attacks.reporting.readings import ALL, MATCHED, NAMES, NONE_ALIKE, auc, matched_pairs, meaning
from attacks.reporting.tables import in_words, markdown, signed, text, trainings
from attacks.reporting.tradeoff import tradeoff
from attacks.results import Attack, Check, Method, Results
from baselines.random_warp import RandomWarp

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
SUMMARY = {
    **{"children": "Children", "covid19": "COVID-19", "chestxray14": "ChestX-ray14"},
    "phantom": "Phantom",
}
FIRST = ("children", "covid19")  # the most patients; and the largest images, of adults
FLOORS = {
    "findings": "true findings alone",
    "task": "what a classifier reads in real images",
    "metadata": "true age, sex, view and follow-up number",
    "coin": "a coin",
}
CONTROL = "control"  # what a method has to surpass, whatever its title
SHOWN = (
    *("real images", "prichexy-net μ=0.01", CONTROL, "random-warp μ=0.3"),
    *("privacy-net", "dp-pix b=8, ε=0.1", "dp-pix b=1, ε=0.1"),
    *FLOORS,
)
SHOWN_FIRST = (
    *("real images", "prichexy-net μ=0.01", CONTROL, "dp-pix b=8, ε=0.1"),
    *("findings", "task"),
)
MINIATURE = "miniature"
SCRATCH = ("released-released", "released-real", "mixed")  # pairs of the published attacker
AGAIN = {
    "verification:ignorant": "verifier of real images as it is",
    "verification": "the same trained again, mixed",
    "histogram-metric": "histogram-metric",
    "ensemble": "ensemble",
}
SETS, LARGER = "sets", "sets_resnet"
GUESSES = ("first guess is in it", "first guess is this one", "patients given away")
PICTURES = {
    **{"tradeoff.png": ("children", tradeoff), "frontier.png": (SETS, tradeoff)},
    "figure2.png": ("phantom", figure_2),
}


def pages() -> list[Path]:
    """Every page that may show a table."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def filled(text: str) -> str:
    """``text`` with every table as its file has it now."""
    return TABLE.sub(lambda m: m[1] + (ROOT / m[2]).read_text(encoding="utf-8") + m[3], text)


def made() -> dict[Path, str]:
    """What is made here, by the file that holds it."""
    return {
        **{path: page for key in reproduced.evaluations() for path, page in _own(key)},
        RESULTS / "summary.md": _summary(SUMMARY, COMPARED, SHOWN),
        RESULTS / "headline.md": _summary(FIRST, FEW, SHOWN_FIRST, whole=False),
        RESULTS / "reproduced.md": _reproduced(),
        RESULTS / "miniature.md": _miniature(),
        RESULTS / "sets.md": _sets(),
        RESULTS / "checks.md": _checks(SUMMARY),
        RESULTS / "linked.md": _linked(SUMMARY),
        RESULTS / "counts.md": _counts(SUMMARY),
        RESULTS / "cost.md": _cost(),
        RESULTS / "known_answers.md": _known_answers(),
        RESULTS / "coverage.md": _coverage(),
        RESULTS / "attackers" / "check.md": _checked(),
        ROOT / "docs" / "site" / "rooms.md": f"```mermaid\n{rooms.drawing()}\n```\n",
    }


def results(key: str) -> Results:
    """A committed evaluation, by its folder."""
    return Results.read(RESULTS / key / "results.json")


@cache
def late(key: str) -> list[str]:
    """What the documented command of an evaluation gives otherwise today."""
    return reproduced.differences(key, "\n".join(p.read_text(encoding="utf-8") for p in pages()))


def _own(key: str) -> Iterator[tuple[Path, str]]:
    """The tables of one evaluation that are committed."""
    found = results(key)
    shown = tables_of(found) | {"table1.md": text(table_1(found), notes(found))}
    for name, page in shown.items():
        if (path := RESULTS / key / name).is_file():
            yield path, page + (f"\n{_to_be_made_again(late(key))}\n" if late(key) else "")


def _to_be_made_again(why: list[str]) -> str:
    if why == [reproduced.UNKNOWN]:
        return f"**To be made again**: {why[0]}, so nothing shows that the command gives them."
    return f"**To be made again**: the documented command gives other options: {'; '.join(why)}."


def _reproduced() -> str:
    rows = ((key, "; ".join(late(key)) or "the same") for key in reproduced.evaluations())
    return markdown(("evaluation", "options, beside those of its command today"), rows)


def _checks(keys: Iterable[str]) -> str:
    """What the checks of each evaluation came to, one a row."""
    found = {key: {check.name: check for check in results(key).checks} for key in keys}
    names = dict.fromkeys(name for checks in found.values() for name in checks)
    rows = ((name, *(_outcome_of(checks.get(name)) for checks in found.values())) for name in names)
    return markdown(("check", *(SUMMARY[key] for key in found)), rows)


def _outcome_of(check: Check | None) -> str:
    if check is None:
        return "–"
    if not check.tested:
        return "not tested"
    return "yes" if check.passed else "no" if check.informative else "**no**"


def _linked(keys: Iterable[str]) -> str:
    """What the strongest attacker of single images reaches, beside real images and the control."""
    rows = [row for key in keys for row in _set_rows(key, list(LINKED), set(SHOWN) - set(FLOORS))]
    return markdown(("images (test part)", "released as", *LINKED), rows)


def _counts(keys: Iterable[str]) -> str:
    """Of how many releases of each evaluation, the real images among them, something holds."""
    rows = []
    for name, holds in COUNTED.items():
        found = [[holds(method) for method in results(key).methods] for key in keys]
        rows.append([name, *(f"{sum(one)} of {len(one)}" for one in found)])
    return markdown(("releases", *(SUMMARY[key] for key in keys)), rows)


def _summary(
    keys: Iterable[str], named: Iterable[str], shown: Iterable[str], *, whole: bool = True
) -> str:
    """Each set's releases, the floors of its real images, and what a classifier reads: the cells
    of these names, of the releases with these titles and the floors of these names. ``whole``:
    with how many pairs each set has, and how all were trained."""
    keys, named, shown = list(keys), list(named), set(shown)
    header = ["images (test part)", "released as", *named]
    rows = [row for key in keys for row in _set_rows(key, named, shown)]
    said = [meaning(results(keys[0]))]
    said += [
        f"{SUMMARY[key]}: {' '.join((matched_pairs(own), *trainings(own)))}"
        for key in (keys if whole else ())
        for own in [results(key)]
    ]
    if again := [SUMMARY[key] for key in keys if late(key)]:
        said.append(
            "**To be made again**: the documented commands no longer give the options of these "
            f"figures: {', '.join(again)}."
        )
    return text((header, rows), said)


def _set_rows(key: str, named: list[str], shown: set[str]) -> Iterator[list[str]]:
    own = results(key)
    about = own.source
    images = f"{SUMMARY[key]}: {about.images} of {about.patients} patients, {about.size} px"
    controls = {d.to for *_, a in own.attacks() for d in a.differences if d.role == CONTROL}
    for title, method in own.titled:
        said = next((name for name in shown if f"{title},".startswith(f"{name},")), None)
        if CONTROL in shown and title in controls:
            said = f"{method.name} that moves as far (control)"
        if said:
            yield [images, said, *(CELLS[name](method) for name in named)]
            images = ""
    for floor in own.floors:
        if floor.name in shown:
            found = dict(zip(STRONGEST, (floor.matched, floor.auc), strict=True))
            cells = [in_words(found[n], digits=2) if n in found else "–" for n in named]
            yield ["", f"*floor: {FLOORS[floor.name]}*", *cells]


def _miniature() -> str:
    """One kind of generator a row, several of them together; an attacker a column, each against
    matched impostors, and what classifiers read."""
    main, scratch = results(MINIATURE), [results(f"{MINIATURE}/{p}") for p in SCRATCH]
    kinds: dict[str, list[Method]] = {}
    for method in main.methods:
        weight, border = (method.options.get(n) for n in ("verification_weight", "border"))
        known = {"identity": "real images", RandomWarp.name: "random warp that moves as far"}
        trained = f"{method.name}, L_ver × {weight}" + (", frame" * (border == "reference"))
        kind = known.get(method.name, trained)
        kinds.setdefault(kind, []).append(method)
    header = ["released as", "generators", "moved by (px, RMS)"]
    header += [f"from scratch, {pairs}" for pairs in SCRATCH]
    header += [*AGAIN.values(), "classifier frozen ↑", RETRAINED]
    rows = []
    for kind, methods in kinds.items():
        moved = [m.image.displacement_px for m in methods]
        prints = {(m.name, m.fingerprint) for m in methods}
        rows.append(
            [
                kind,
                str(len(methods)) if methods[0].steps else "–",
                _several([one.rms for one in moved if one and one.rms]),
                *(
                    _several(
                        m.privacy["verification"].headline.auc.mean
                        for m in own.methods
                        if (m.name, m.fingerprint) in prints
                    )
                    for own in scratch
                ),
                *(_several(m.privacy[key].headline.auc.mean for m in methods) for key in AGAIN),
                *(
                    _several(m.utility.auc(which).mean for m in methods)
                    for which in ("frozen", "retrained")
                ),
            ]
        )
    return markdown(header, rows)


def _several(values: Iterable[float]) -> str:
    """Their mean, and their deviation where there are several."""
    found = list(values)
    if not found:
        return "–"
    spread = f" ± {np.std(found):.3f}" if len(found) > 1 else ""
    return f"{np.mean(found):.3f}{spread}"


def _sets() -> str:
    """Methods that make each output of several people: of how many, what the strongest attacker of
    single images finds, and what classifiers learn."""
    found, larger = results(SETS), {_kind(m): m for m in results(LARGER).methods}
    header = ["released as", "images in an output", STRONGEST[0], *GUESSES, "the same, `sets`"]
    header += [RETRAINED, LESS_REAL, f"ResNet-18 {RETRAINED}"]
    rows = []
    for title, method in found.titled:
        attack, other = method.strongest_by_image[1], larger.get(_kind(method))
        any_of_them, this_one = attack.precision_at_1, attack.precision_at_1_own
        rows.append(
            [
                title,
                f"{method.sets.contributors} or more" if method.sets else "1",
                _strongest(method),
                _share(any_of_them),
                _share(any_of_them if this_one is None else this_one),
                _share(attack.r_s),
                _reading(method.privacy["sets"], MATCHED),
                _utility(method, "retrained"),
                signed(method.utility.retrained.difference),
                "–" if other is None else _utility(other, "retrained"),
            ]
        )
    return text((header, rows), [meaning(found)])


def _kind(method: Method) -> tuple[str, str]:
    return method.name, json.dumps(method.options, sort_keys=True)


def _strongest(method: Method) -> str:
    name, attack = method.strongest_by_image
    return f"{name} {_reading(attack, MATCHED)}"


def _seeds(method: Method) -> str:
    attacks = (method.strongest_by_image[1], method.privacy["verification"])
    return ", ".join(f"{len(a.auc.runs)}{' from one start' * a.warm_start}" for a in attacks)


def _reading(attack: Attack, reading: str) -> str:
    found = auc(attack, reading)
    return NONE_ALIKE if found is None else in_words(found, digits=2)


def _less(method: Method, role: str) -> str:
    """The strongest attacker's AUC against matched impostors less that on another release."""
    found = (d for d in method.strongest_by_image[1].headline.differences if d.role == role)
    return next((signed(d.difference) for d in found), "–")


def _above(attack: Attack, other: Attack) -> bool:
    return attack.headline.auc.mean > other.headline.auc.mean


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _utility(method: Method, kind: str) -> str:
    if method.utility.readable is False:
        return "unreadable"
    return in_words(method.utility.auc(kind), digits=2)


STRONGEST = (f"strongest attacker ↓, {NAMES[MATCHED]}", f"the same, {NAMES[ALL]}")
PUBLISHED, UNTRAINED = (f"{k} ↓, {NAMES[MATCHED]}" for k in ("published attacker", "no training"))
RETRAINED = "classifier retrained ↑"
LESS_REAL = "less real images"
CELLS: dict[str, Callable[[Method], str]] = {
    STRONGEST[0]: _strongest,
    STRONGEST[1]: lambda m: _reading(m.strongest_by_image[1], ALL),
    LESS_REAL: lambda m: _less(m, "real"),
    "less the control": lambda m: _less(m, CONTROL),
    "first guess right": lambda m: _share(m.strongest_by_image[1].precision_at_1),
    "patients given away": lambda m: _share(m.strongest_by_image[1].r_s),
    PUBLISHED: lambda m: _reading(m.privacy["verification"], MATCHED),
    UNTRAINED: lambda m: _reading(m.privacy["training-free"], MATCHED),
    "trainings": _seeds,
    "classifier frozen ↑": lambda m: _utility(m, "frozen"),
    RETRAINED: lambda m: _utility(m, "retrained"),
}
COMPARED = (*STRONGEST, PUBLISHED, UNTRAINED, "trainings", "classifier frozen ↑", RETRAINED)
LINKED = (
    *(STRONGEST[0], LESS_REAL, "less the control"),
    *("first guess right", "patients given away"),
)
FEW = (*STRONGEST, LESS_REAL, PUBLISHED, UNTRAINED, RETRAINED)
COUNTED: dict[str, Callable[[Method], bool]] = {
    "published attacker below gradient histograms without training": lambda m: _above(
        m.privacy["training-free"], m.privacy["verification"]
    ),
    "strongest attacker above them": lambda m: _above(
        m.strongest_by_image[1], m.privacy["training-free"]
    ),
    "`sets` at least as high as every attacker of single images, all impostors": lambda m: all(
        m.privacy["sets"].auc.mean >= attack.auc.mean for attack in m.privacy.values()
    ),
}


def _cost() -> str:
    measured = json.loads((RESULTS / "cost.json").read_text(encoding="utf-8"))
    times = (
        "not measured" if (m := r["minutes"]) is None else f"{m:g} min" for r in measured["runs"]
    )
    rows = (
        (f"`{r['command']}`", t, r["memory"]) for r, t in zip(measured["runs"], times, strict=True)
    )
    return markdown((f"on {measured['machine']}", "time", "memory"), rows)


def _known_answers() -> str:
    measured = json.loads((RESULTS / "known_answers.json").read_text(encoding="utf-8"))
    return table([Answer.read(plain) for plain in measured["answers"]])


def _coverage() -> str:
    """How often 95 % intervals hold the truth, by figure and number of patients."""
    made = json.loads((RESULTS / "coverage.json").read_text(encoding="utf-8"))
    header = ["95 % intervals that hold the truth"]
    header += [f"{w['patients']} patients ({w['repetitions']} worlds)" for w in made["worlds"]]
    shares = [w["coverage"] for w in made["worlds"]]
    rows = (
        (title, *(f"{100 * s[name]:.1f} %" if name in s else "–" for s in shares))
        for name, title in made["figures"].items()
    )
    return markdown(header, rows)


def _checked() -> str:
    """What every attacker came to in its own tests (``attacks check --json``): the AUC, in bold
    where the test failed; a dash where it does not concern the attacker."""
    outcomes = json.loads((RESULTS / "attackers" / "check.json").read_text(encoding="utf-8"))
    cases = list(dict.fromkeys(o["case"] for o in outcomes))
    found = {(o["attacker"], o["case"]): o for o in outcomes}
    tested = {o["attacker"] for o in outcomes}
    rows = [
        (c.key, *(_outcome(found.get((c.key, case)), c.key in tested) for case in cases))
        for c in every_level()
    ]
    return markdown(("attacker", *cases), rows)


def _outcome(outcome: dict | None, tested: bool) -> str:
    if outcome is None:
        return "not finished" if tested else "not tested"
    if outcome["auc"] is None:
        return "–" if outcome["status"] == "not applicable" else "**failed**"
    auc = f"{outcome['auc']:.2f}"
    return auc if outcome["status"] == "passed" else f"**failed {auc}**"


if __name__ == "__main__":
    for path, table in made().items():
        path.write_text(table, encoding="utf-8")
    for picture, (key, draw) in PICTURES.items():
        draw(results(key), ROOT / "docs" / picture)
    for page in pages():
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
