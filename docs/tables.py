"""Puts what is made into README.md and docs/*.md: python docs/tables.py

A table stands between ``<!-- table: PATH -->`` and ``<!-- end -->`` and is the file at PATH, seen
from the repository's root. These files are made here: tables of several committed results, the
tables of each from its results.json, the coverage of the intervals, what
the attackers' own tests and the bench of known answers came to, and the map of the rooms. The
pictures that need no images are drawn again.

Of figures that a documented command does not give any more, the tables say so themselves.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import reproduced
import rooms
from cells import (
    BY_LOT,
    CELLS,
    COIN,
    COMPARED,
    FLOORS,
    GUESSED,
    LINKED,
    OF_SETS,
    OPERATING,
    READ,
    STRONGEST,
    missed,
    missed_at,
    share,
)
from compared import (
    CODES,
    MIXED,
    SETS,
    members,
    recommended,
    sets,
    sets_in_short,
    strangers,
    together,
    very_films,
)
from frontier import frontier, others
from games import (
    DRAWINGS,
    DRAWN,
    GAMES,
    MINIATURE,
    OBJECTIVES,
    PAINTED,
    STRONG,
    against_control,
    apart,
    larger,
    miniature,
)
from headline import headline
from measured import (
    answers_by_attackers,
    checked,
    cost,
    coverage,
    delong,
    known_answers,
    pass_their_tests,
    tested_earlier,
)
from reproduced import RESULTS, ROOT, ROUNDED, results
from verdicts import example, verdicts

from anonymize.prichexy_net import PriCheXyNet
from anonymize.statistics import AS_BEFORE, FORMULA
from attacks.evaluation.checks.check_record import NAME as OWN_TESTS
from attacks.reporting.folder import pages as tables_of
from attacks.reporting.pictures.roc import roc
from attacks.reporting.pictures.tradeoff import tradeoff
from attacks.reporting.readings import MATCHED, NAMES, floors, matched_like, matched_pairs, meaning
from attacks.reporting.tables import in_words, markdown, not_repeated, text
from attacks.results import Attack, Check, Floor, Method, Results

TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
SUMMARY = {
    **{"children": "Children", "covid19": "COVID-19", "chestxray14": "ChestX-ray14"},
    "phantom": "Phantom",
}
FURTHER = {
    "miniature": "Children, miniature",
    STRONG: "…, every attacker",
    PAINTED: "Children, Privacy-Net",
    OBJECTIVES: "…, other objectives",
    DRAWN: "…, drawn",
    **GAMES,
    SETS: "Children, sets",
    "sets_resnet": "…, ResNet-18",
    "sets_whole": "…, whole images",
    "sets_whole_resnet": "…, ResNet-18, whole images",
    "sets_read": "…, labels read",
    "sets_read_resnet": "…, ResNet-18, labels read",
    "sets_bands": "…, one band",
    "sets_coarse": "…, coarse, 4 × 4",
    "sets_coarse_resnet": "…, ResNet-18, coarse, 4 × 4",
    "sets_lots": "…, coarse, 4 × 4, three lots",
    "sets_uses": "…, coarse, 4 × 4, four uses",
    "sets_uses_resnet": "…, ResNet-18, coarse, 4 × 4, four uses",
    "sets_budget": "…, coarse, 4 × 4, fewer patches",
    "sets_budget_resnet": "…, ResNet-18, coarse, 4 × 4, half of the patches",
    "sets_before_after": "…, the very films",
    "sets_members": "…, who is in it",
    "sets_trained": "…, a trained network",
    "sets_inverse": "…, restored by a network",
    CODES: "Children, one image for each",
    MIXED: "…, the donors taken off",
    "held_back": "Phantom, findings held back",
    "held_back_real": "ChestX-ray14, findings held back",
    "sets_covid19": "COVID-19, sets",
}
OLDER = "an older program's"
OF_RATES = "today's, but wider of rates"
OF_RUNS = f"{OF_RATES}, and other ones of means over runs"
WITH_RUNS = "2026-11-27T09"  # since when means over runs have today's
UNMEASURED = "A dash beside a floor: not measured there."
ALL_OUTPUTS = "2026-11-27T22:27"  # since when releases of sets are measured as today
BEFORE = f"{OLDER}, and releases of sets were measured otherwise"
SHOWN = (
    *("real images", "random-warp μ=0.01", "random-warp μ=0.1", "random-warp μ=0.3"),
    *("dp-pix b=8, ε=0.1", "dp-pix b=1, ε=0.1"),
    *(*FLOORS, *OF_SETS),
)
OPERATED = {"real images", "random-warp μ=0.1", "dp-pix b=8, ε=0.1", *FLOORS}
PICTURES: dict[str, tuple[str, Callable[..., None]]] = {
    "tradeoff.png": ("children", tradeoff),
    "roc.png": ("children", roc),
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
        RESULTS / "summary.md": _summary(),
        RESULTS / "headline.md": headline(),
        RESULTS / "reproduced.md": _reproduced(),
        RESULTS / "miniature.md": miniature(),
        RESULTS / "control.md": apart(MINIATURE, "verification_weight"),
        RESULTS / DRAWINGS / "miniature.md": miniature(DRAWINGS),
        RESULTS / PAINTED / "miniature.md": miniature(PAINTED),
        RESULTS / MINIATURE / "larger.md": larger(),
        **{RESULTS / key / "control.md": against_control(key) for key in (STRONG, DRAWN, *GAMES)},
        RESULTS / OBJECTIVES / "control.md": apart(OBJECTIVES, "mu"),
        RESULTS / "sets.md": sets(),
        RESULTS / "recommended.md": recommended(),
        RESULTS / "sets_in_short.md": sets_in_short(),
        RESULTS / "together.md": together(),
        RESULTS / "jigsaw_floors.md": "\n".join(floors(results(SETS))) + "\n",
        RESULTS / "strangers.md": strangers(),
        RESULTS / "sets_before_after" / "table_of_films.md": very_films(),
        RESULTS / "sets_members" / "members.md": members(),
        RESULTS / "checks.md": _checks(SUMMARY | FURTHER),
        RESULTS / "linked.md": _rows_of(SUMMARY, LINKED, SHOWN, [UNMEASURED]),
        RESULTS / "operating.md": _rows_of(SUMMARY, OPERATING, OPERATED, [UNMEASURED]),
        RESULTS / "utility.md": _read(SUMMARY),
        RESULTS / "counts.md": _counts(SUMMARY),
        RESULTS / "verdicts.md": verdicts(SUMMARY | {SETS: "Children, releases of sets"}),
        RESULTS / "verdict_example.md": example(),
        RESULTS / "cost.md": cost(),
        RESULTS / "known_answers.md": known_answers(),
        RESULTS / "known_answers_by_attackers.md": answers_by_attackers(),
        RESULTS / "coverage.md": coverage(),
        RESULTS / "delong.md": delong(),
        RESULTS / "attackers" / "check.md": checked(),
        ROOT / "docs" / "site" / "rooms.md": f"```mermaid\n{rooms.drawing()}\n```\n",
    }


@cache
def late(key: str) -> list[str]:
    """What the documented command of an evaluation gives otherwise today."""
    return reproduced.differences(key, "\n".join(p.read_text(encoding="utf-8") for p in pages()))


def _own(key: str) -> Iterator[tuple[Path, str]]:
    """The tables of one evaluation that are committed."""
    found = results(key)
    for name, page in tables_of(found).items():
        if (path := RESULTS / key / name).is_file():
            yield path, page + _to_be_made_again(key, page)


def _to_be_made_again(key: str, page: str) -> str:
    why = []
    if late(key):
        why.append(f"the documented command gives other options: {'; '.join(late(key))}")
    if PriCheXyNet.name in page and reproduced.rounded(results(key)):
        why.append(ROUNDED)
    return f"\n**To be made again**: {'; '.join(why)}.\n" if why else ""


def _reproduced() -> str:
    """What the committed evaluations are of, beside today's program."""
    rows = (
        (key, "; ".join(late(key)) or "the same", *_age(results(key)))
        for key in reproduced.evaluations()
    )
    header = ("evaluation", "options, beside those of its command today", "made", "intervals")
    return markdown(header, rows)


