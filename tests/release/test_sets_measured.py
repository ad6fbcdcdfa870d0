"""What attackers reached, in a release's certificate: these figures, of this method, rounded."""

import copy
import json
import shutil

import pytest
from release_specimens import checked, command
from set_specimens import Case, table

from anonymize.release import verify
from anonymize.release.sets import certificate

METHOD = "k-same:k=3"


def figures(auc, first):
    """As `attacks.results` writes them, as far as they are read."""

    def estimate(mean):
        return {"mean": mean, "ci95": [mean - 0.05, mean + 0.05]}

    return {"auc": estimate(auc), "estimates": {"precision_at_1": estimate(first)}}


def attack(auc, first, sees="pixels", compares="released-real"):
    matched = figures(auc - 0.1, first + 0.1)
    return figures(auc, first) | {"matched": matched, "sees": sees, "compares": compares}


RESULTS = {
    "source": {"name": "covid19", "images": 200, "patients": 90},
    "options": {"data": {"size": 64}},
    "methods": [
        {"name": "identity", "options": {}, "privacy": {"a": attack(0.9, 0.8)}},
        {"name": "k-same", "options": {"k": 5, "seed": 0}, "privacy": {"a": attack(0.85, 0.7)}},
        {
            "name": "k-same",
            "options": {"k": 3, "seed": 0},
            "privacy": {
                "weak": attack(0.61234, 0.2),
                "strong": attack(0.7123456, 0.1),
                "metadata": attack(0.95, 0.9, sees="metadata"),
                "before-after": attack(0.95, 0.9, compares="before-after"),
            },
        },
    ],
}


def begun(folder):
    made = Case(folder).begin()
    (folder / "who.csv").write_bytes(table(made.files))
    return made


@pytest.fixture
def case(tmp_path):
    return begun(tmp_path)


@pytest.fixture(scope="module")
def with_figures(tmp_path_factory):
    """OUT of a release with RESULTS."""
    case = begun(tmp_path_factory.mktemp("measured"))
    assert released(case, RESULTS).exit_code == 0
    return case.base / "out"


def released(case, results, out="out", model=METHOD):
    path = case.base / "results.json"
    path.write_text(results if isinstance(results, str) else json.dumps(results))
    options = ("--canonical", "32", "--patients", case.base / "who.csv", "--text", "keep")
    return command(case.source, case.base / out, *options, "--measured", path, model=model)


def told(case, results, out="out"):
    """What the certificate of a sound release says of ``results``, and its page."""
    assert released(case, results, out).exit_code == 0
    assert checked(case.base / out).exit_code == 0
    found = certificate.read((case.base / out / "certificate.json").read_bytes())
    return found.measured, (case.base / out / "certificate.md").read_text()


def test_the_highest_figures_against_matched_impostors_are_said(case):
    found, said = told(case, RESULTS)
    assert found.model_dump() == {
        **{"source": "covid19", "size": 64, "images": 200, "patients": 90, "attackers": 2},
        **{"matched": True, "auc": [0.612, 0.562, 0.662], "first_guess": [0.3, 0.25, 0.35]},
        **{"first_guess_coin": None, "given_away": None, "given_away_coin": None},
    }
    written = (case.base / "out/certificate.json").read_bytes()
    assert b"coin" not in written
    assert b"given_away" not in written
    assert "AUC against people alike in what is known of them, where 0.5 is chance: 0.612" in said
    assert "squares of 64 pixels, and not of 32; the highest of 2 attackers" in said
    assert "is no part of this page" not in said
    assert released(case, RESULTS).exit_code == 0  # goes on, and nothing is left to do


def test_what_was_measured_since_takes_the_place_of_what_was_before(case):
    """It may be worse, and the outputs stay as they are."""
    told(case, RESULTS)
    before = (case.base / "out/manifest.csv").read_bytes()
    results = copy.deepcopy(RESULTS)
    results["methods"][2]["privacy"]["strong"] = attack(0.9, 0.4)
    found, said = told(case, results)
    assert found.auc[0] == 0.8
    assert "where 0.5 is chance: 0.8 (" in said
    assert (case.base / "out/manifest.csv").read_bytes() == before


