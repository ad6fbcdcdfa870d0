"""table.md and table.csv."""

import csv

import pytest
from test_results import estimate, made_up

from attacks.measuring.estimates import Estimate
from attacks.reporting.tables import COLUMNS, figure_rows, in_words, markdown, table, write_csv
from attacks.results import Method


def test_figures_in_words():
    assert in_words(estimate(0.746, runs=2, sd=0.026)) == "0.746 ± 0.026 (0.716–0.776)"
    assert in_words(estimate(0.5)) == "0.500 (0.470–0.530)"
    assert in_words(Estimate(mean=0.5, sd=0, runs=(0.5,))) == "0.500"
    assert in_words(None) == "–"


def test_markdown_table():
    results = made_up()
    lines = markdown(*table(results)).splitlines()
    assert len(lines) == 2 + len(results.methods)
    assert len({line.count("|") for line in lines}) == 1
    assert lines[4].startswith("| prichexy-net μ=0.01 | 0.843 ± 0.008 (0.813–0.873) | 0.815 (")
    assert [row[0] for row in table(results)[1]] == results.titles()


def test_markdown_escapes_the_column_sign():
    assert "| a\\|b |" in markdown(*table(made_up(methods=(Method(name="a|b"),))))


def test_csv_table_has_every_figure(tmp_path):
    results = made_up()
    write_csv(tmp_path / "table.csv", COLUMNS, figure_rows(results))
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    # Six figures of two attackers, two utilities with four labels each.
    assert len(rows) == len(results.methods) * (2 * 6 + 2 * 5)
    found = {(r["method"], r["of"], r["figure"]): r for r in rows}
    one = found["dp-pix b=8, ε=0.1", "verification", "auc"]
    assert float(one["mean"]) == pytest.approx(0.771)
    assert one["runs"] == "10"
    assert float(one["ci95_high"]) == pytest.approx(0.801)
    assert found["dp-pix b=8, ε=0.1", "frozen", "auc:effusion"]["ci95_low"] == ""
