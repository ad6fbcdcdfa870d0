"""`attacks release`: the very files of a release, and what is said of it."""

import json
import stat

import pytest
from changing import altered
from files_attacked import ask, by_attacker, found_in, write_noise
from overlapping import read_table
from PIL import Image

import attacks
from attacks.commands.release import ATTACKERS
from attacks.evaluation.policies.policy import Policy
from attacks.evaluation.policies.release_seen import ReleaseSeen
from attacks.linkage.release_attack import DEFAULT
from attacks.linkage.release_results import ReleaseResults
from attacks.linkage.release_verdict import judged_release
from attacks.reporting.tables import in_words
from attacks.reporting.verdict import attack_table, verdict

pytestmark = pytest.mark.whole

SIZE = 96
LAST = "others: AUC, matched impostors"
PATIENTS = 15


@pytest.fixture(scope="module")
def attacked(a_release):
    folder, _ = a_release
    patients = ("--patients", folder / "patients.csv", "--out", folder / "attack")
    return ask(a_release, folder / "real", folder / "out", *patients), folder / "attack"


@pytest.fixture(scope="module")
def found(attacked):
    return found_in(attacked[1])


@pytest.fixture(scope="module")
def whole(found):
    """The same as results."""
    return ReleaseResults.model_validate({k: v for k, v in found.items() if k != "verdict"})


def test_a_blur_hides_nobody_and_the_verdict_says_so(attacked, found):
    result, _ = attacked
    assert f"are released as these files were, up to {SIZE} × {SIZE} px" in result.stderr
    assert "VERDICT: people are found in this release. training-free finds whom 30 of 30" in (
        result.stdout
    )
    assert "Do not hand this release on as anonymous" in result.stdout
    assert found["method"] == "gaussian-blur:sigma=0.02"
    assert found["matched_by"] == ["findings", "sex", "age", "view"]
    best = {a["attacker"]: a for a in found["attacks"]}["training-free"]
    assert best["found"]["files"] == 30
    assert best["found"]["patients"] == PATIENTS
    assert best["found"]["expected"] == pytest.approx(30 * 2 / 30)
    assert best["others"]["precision_at_1"] > 0.5
    assert best["others"]["matched"]["auc"]["mean"] > 0.7
    assert best["with_originals"]["auc"]["mean"] >= best["others"]["auc"]["mean"]


def test_who_tells_nothing_apart_takes_no_file_for_anybody(attacked):
    """No file is the very one of another: to `identical` all are as near."""
    rows = read_table(attacked[1] / "found.csv")
    taken = {"identical": set(), "training-free": set()}
    for row in rows:
        if row["attacker"] in taken:
            taken[row["attacker"]].add((bool(row["taken_for"]), bool(row["patient_taken_for"])))
    assert taken == {"identical": {(False, False)}, "training-free": {(True, True)}}


def test_findings_alone_are_a_floor_in_both_readings(attacked, found, whole):
    """Odd patients have one finding, even ones another, two images each: who has the same one is of
    the same person in one pair of 8 or 7, originals left out."""
    floor = found["findings"]["others"]
    eight, seven = 8, 7  # people of either finding
    pairs = 4 * (eight * seven)  # of different people and findings, to and fro with two images each
    alike = 2 * (eight * (eight - 1) + seven * (seven - 1))
    every = 2 * pairs + 2 * alike
    assert floor["auc"]["mean"] == pytest.approx(0.5 + 0.5 * 2 * pairs / every)
    assert floor["matched"]["mean"] == 0.5
    assert found["findings"]["with_originals"]["auc"] is not None
    header, rows = attack_table(whole)
    row = dict(zip(header, rows[-1], strict=True))
    assert row["attacker"] == "findings (floor)"
    assert row["others: AUC, all impostors"].startswith(f"{floor['auc']['mean']:.3f}")
    assert row["others: AUC, matched impostors"].startswith("0.500")
    said = "floor, with other images of the patients alone: true findings alone link with AUC 0.500"
    assert said in attacked[0].stdout
    assert "findings (floor)" in (attacked[1] / "release.md").read_text()


def test_where_no_findings_are_known_the_floor_says_so(a_release, tmp_path):
    folder, _ = a_release
    asked_for = (folder / "real", folder / "out", "--attackers", "identical", "--out", tmp_path)
    said = ask(a_release, *asked_for).stdout
    assert "not tried: findings (floor): no findings are known (--patients says them" in said
    assert found_in(tmp_path)["findings"] is None


def test_what_names_files_is_private(a_release, attacked):
    result, out = attacked
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    for name in ("release.json", "release.md", "found.csv", "found.png"):
        assert stat.S_IMODE((out / name).stat().st_mode) == 0o600
    lines = [r for r in read_table(out / "found.csv") if r["attacker"] == "training-free"]
    assert {line["found"] for line in lines} == {"1"}
    assert all(line["original"] == line["released"] for line in lines)
    public = result.stdout + (out / "release.json").read_text() + (out / "release.md").read_text()
    assert "07.png" not in public
    assert "p7" not in public


