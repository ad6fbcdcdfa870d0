"""Text in CSV files stays text in a spreadsheet, and can be had back."""

import csv
import io

import pandas as pd

from anonymize import csv_cells
from anonymize.csv_cells import inert, is_formula, undone
from anonymize.data.skipped import _write
from anonymize.release.records.csv_bytes import csv_bytes

FORMULAS = (
    *("=cmd|calc.png", "@SUM(1)", "+HYPERLINK(1)", "-2+3", "\t=1", "\r=1", "\n=1", " =1"),
    *("\uff1d1", "'=1", "''=1"),
)
TEXTS = ("a.png", "", "a=b", "'a", "-3", "+1.5", "-1e-05", "2.5E+3", "a-b", "Jürgen.png")


def test_every_text_can_be_had_back():
    for text in (*FORMULAS, *TEXTS):
        assert undone(inert(text)) == text
        assert is_formula(text) == (text in FORMULAS)
        assert inert(text).startswith("'") or inert(text) == text


def test_two_texts_never_become_one():
    assert len({inert(text) for text in (*FORMULAS, *TEXTS)}) == len(FORMULAS) + len(TEXTS)


def test_numbers_stay_numbers():
    assert [inert(value) for value in (-1, -0.5, None)] == [-1, -0.5, None]


def test_no_cell_of_a_table_begins_as_a_formula(tmp_path):
    written = [f"'{text}" for text in FORMULAS]
    table = csv_bytes(("a",), [(text,) for text in FORMULAS]).decode()
    assert [*csv.reader(io.StringIO(table, newline=""))] == [["a"], *([cell] for cell in written)]
    skipped = _write([(text, "damaged") for text in FORMULAS], tmp_path / "skipped.csv")
    assert pd.read_csv(skipped)["image_id"].tolist() == written


def test_control_characters_are_a_flaw_of_a_name():
    for name in ("a\nb", "a\x1b[2Jb", "a\x7f", "a\u202egnp.exe", "a\u2028b"):
        assert csv_cells.flaw_of_name(name) == "a control character"
    assert csv_cells.flaw_of_name("Jürgen 1.png") == ""