def _age(own: Results) -> tuple[str, str]:
    """The day, and whether today's program makes intervals of scores as that one did."""
    if (made := own.made) is None:
        return "–", OLDER
    if made.date < ALL_OUTPUTS and any(method.sets for method in own.methods):
        return made.date[:10], BEFORE
    if made.intervals == FORMULA:
        return made.date[:10], "today's"
    as_before = own.source.patients <= AS_BEFORE.get(made.intervals, 0)
    if not as_before:
        return made.date[:10], OLDER
    return made.date[:10], OF_RATES if made.intervals >= WITH_RUNS else OF_RUNS


def _checks(titles: Mapping[str, str]) -> str:
    """Which checks of each evaluation do not hold, one evaluation a row: those that put its figures
    in doubt, those that are findings, and what was not tested."""
    rows = []
    for key, title in titles.items():
        found = {check.name: check for check in results(key).checks} | {OWN_TESTS: _own_tests(key)}
        failed = [check for check in found.values() if check.tested and not check.passed]
        kinds = (
            [check for check in failed if not check.informative],
            [check for check in failed if check.informative],
            [check for check in found.values() if not check.tested],
        )
        rows.append((title, *("; ".join(c.name for c in kind) or "–" for kind in kinds)))
    return markdown(("evaluation", "does not hold", "does not hold: a finding", "not tested"), rows)


