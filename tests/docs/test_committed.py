"""What is made of the committed results is up to date, and says what it must, counted a second way.

In one file, and so in one process: to read all these results takes longer than all else here."""

import json
import re
from functools import cache

import cells
import games
import headline
import pytest
import reproduced
import tables
from games import BESIDE, DRAWN, GAMES, MINIATURE, OBJECTIVES, STRONG
from reproduced import RESULTS, evaluations

import anonymize
from attacks.measuring.estimates import Difference, Estimate


@cache
def made():
    """The texts of all files that are made, by their path."""
    return tables.made()


def test_what_is_made_is_up_to_date():
    assert {path.name for path in made()} == {
        *("summary.md", "reproduced.md", "cost.md", "known_answers.md", "rooms.md"),
        *(
            "headline.md",
            "coverage.md",
            "delong.md",
            "check.md",
            "checks.md",
            "linked.md",
            "counts.md",
        ),
        *("operating.md", "utility.md", "miniature.md", "control.md", "sets.md"),
        *("known_answers_by_attackers.md", "sets_in_short.md", "verdicts.md"),
        *("verdict_example.md", "together.md", "table_of_films.md", "jigsaw_floors.md"),
        *("larger.md", "recommended.md"),
        *("strangers.md", "members.md", "table.md", "attackers.md", "floors.md"),
    }
    late = [p.name for p, text in made().items() if p.read_text(encoding="utf-8") != text]
    assert not late, f"python docs/tables.py writes {late}"


def helpers():
    """Tables of what attackers reach, of one evaluation or several, with their columns."""
    names = ("control", "together", "sets_in_short", "sets", "miniature", "strangers", "linked")
    names += ("table_of_films", "larger")
    return {path: path.read_text(encoding="utf-8") for path in made() if path.stem in names}


def test_helper_tables_say_what_links_without_looking_for_a_patient():
    found = helpers()
    assert len(found) > 8
    assert not [p for p, t in found.items() if "Floors, AUC" not in t and "| *floor" not in t]


def test_first_guesses_and_who_is_linked_say_among_whom():
    for text in helpers().values():
        header = text.splitlines()[0].strip("| ").split(" | ")
        guesses = ("first guess", "patients given", "R_s", "linked")
        told = [cell for cell in header if cell.startswith(guesses)]
        assert all(cell.endswith(("matched impostors", "all impostors")) for cell in told)


