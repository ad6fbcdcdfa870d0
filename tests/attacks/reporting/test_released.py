"""What a report takes from a release: its public tables alone, and nothing that is not ours."""

import pytest
from asked import ask
from release_specimens import command, fill, png, scene
from test_results import made_up

from anonymize.errors import DataError, UsageError
from attacks.cli import main as attacks
from attacks.commands.judgement import Judge
from attacks.reporting.released import read_release


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    fill(folder / "in", {f"patient-jones-{n}.png": png(scene(200 + n), 8, 0) for n in range(3)})
    asked = (folder / "in", folder / "out", "--names", "hashed", "--workers", "1")
    command(*asked, model="dp-pix:b=8,epsilon=0.1", code=0)
    return folder / "out"


def test_it_says_what_the_manifest_says(release):
    found = dict(read_release(release, made_up()).facts)
    assert found["released files"] == "3"
    assert found["inputs"].startswith("3, of them 0 in quarantine")
    assert found["method"] == "dp-pix"
    assert len(found["sha256 of the manifest"]) == 64
    assert found["signature"].startswith("not signed")


def test_figures_of_other_methods_are_not_its_own(release):
    other = made_up(methods=made_up().methods[:3])
    (warning,) = read_release(release, other).warnings
    assert "dp-pix was not evaluated" in warning
    (same,) = read_release(release, made_up()).warnings
    assert "attacks release attacks the files" in same


def test_a_changed_manifest_is_refused(release, tmp_path):
    text = (release / "manifest.csv").read_text(encoding="utf-8")
    for changed in (text + "<script>,x\n", text.replace("dp-pix", "=cmd()"), "", "a,b\n1,2\n"):
        (tmp_path / "manifest.csv").write_text(changed, encoding="utf-8")
        with pytest.raises(DataError, match="look with anonymize verify"):
            read_release(tmp_path, made_up())
    with pytest.raises(UsageError, match="--release must be the folder"):
        read_release(tmp_path / "nowhere", made_up())


@pytest.mark.usefixtures("undrawn")
def test_the_report_shows_it(release, tmp_path):
    made_up().write(tmp_path / "results.json")
    out = tmp_path / "out"
    given = (tmp_path / "results.json", "--release", release, "--out", out)
    said = ask(attacks, "report", *given).output
    assert f"written: {out}/report.html" in said
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "The release, by its public manifest" in text
    assert "jones" not in text


def test_a_report_of_pictures_is_not_put_into_the_release(release, tmp_path):
    made_up().write(tmp_path / "results.json")
    given = (tmp_path / "results.json", "--release", release, "--out", release / "report")
    said = ask(attacks, "report", *given, code=2).output
    assert "--out must not lie in --release" in said
    assert not (release / "report").exists()
    with pytest.raises(UsageError, match="--out must not lie in --release"):
        Judge.of("public", release, None, release / "judged")


@pytest.mark.usefixtures("undrawn")
def test_no_report_is_written_over_that_of_another_evaluation(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        made_up().write(tmp_path / name / "results.json")
        ask(attacks, "report", tmp_path / name)
    out = tmp_path / "out"
    for _ in range(2):
        ask(attacks, "report", tmp_path / "one", "--out", out)
    for taken, why in ((out, "evaluation"), (tmp_path / "one", "nothing says of what")):
        before = (taken / "report.html").read_bytes()
        said = ask(attacks, "report", tmp_path / "other", "--out", taken, code=2).output
        assert f"{taken} holds results of something else ({why})" in said
        assert "remove report.html there" in said
        assert (taken / "report.html").read_bytes() == before


def test_a_certificate_is_shown(tmp_path):
    from anonymize.release.sets.certificate import NOT_PROMISED, Certificate
    from attacks.reporting.released import _certified

    none = dict.fromkeys(
        (
            *("people_per_output_min", "people_per_output_median", "patients_per_group_min"),
            *("largest_share_of_an_image", "guess_at_most"),
        )
    )
    counts = dict.fromkeys(
        (*("inputs", "released", "not_grouped", "quarantined", "left_out", "outputs"),
         *("patients", "groups")), 0,
    )  # fmt: skip
    told = Certificate(
        method="k-same", options={"k": 5}, size=64, format="png", people_per_output_asked=5,
        labels=["a"], **none, **counts,
    )  # fmt: skip
    shown = dict(_certified(told))
    assert shown["options"] == "k=5"
    assert shown["people per output asked"] == "5"
    assert "guess at most" not in shown
    assert len(NOT_PROMISED) > 3
