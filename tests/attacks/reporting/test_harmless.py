"""Names that somebody chose to do harm: harmless in tables, files, pictures and on the terminal."""

import csv
import unicodedata

import pytest
from asked import ask
from hostile_names import SCRIPT, hostile_results
from hypothesis import given
from hypothesis import strategies as st
from test_results import made_up

from attacks.cli import main
from attacks.evaluation.evaluate import Evaluation
from attacks.reporting.folder import write_evaluation
from attacks.reporting.harmless import HIDDEN, NAME, harmless, harmless_record
from attacks.reporting.pictures.figures import drawn
from attacks.results import Results


@given(st.text(max_size=300), st.integers(2, 200))
def test_it_is_one_short_line_without_hidden_marks(text, most):
    found = harmless(text, most)
    assert len(found) <= most
    assert not any(unicodedata.category(c) in HIDDEN for c in found)
    assert harmless(found, most) == found


@given(st.text(alphabet="abcμε=.,-() 0123456789", max_size=NAME).map(str.strip))
def test_ordinary_names_stay_as_they_are(text):
    assert harmless(text) == " ".join(text.split())


def test_ordinary_results_are_the_same_object():
    results = made_up()
    assert harmless_record(results) is results


def test_names_that_differ_in_what_is_cut_stay_apart():
    results = made_up(options={"x" * 1000: 1, "x" * 1001: 2})
    assert sorted(harmless_record(results).options.values()) == [1, 2]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of an evaluation with hostile names, drawn with all its pictures."""
    folder = tmp_path_factory.mktemp("hostile")
    write_evaluation(Evaluation(hostile_results()), folder)
    return folder


def test_results_keep_them_as_they_are(written):
    assert Results.read(written / "results.json") == hostile_results()


@pytest.mark.parametrize("name", ["table.md", "attackers.md", "table.csv", "report.html"])
def test_no_page_has_hidden_marks_or_long_names(written, name):
    text = (written / name).read_text(encoding="utf-8")
    assert not any(unicodedata.category(c) in HIDDEN for c in text.replace("\n", ""))
    assert "x" * 5000 not in text


def test_tables_in_markdown_keep_their_shape_and_have_no_html(written):
    for name in ("table.md", "attackers.md"):
        rows = [r for r in (written / name).read_text().splitlines() if r.startswith("| ")]
        assert len({row.replace("\\|", "").count("|") for row in rows}) == 1
        assert not any("<script" in row or "<b>" in row for row in rows)


def test_no_cell_of_the_csv_is_a_formula(written):
    with (written / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert len({len(row) for row in rows}) == 1
    assert any(cell.startswith("'=") for row in rows for cell in row)
    assert not any(cell.startswith(("=", "@", "\t", "\r")) for row in rows for cell in row)


def test_pictures_are_drawn_whatever_the_names(written):
    for name in ("tradeoff.png", "tradeoff.svg", "tradeoff.pdf"):
        assert (written / name).stat().st_size > 1000
    assert "<script" not in (written / "tradeoff.svg").read_text(encoding="utf-8")


def test_dollars_are_letters(tmp_path):
    with drawn(tmp_path / "a.png", (2, 2)) as figure:
        figure.add_subplot().set_title("$\\frac{$")
    assert (tmp_path / "a.png").is_file()


@pytest.mark.usefixtures("undrawn")
def test_the_commands_print_them_harmless(written, tmp_path):
    said = ask(main, "report", written, "--out", tmp_path / "a").output
    judged = tmp_path / "judged"
    said += ask(main, "report", written, "--policy", "public", "--out", judged, code=5).output
    said += (judged / "verdict.md").read_text(encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    hostile_results().write(other / "results.json")
    said += ask(main, "compare", written, other, "--out", tmp_path / "b").output
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert SCRIPT not in (tmp_path / "b" / "comparison.html").read_text(encoding="utf-8")