def _own_tests(key: str) -> Check:
    """That of the attackers' own tests which is committed: the one of an evaluation is of the very
    program that measured, in which these tests of hours were seldom run."""
    attackers = results(key).attackers
    passed = pass_their_tests(attackers)
    earlier = passed is True and tested_earlier(attackers)
    name = f"{OWN_TESTS}: earlier sources passed them" if earlier else OWN_TESTS
    return Check(
        name=name, passed=bool(passed), message="", tested=not earlier and passed is not None
    )


def _rows_of(
    keys: Iterable[str], named: Sequence[str], shown: Collection[str], said: Iterable[str]
) -> str:
    """The cells of these names, of the releases with these titles and the floors of these names."""
    rows = [row for key in keys for row in _set_rows(key, named, shown)]
    return text((["images (test part)", "released as", *named], rows), said)


def _read(keys: Iterable[str]) -> str:
    """What classifiers read in the releases of each set; one row where it cannot be told."""
    rows = []
    for key in keys:
        found = list(_set_rows(key, READ, {*SHOWN} - {*FLOORS, *OF_SETS}))
        told = results(key).real.utility.readable
        rows += found if told else [[found[0][0], "all", *["unreadable"] * len(READ)]]
    return markdown(["images (test part)", "released as", *READ], rows)


def _counts(keys: Iterable[str]) -> str:
    """Of how many releases of each evaluation, the real images among them, something holds."""
    rows = []
    for name, holds in COUNTED.items():
        found = [[holds(method) for method in results(key).methods] for key in keys]
        rows.append([name, *(f"{sum(one)} of {len(one)}" for one in found)])
    return markdown(("releases", *(SUMMARY[key] for key in keys)), rows)


def _summary() -> str:
    """Each set's releases, the floors of its real images, and what a classifier reads."""
    said = [meaning(results(next(iter(SUMMARY))), "alike in what is said of each set")]
    for key, title in SUMMARY.items():
        own = results(key)
        about = f"{matched_like(own.matched_by)}.", matched_pairs(own), *not_repeated(own)
        said.append(f"{title}: {' '.join(about)}")
    if again := [title for key, title in SUMMARY.items() if late(key)]:
        said.append(
            "**To be made again**: the documented commands no longer give the options of these "
            f"figures: {', '.join(again)}."
        )
    return _rows_of(SUMMARY, COMPARED, SHOWN, said)


def _set_rows(key: str, named: Sequence[str], shown: Collection[str]) -> Iterator[list[str]]:
    own = results(key)
    about = own.source
    images = f"{SUMMARY[key]}: {about.images} of {about.patients} patients, {about.size} px"
    for title, method in own.titled:
        said = next((name for name in shown if f"{title},".startswith(f"{name},")), None)
        if said:
            yield [images, said, *(CELLS[name](method) for name in named)]
            images = ""
    for floor in own.floors:
        if floor.name in shown:
            found = _of_floor(floor)
            cells = [found.get(name, "–" if floor.auc else "not measured") for name in named]
            yield ["", f"*floor: {(FLOORS | OF_SETS)[floor.name]}*", *cells]


def _of_floor(floor: Floor) -> dict[str, str]:
    """Its cells by their columns, as far as it was measured."""
    aucs = dict(zip(STRONGEST, (floor.matched, floor.auc), strict=True))
    rates = floor.first_guess_matched, floor.precision_at_1, None, floor.r_s
    guesses = dict(zip(GUESSED, rates, strict=True))
    guesses[f"EER, {NAMES[MATCHED]}"] = floor.equal_error_rate
    found = {title: in_words(auc, digits=2) for title, auc in aucs.items() if auc}
    found |= {title: share(rate) for title, rate in guesses.items() if rate}
    points = floor.operating_points
    found |= {missed_at(p.false_match_rate, MATCHED): missed(p) for p in points}
    return found | (BY_LOT if floor.name == COIN else {})


COUNTED: dict[str, Callable[[Method], bool]] = {
    "published attacker below gradient histograms without training": lambda m: _above(
        m.privacy["training-free"], m.privacy["verification"]
    ),
    "strongest, image by image, above them": lambda m: _above(
        m.strongest_by_image[1], m.privacy["training-free"]
    ),
    "`sets` at least as high as every attacker of single images": lambda m: all(
        m.privacy["sets"].headline.auc.mean >= attack.headline.auc.mean
        for attack in m.privacy.values()
    ),
}


def _above(attack: Attack, other: Attack) -> bool:
    return attack.headline.auc.mean > other.headline.auc.mean


if __name__ == "__main__":
    for path, table in made().items():
        path.write_text(table, encoding="utf-8")
    for picture, (key, draw) in PICTURES.items():
        draw(results(key), ROOT / "docs" / picture)
    frontier(ROOT / "docs" / "frontier.png")
    others(ROOT / "docs" / "frontier_others.png")
    for page in pages():
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