def test_floors_say_what_no_picture_is_needed_for(a_release, tmp_path):
    """A size of its own gives a file away, and pixels that were passed through do."""
    for name in ("real", "copied"):
        (tmp_path / name).mkdir()
        for row in range(6):
            inverted = name == "copied" and row > 1
            write_noise(tmp_path / name / f"{row}.png", row, height=40 + row, inverted=inverted)
    result = ask(a_release, tmp_path / "real", tmp_path / "copied", "--out", tmp_path / "attack")
    by = by_attacker(found_in(tmp_path / "attack"))
    assert (by["format"], by["identical"]) == (6, 2)
    assert "found by size and format of the files alone" in result.stdout
    assert "note: nobody says what released these files" in result.stdout


def test_more_attackers_are_asked_in_one_folder_and_of_other_files_none(a_release, tmp_path):
    for name in ("real", "released"):
        (tmp_path / name).mkdir()
        for row in range(4):
            Image.new("L", (40, 40), 60 * row).save(tmp_path / name / f"{row}.png")

    def attack(attackers, code=0):
        folders = (tmp_path / "real", tmp_path / "released", "--out", tmp_path / "attack")
        return ask(a_release, *folders, "--attackers", attackers, code=code)

    attack("identical")
    attack("format, identical")
    held = json.loads((tmp_path / "attack" / "release.json").read_text())
    assert {a["attacker"] for a in held["attacks"]} == {"format", "identical"}
    assert "holds results of something else (attackers)" in attack("identical", code=2).stderr
    Image.new("L", (40, 40), 9).save(tmp_path / "released" / "0.png")
    said = attack("format, identical", code=2).stderr
    assert "holds results of something else (RELEASED)" in said


def test_python_says_the_same(a_release, attacked):
    folder, _ = a_release
    settings = {
        "data.source": "folder",
        "data.root": str(folder / "known"),
        "data.size": 32,
        "data.cache": str(folder / "cache"),
        "evaluation.resamplings": 50,
    }
    found = attacks.release(
        folder / "real",
        folder / "out",
        attackers=["training-free", "format"],
        options=settings,
        out=folder / "attack",
    )
    assert "finds whom 30 of 30 released files show" in found.verdict
    assert repr(found) == "Released(training-free finds 30 of 30)"
    assert len(found.frame) == 60
    assert ATTACKERS == DEFAULT


# The figures


def test_a_coin_falls_on_what_a_probe_is_compared_with(found):
    """Two images a patient, 30 in all: with the originals 2 of 30, of the others 1 of 29."""
    first = found["attacks"][0]
    assert first["with_originals"]["chance"] == pytest.approx(2 / 30)
    assert first["others"]["chance"] == pytest.approx(1 / 29)


@pytest.mark.parametrize(("p", "links"), [(0.004, False), (0.002, True)])
def test_many_readings_of_a_coin_are_no_link(whole, p, links):
    """Ten readings, one of which has this p: 0.025 holds for all of them together."""
    nobody = {"found": 0.0, "share": 0.0, "interval": (0.0, 0.2)}
    one = altered(whole.attacks[0], found=nobody)

    def attack(*ps):
        readings = [altered(one.with_originals, p_above_chance=q) for q in ps]
        return altered(one, with_originals=readings[0], others=readings[1])

    attacks = (attack(p, 0.5), *[attack(0.5, 0.5)] * 4)
    assert ("this release links" in verdict(altered(whole, attacks=attacks))) == links


@pytest.mark.parametrize(("patients", "said"), [(2, "of 2 patients: too few"), (3, "1.000")])
def test_figures_of_two_people_are_not_said(whole, patients, said):
    several = altered(whole.attacks[0].others, patients=patients, precision_at_1=1.0)
    one = altered(whole, attacks=(altered(whole.attacks[0], others=several),))
    header, (row, _) = attack_table(one)  # and what findings link
    assert said in row[slice(*map(header.index, ("others: P@1, matched impostors", LAST)))]
    assert (row[header.index("others: AUC, all impostors")] == "–") == (patients < 3)


def test_every_auc_of_the_table_says_against_whom(whole):
    """Matched impostors first; those of the attacker's own test part, too."""
    header, rows = attack_table(whole)
    aucs = [name for name in header if "AUC" in name or "P@1" in name]
    assert [name.rpartition(", ")[2] for name in aucs] == ["matched impostors", "all impostors"] * 4
    row = dict(zip(header, rows[0], strict=True))
    with_originals, others = whole.attacks[0].with_originals, whole.attacks[0].others
    assert row["AUC, matched impostors"] == in_words(with_originals.matched.auc)
    assert row["AUC, all impostors"] == in_words(with_originals.auc)
    assert row["others: AUC, matched impostors"] == in_words(others.matched.auc)
    assert row["others: P@1, matched impostors"] == f"{others.matched.precision_at_1:.3f}"
    learnt = whole.attacks[0].learnt
    assert row["own test AUC, all impostors"] == in_words(learnt.figures["auc"])
    assert row["own test AUC, matched impostors"] == "–"  # its images say no findings


