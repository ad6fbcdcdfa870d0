"""Commands on a page yield the options that stand beside the results; what is late says so."""

import copy

import cells
import headline
import pytest
import reproduced
import tables

import anonymize
from anonymize.configuration import load_options
from attacks.evaluation.pinned import pinned, pinned_training
from attacks.evaluation.protocol import protocol_options, read_protocol
from attacks.measuring.estimates import Difference, Estimate
from attacks.results import Check, Method, Results, Source

PROTOCOL = "docs/results/protocol.yaml"
PAGE = f"""
- COVID-19.
  `attacks evaluate --config {PROTOCOL} --source covid19 --root DATA
  --set evaluation.repeats=1`: [table](results/mine/table.md).
"""


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """Writes results as the only committed ones."""
    monkeypatch.setattr(reproduced, "RESULTS", tmp_path)
    (tmp_path / "mine").mkdir()

    def write(evaluated, trained):
        source = Source(name="covid19", images=1, patients=1)
        methods = (
            Method(name="identity"),
            Method(name="prichexy-net", training=pinned_training(trained)),
        )
        Results(source=source, methods=methods, options=pinned(evaluated)).write(
            tmp_path / "mine" / "results.json"
        )

    return write


def options(**changes):
    given = {"data.source": "covid19", "data.root": "DATA", "evaluation.repeats": 1}
    protocol = read_protocol(str(reproduced.ROOT / PROTOCOL))
    return protocol_options(protocol, given | changes)


def test_options_that_a_command_gives_are_the_same(committed):
    committed(options(), options())
    assert reproduced.evaluations() == ["mine"]
    assert reproduced.differences("mine", PAGE) == []


@pytest.mark.parametrize(
    ("of", "changed", "found"),
    [
        ("evaluation", {"classifier.epochs": 3}, ["classifier.epochs 3, now 8"]),
        ("evaluation", {"evaluation.repeats": 7}, ["evaluation.repeats 7, now 1"]),
        ("training", {"adversarial.epochs": 5}, ["adversarial.epochs 5, now 3"]),
        ("training", {"generator.mu": 0.02}, ["generator.mu 0.02, now 0.01"]),
    ],
)
def test_one_other_option_is_found(committed, of, changed, found):
    other = options(**changed)
    committed(*((other, options()) if of == "evaluation" else (options(), other)))
    assert reproduced.differences("mine", PAGE) == found


def test_an_option_that_is_new_differs_where_it_is_not_its_default(committed, monkeypatch):
    committed(options(), options())
    plain = reproduced.asked(reproduced.documented("mine", PAGE))

    def with_new(**values):
        now, trainings = copy.deepcopy(plain)
        now["evaluation"] |= values
        return lambda call: (now, trainings)

    monkeypatch.setitem(reproduced._DEFAULTS["evaluation"], "new", 1)
    monkeypatch.setattr(reproduced, "asked", with_new(new=1))
    assert reproduced.differences("mine", PAGE) == []
    monkeypatch.setattr(reproduced, "asked", with_new(new=2))
    assert reproduced.differences("mine", PAGE) == ["evaluation.new None, now 2"]


def test_runs_are_of_the_evaluation_around(committed, tmp_path):
    committed(options(), options())
    (tmp_path / "mine" / "again").mkdir()
    page = PAGE + PAGE.replace("mine/table", "mine/again/table").replace(
        "DATA\n", "DATA --run RUN\n"
    )

    def again(fingerprint):
        known = Results.read(tmp_path / "mine" / "results.json")
        methods = [
            m.model_copy(update={"fingerprint": fingerprint * bool(m.training)})
            for m in known.methods
        ]
        known.model_copy(update={"methods": tuple(methods)}).write(
            tmp_path / "mine" / "again" / "results.json"
        )
        return reproduced.differences("mine/again", page)

    assert again("") == []
    assert again("other") == [reproduced.OTHER_RUN]


def test_a_command_is_missing_or_has_an_unknown_option(committed):
    committed(options(), options())
    (missing,) = reproduced.differences("mine", PAGE.replace("attacks evaluate", "attacks link"))
    assert "the command of mine" in missing
    unknown = PAGE.replace("evaluation.repeats=1", "no.such=1")
    (refused,) = reproduced.differences("mine", unknown)
    assert "unknown option" in refused


def test_no_option_names_a_folder(tmp_path):
    listed = str(tmp_path / "pairs.txt")
    found = load_options("quick", {"data.pair_list": listed, "data.root": str(tmp_path)})
    assert pinned(found)["data"]["pair_list"] == "pairs.txt"
    assert str(tmp_path) not in str(pinned(found))
    assert "root" not in pinned(found)["data"]