@pytest.mark.parametrize(
    "stem", ["linked", "operating", "sets", "sets_in_short", "strangers", "table_of_films"]
)
def test_matched_impostors_come_first_and_all_follow(stem):
    """But R_s, which was measured against all alone."""
    (text,) = [page for path, page in made().items() if path.stem == stem]
    header = text.splitlines()[0].strip("| ").split(" | ")
    named = [cell for cell in header if cell.endswith("impostors") and not cell.startswith("R_s")]
    ends = [cell.endswith("matched impostors") for cell in named]
    assert len(ends) >= 4
    assert ends == [True, False] * (len(ends) // 2)


def test_verdicts_and_known_answers_have_floors_beside_them():
    text = made()[RESULTS / "verdicts.md"]
    assert text.count("true findings alone") == 1
    own = reproduced.results("children")
    task = next(floor for floor in own.floors if floor.name == "task")
    assert f"| {task.matched.mean:.2f} / {task.auc.mean:.2f} |" in text
    assert "Floors, AUC against" in made()[RESULTS / "known_answers.md"]
    assert "*floor: a coin" in made()[RESULTS / "known_answers_by_attackers.md"]


def test_every_method_has_its_outcome_under_every_policy():
    """Those of one outcome in one row, none left out."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in made()[RESULTS / "verdicts.md"].partition("\n\n")[0].splitlines()[2:]
    ]
    shown = [title for *_, released in rows for title in released.split("; ")]
    keys = (*tables.SUMMARY, "sets")
    assert len(shown) == sum(len(reproduced.results(key).methods) - 1 for key in keys)
    assert {cell for row in rows for cell in row[1:4]} <= {"fail", "cannot be certified", "pass"}


def test_generators_of_a_rounded_warp_are_named_beside_what_they_reach():
    for key in (STRONG, MINIATURE, *games.LARGER):
        again = games.ROUNDED in games.against_control(key)
        assert again == reproduced.rounded(reproduced.results(key)) == (key in games.LARGER)
    assert games.larger().count(games.ROUNDED) == len(games.LARGER)


def test_checks_of_every_evaluation_on_a_page_of_its_own_are_shown():
    """Those of the miniature, attacked once more, are of its methods."""
    again = {f"{own}/{pairs}" for own in (MINIATURE, DRAWN, *GAMES) for pairs in BESIDE}
    assert {*tables.SUMMARY, *tables.FURTHER} == {*evaluations()} - again


# Each evaluation


@pytest.mark.parametrize("key", evaluations())
def test_what_is_committed_is_what_its_command_gives(key):
    assert tables.late(key) == []
    results = tables.results(key)
    measured = tables.FLOORS.keys() - (
        {"task"} if results.real.utility.retrained is None else set()
    )
    if results.options["evaluation"]["scenario"] == "before-after":
        measured = {"findings", "coin"}  # of what is asked there
    assert {floor.name for floor in results.floors} >= measured
    own = {path.name: page for path, page in tables._own(key)}
    assert {"table.md", "floors.md"} <= own.keys()
    beside = [page for name, page in own.items() if name != "floors.md"]
    assert all("Floors, AUC against matched impostors / all impostors:" in page for page in beside)


def test_what_is_late_says_so(monkeypatch):
    monkeypatch.setattr(tables, "late", lambda key: ["data.pairs 3000, now 2400"])
    own = dict(tables._own(evaluations()[0]))
    assert own
    assert all("To be made again" in page for page in own.values())
    assert "To be made again" in tables._summary()


def test_a_name_is_of_one_model():
    """In all evaluations of the same images of which methods were told the same findings; what was
    trained is known by its weights. Tables of generators to be made again say so, and are not
    held against those that were."""
    models: dict[tuple, set] = {}
    for key in evaluations():
        own = tables.results(key)
        about = own.source
        images = (
            about.name,
            about.size,
            about.images,
            reproduced.rounded(own),
            *about.held_back,
        )
        for title, method in own.titled:
            kind = method.fingerprint or frozenset(method.options.items())
            models.setdefault((*images, title), set()).add(kind)
    assert [name for name, kinds in models.items() if len(kinds) > 1] == []


def test_random_numbers_are_still_those_that_were_drawn():
    """They follow from all options of a method: one that came later must not be among them."""
    drawn = {
        (method.name, *((k, v) for k, v in method.options.items() if v is not None))
        for key in evaluations()
        for method in tables.results(key).methods
        if not method.fingerprint and "seed" in method.options
    }
    assert drawn
    for name, *options in drawn:
        said = ",".join(f"{k}={v}" for k, v in options)
        spec = f"{name}:{said}" if said else name
        assert anonymize.load(spec).options == dict(options), spec


# Tables of several evaluations


@pytest.mark.parametrize("key", [MINIATURE, STRONG, DRAWN, *GAMES])
def test_below_the_control_stands_how_far_the_generators_were_trained(key):
    table, said = games.against_control(key).split("\n\n")[:2]
    rest, count, steps = re.fullmatch(
        r"Generators that converged: (\d+) of (\d+) after (.+) steps\.", said.strip()
    ).groups()
    row = [cell.strip() for cell in table.splitlines()[-1].split("|")[1:-1]]
    assert count == row[-4]
    text = (RESULTS / key / "results.json").read_text(encoding="utf-8")
    found = [m for m in json.loads(text)["methods"] if '"control"' in json.dumps(m["privacy"])]
    assert len(found) == int(count)
    assert sum(m["converged"] for m in found) == int(rest)
    assert {m["steps"] for m in found} == {int(n.replace(",", "")) for n in steps.split(" or ")}


def test_nothing_is_said_where_no_generator_was_trained():
    assert games._come_to_rest(games.results("sets").methods) == []


@pytest.mark.parametrize(
    ("key", "option"), [(OBJECTIVES, "mu"), (MINIATURE, "verification_weight")]
)
def test_kinds_apart_are_the_generators_together(key, option):
    """Of each attacker the counts of all kinds add up to those of the whole evaluation."""

    def counts(text):
        rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:2] == "| "]
        return [(*row[:2], *map(int, row[-4:])) for row in rows if row[-1].isdecimal()]

    apart, together = games.apart(key, option), games.against_control(key)
    whole = {row[:2]: row[2:] for row in counts(together)}
    summed = dict.fromkeys(whole, (0, 0, 0, 0))
    for *of, a, b, c, d in counts(apart):
        summed[tuple(of)] = tuple(map(sum, zip(summed[tuple(of)], (a, b, c, d), strict=True)))
    assert summed == whole
    assert all(row[0] > 0 for row in whole.values())


@pytest.mark.parametrize("key", tables.SUMMARY)
def test_the_summary_has_real_images_what_hides_them_and_floors(key):
    named, shown = list(tables.CELLS), tables.SHOWN
    rows = list(tables._set_rows(key, named, set(shown)))
    known = tables.FLOORS | tables.OF_SETS
    floors = {f"*floor: {known[name]}*" for name in shown if name in known}
    methods = set(shown) - set(known)
    found = [row[1] for row in rows]
    assert set(found[: len(methods)]) == methods
    assert len(found) == len(methods) + len(floors)
    assert set(found[len(methods) :]) == floors
    assert {len(row) for row in rows} == {2 + len(named)}


def test_the_headline_is_of_generators_beside_their_control_and_floors():
    first, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in headline.headline().splitlines()
        if line.startswith("|") and "---" not in line
    ]
    assert first[0] == "released as"
    names = [row[0] for row in rows]
    assert names[0] == "real images"
    assert names[1].startswith("prichexy-net μ=0.04, 3 generators, ")
    assert names[2] == "random-warp that moves as far as the first (control)"
    moved = [float(row[1].split()[0]) for row in rows[1:3]]
    assert moved[1] == pytest.approx(moved[0], rel=0.1)
    assert [name for name in names if name.startswith("*floor: ")] == names[4:]
    assert {len(row) for row in rows} == {len(first)}


def test_generators_are_shown_with_their_intervals_where_an_evaluation_has_them():
    own = reproduced.results(headline.MINIATURE)
    game = next(g for g in own.generators if g.options.items() >= headline.KIND.items())
    assert headline._surpassed(game)
    shown = Estimate(mean=-0.01, sd=0.002, runs=(-0.012, -0.008), ci95=(-0.03, 0.01))
    less = Difference(to="x", role="control", difference=shown, p=0.3, p_holm=0.6)
    known = {"ensemble": (less,)}
    found = {"matched_differences": known, "retrained_differences": (less,), "differences": {}}
    game = game.model_copy(update=found)
    (said,) = headline._surpassed(game)
    words = "−0.010 (−0.030 to +0.010), p 0.6"
    assert f"ensemble, matched impostors, {words}; classifier retrained, {words}." in said
    of_one = own.model_copy(update={"generators": (game,)})
    assert cells.less_control(of_one, "ensemble", "matched", {}).startswith(words)
    assert cells.less_control(of_one, "ensemble", "all", {}) == ""