def test_what_a_coin_guesses_stands_beside(case):
    results = copy.deepcopy(RESULTS)
    for attack_on_it in results["methods"][2]["privacy"].values():
        attack_on_it["matched"]["estimates"]["precision_at_1_coin"] = {"mean": 0.03379}
    found, said = told(case, results)
    assert found.first_guess_coin == 0.034
    assert "right: 0.3 (0.25 to 0.35) of 1; a coin's: 0.034." in said


def test_patients_given_away_stand_beside_their_own_coin_or_not_at_all(case):
    """Results without any coin's are of a program that counted too few of them; who is told which
    outputs stand for one patient has none."""
    results = copy.deepcopy(RESULTS)
    attacks = results["methods"][2]["privacy"]
    for n, attack_on_it in enumerate(attacks.values()):
        estimates = attack_on_it["matched"]["estimates"]
        estimates["r_s"] = {"mean": 0.1 + n / 10, "ci95": [0.05, 0.6]}
        estimates["r_s_coin"] = {"mean": 0.0431}
    found, said = told(case, results)
    assert found.given_away == [0.2, 0.05, 0.6]
    assert found.given_away_coin == 0.043
    assert "Share of patients whom some output names so: 0.2 (0.05 to 0.6) of 1; a coin's" in said
    first, second, *_ = attacks.values()
    for n, (attack_on_it, given) in enumerate(((second, [0.2, 0.05, 0.6]), (first, None))):
        del attack_on_it["matched"]["estimates"]["r_s_coin"]
        found, said = told(case, results, f"other{n}")
        assert (found.given_away, found.given_away_coin) == (given, None)
        assert ("names so" in said) == bool(given)


def test_of_several_lots_the_highest_counts(case):
    results = copy.deepcopy(RESULTS)
    other = {
        "name": "k-same",
        "options": {"k": 3, "seed": 1},
        "privacy": {"strong": attack(0.8, 0)},
    }
    other["privacy"]["strong"]["matched"]["estimates"]["precision_at_1"]["ci95"][0] = 0
    results["methods"].append(other)
    found, _ = told(case, results)
    assert (found.attackers, found.auc[0]) == (2, 0.7)


def test_where_an_attacker_found_nobody_alike_all_impostors_count(case):
    results = copy.deepcopy(RESULTS)
    results["methods"][2]["privacy"]["weak"]["matched"] = None
    found, said = told(case, results)
    assert (found.matched, found.auc[0]) == (False, 0.712)
    assert "AUC against anybody else" in said


@pytest.mark.parametrize(
    ("results", "model", "words"),
    [
        (RESULTS, "k-same:k=4", "holds no figures of this k-same; give the results.json"),
        (RESULTS, "mosaic:g=2,m=2", "holds no figures of this mosaic"),
        (RESULTS, "dp-pix:b=4", "--patients is for methods that make each output of several"),
        ("[]", METHOD, "is no such table of figures"),
        ("x", METHOD, "is no such table of figures"),
        (RESULTS | {"source": {"name": "Anna Z.", "images": 9, "patients": 9}}, METHOD, "no such"),
    ],
)
def test_figures_of_anything_else_are_refused(case, results, model, words):
    wrong = released(case, results, model=model)
    assert wrong.exit_code == 2
    assert words in wrong.stderr
    assert not (case.base / "out").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"auc": [0.6123, 0.562, 0.662]},
        {"auc": [0.7, 0.562, 0.662]},
        {"source": "Anna Zlatarov"},
        {"note": 1},
        {"attackers": 0},
        {"first_guess_coin": 0.0338},
        {"given_away_coin": 0.1},
        {"given_away": [0.4, 0.1, 0.3], "given_away_coin": 0.1},
    ],
    ids=str,
)
def test_nothing_else_fits_there(with_figures, tmp_path, change):
    out = shutil.copytree(with_figures, tmp_path / "out")
    path = out / "certificate.json"
    content = json.loads(path.read_bytes())
    content["measured"] |= change
    path.write_text(json.dumps(content, indent=2) + "\n")
    assert not verify.verify(out).sound
    with pytest.raises(ValueError, match="other keys, types or values"):
        certificate.read(path.read_bytes())