def made_again(method):
    """The options of a method that the options of another make, as in a command."""
    said = ",".join(f"{k}={v}" for k, v in method.options.items() if v is not None)
    return anonymize.load(f"{method.name}:{said}" if said else method.name).options


def test_a_name_is_of_one_model():
    """In all evaluations of the same images of which methods were told the same findings; what was
    trained is known by its weights."""
    models: dict[tuple, set] = {}
    for key in reproduced.evaluations():
        own = tables.results(key)
        about = own.source
        images = (about.name, about.size, about.images, *about.held_back)
        for title, method in own.titled:
            made = method.fingerprint or frozenset(method.options.items())
            models.setdefault((*images, title), set()).add(made)
    assert [name for name, made in models.items() if len(made) > 1] == []


@pytest.mark.parametrize("key", reproduced.evaluations())
def test_random_numbers_are_still_those_that_were_drawn(key):
    """They follow from all options of a method: one that came later must not be among them."""
    for title, method in tables.results(key).titled:
        if method.fingerprint is None and "seed" in method.options:
            drawn = {k: v for k, v in method.options.items() if v is not None}
            assert made_again(method) == drawn, title


@pytest.mark.parametrize("key", reproduced.evaluations())
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
    own = dict(tables._own(reproduced.evaluations()[0]))
    assert own
    assert all("To be made again" in page for page in own.values())
    assert "To be made again" in tables._summary(tables.SUMMARY, tables.COMPARED, tables.SHOWN)


@pytest.mark.parametrize("key", tables.SUMMARY)
def test_the_summary_has_real_images_their_control_and_floors(key):
    named, shown = list(tables.CELLS), tables.SHOWN
    rows = list(tables._set_rows(key, named, set(shown)))
    known = tables.FLOORS | tables.OF_SETS
    floors = {f"*floor: {known[name]}*" for name in shown if name in known}
    methods = set(shown) - set(known) - {tables.CONTROL}
    found = [row[1] for row in rows if not row[1].endswith("(control)")]
    assert set(found[: len(methods)]) == methods
    assert len(found) == len(methods) + len(floors)
    assert set(found[len(methods) :]) == floors
    controls = [row[1] for row in rows if row[1].endswith("(control)")]
    assert controls == ["random-warp that moves as far (control)"]
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
    assert names[2] == "random-warp that moves as far (control)"
    moved = [float(row[1].split()[0]) for row in rows[1:3]]
    assert moved[1] == pytest.approx(moved[0], rel=0.1)
    assert [name for name in names if name.startswith("*floor: ")] == names[4:]
    assert {len(row) for row in rows} == {len(first)}


def test_generators_are_shown_with_their_intervals_where_an_evaluation_has_them():
    own = reproduced.results(headline.MINIATURE)
    game = next(g for g in own.generators if g.options.items() >= headline.KIND.items())
    assert headline._surpassed(game) == []  # measured before
    shown = Estimate(mean=-0.01, sd=0.002, runs=(-0.012, -0.008), ci95=(-0.03, 0.01))
    less = Difference(to="x", role="control", difference=shown, p=0.3, p_holm=0.6)
    known = {"ensemble": (less,)}
    game = game.model_copy(update={"matched_differences": known, "retrained_differences": (less,)})
    (said,) = headline._surpassed(game)
    words = "−0.010 (−0.030 to +0.010), p 0.6"
    assert f"ensemble, matched impostors, {words}; classifier retrained, {words}." in said
    of_one = own.model_copy(update={"generators": (game,)})
    assert cells.less_control(of_one, "ensemble", "matched", {}).startswith(words)
    assert cells.less_control(of_one, "ensemble", "all", {}) == ""


def test_figures_of_earlier_days_are_judged_by_todays_rules(tmp_path, monkeypatch):
    """What a rule says anew takes the place of what it said; what none says any more is kept."""
    monkeypatch.setattr(reproduced, "RESULTS", tmp_path)
    (tmp_path / "mine").mkdir()
    said = {"attackers link real images": True, "every attacker took part": False}
    checks = tuple(Check(name=n, passed=p, message="Said then.") for n, p in said.items())
    source = Source(name="covid19", images=1, patients=1)
    then = Results(source=source, methods=(Method(name="pixelate"),), checks=checks)
    then.write(tmp_path / "mine" / "results.json")
    now = {check.name: check.passed for check in reproduced.results("mine").checks}
    assert {name: now[name] for name in said} == dict.fromkeys(said, False)