def test_all_files_of_few_people_are_not_cleared(whole):
    """As many as can be found, of so few that chance is not excluded: that shows something."""

    def said(share):
        few = {"found": 24.0 * share, "share": share, "files": 24, "expected": 8.0}
        one = altered(whole.attacks[0], found={**few, "interval": (0.2, 1.0)})
        level = altered(one.with_originals, p_above_chance=0.25)
        return verdict(altered(whole, attacks=(altered(one, with_originals=level, others=level),)))

    assert "too few people to tell" in said(1.0)
    assert "chance is not excluded" in said(0.5)
    assert "too few people to tell" not in said(0.3)


def test_an_attack_says_how_likely_a_coin_is(found):
    p = {a["attacker"]: a["with_originals"]["p_above_chance"] for a in found["attacks"]}
    assert p["training-free"] < 0.001


def test_who_learns_nothing_is_not_given_training_images(a_release, tmp_path):
    """An attacker without training needs images only to be measured on; it takes those of one that
    learnt, where these were released before."""
    folder, _ = a_release

    def given(attackers):
        """Images that are released for the attackers, in all."""
        out = tmp_path / attackers
        words = (folder / "real", folder / "out", "--out", out, "--attackers", attackers)
        said = ask(a_release, *words, "--set", "evaluation.histogram_metric.cells=[4]").stderr
        said = said.split(" images of folder are released")[:-1]
        assert len(list(out.glob("released-*.npy"))) == len(said)
        return sum(int(text.split()[-1]) for text in said)

    every = len(read_table(folder / "known" / "list.csv"))
    assert given("training-free") < 0.4 * every
    assert given("histogram-metric,training-free") == every


def lines_of(whole, release=None, **demands):
    """The lines of a policy, by what they say they demand."""
    verdict = judged_release(whole, PATIENTS, Policy(title="ours", **demands), release, ())
    return {line.demand: line for line in verdict.lines}


def test_what_an_attack_on_files_does_not_look_at_cannot_be_certified(whole):
    asked_for = {"utility": {"margin": 0.05}, "min_jacobian": 0, "checks": True, "guidelines": "A"}
    lines = lines_of(whole, **asked_for, headers=True, text=True)
    assert len(lines) == 6
    assert {line.outcome for line in lines.values()} == {"cannot be certified"}


def test_every_attacker_has_to_keep_to_a_threshold_and_no_tail_is_fitted(whole):
    [line] = lines_of(whole, precision_at_1=0.01).values()
    assert line.outcome == "fail"
    assert "training-free" in line.said
    [line] = lines_of(whole, precision_at_1=1).values()
    assert line.outcome == "pass"
    few, many = ({"people": n, "most": 0.01} for n in (PATIENTS, 10**6))
    assert [line.outcome for line in lines_of(whole, r_s=few).values()] == ["fail"]
    held = lines_of(whole, r_s=many | {"very_image": True})
    assert [line.outcome for line in held.values()] == ["cannot be certified"] * 2
    assert all("fits no tail" in line.said for line in held.values())


def test_the_manifest_says_whether_files_are_sound_and_folded(whole):
    seen = ReleaseSeen(30, {}, "gaussian-blur", searched=29, moves=False)
    lines = lines_of(whole, seen, headers=True, text=True, min_jacobian=0).values()
    assert [line.outcome for line in lines] == ["pass", "pass", "fail"]
    folded = ReleaseSeen(30, {"changed": 1}, min_jacobian=-0.1)
    lines = lines_of(whole, folded, headers=True, text=True, min_jacobian=0).values()
    assert {line.outcome for line in lines} == {"fail"}


def test_a_policy_judges_the_files(a_release, tmp_path):
    folder, _ = a_release
    patients = ("--patients", folder / "patients.csv", "--out", tmp_path)
    result = ask(
        a_release, folder / "real", folder / "out", *patients, "--policy", "public", code=5
    )
    told = [line for line in result.stdout.splitlines() if "VERDICT, public release" in line]
    assert told == ["VERDICT, public release, gaussian-blur:sigma=0.02: fail"]
    [held] = found_in(tmp_path)["policy"]["verdict"]
    assert held["outcome"] == "fail"
    for line in held["lines"]:
        assert f"{line['outcome']}: {line['demand']}: {line['said']}" in result.stdout
    assert told[0] in (tmp_path / "release.md").read_text()
    assert (tmp_path / "answers.yaml").is_file()


def test_who_is_not_known_is_a_person_of_the_gallery_too(a_release, tmp_path):
    """Fewer people than were measured are found no less, so that this is no upper end for them."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("{title: t, r_s: {people: 10, most: 0.99, very_image: true}}")
    folder, _ = a_release
    asked = (folder / "real", folder / "out", "--out", tmp_path / "out", "--policy", policy)
    ask(a_release, *asked, code=5)
    [held] = found_in(tmp_path / "out")["policy"]["verdict"]
    assert " among 30 people" in held["lines"][1]["said"]
