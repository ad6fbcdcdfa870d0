"""How true match rates are shown: in the report, in table.csv, and for results without them."""

import pytest
from test_results import estimate, made_up

from attacks.measuring.estimates import Breakdown, GroupRate
from attacks.reporting.report import write_report
from attacks.reporting.tables import (
    COLUMNS,
    TOO_FEW,
    breakdown_table,
    false_match_rate,
    figure_rows,
)
from attacks.results import Results


def broken_down(*, missing=()):
    """Results in which every attacker has rates by sex and age; some methods without."""
    facts = {
        "sex": [
            GroupRate(group="female", pairs=1200, patients=40, rate=estimate(0.62)),
            GroupRate(group="male", pairs=7, patients=2),
        ],
        "age_difference": [GroupRate(group="under 1", pairs=90, patients=30, rate=estimate(0.8))],
    }
    breakdown = Breakdown(false_match_rate=0.01, rate=estimate(0.7), facts=facts)
    results = made_up()
    methods = [
        m
        if m.name in missing
        else m.model_copy(
            update={
                "privacy": {
                    name: a.model_copy(update={"breakdown": breakdown})
                    for name, a in m.privacy.items()
                }
            }
        )
        for m in results.methods
    ]
    return results.model_copy(update={"methods": tuple(methods)})


def test_a_group_a_row_and_a_method_a_column():
    results = broken_down()
    header, rows = breakdown_table(results)
    assert len(header) == 4 + len(results.methods)
    assert header[4] == f"real images: {results.methods[0].strongest[0]}"
    assert [row[:4] for row in rows] == [
        ["all", "", "", ""],
        ["age difference (years)", "under 1", "90", "30"],
        ["sex", "female", "1,200", "40"],
        ["", "male", "7", "2"],
    ]
    assert {row[4] for row in rows} >= {"0.70 (0.67–0.73)", "0.62 (0.59–0.65)", TOO_FEW}
    assert set(rows[3][4:]) == {TOO_FEW}
    assert false_match_rate(results) == "1 %"


def test_methods_without_rates_have_no_column():
    header, rows = breakdown_table(broken_down(missing=("identity",)))
    assert len(header) == 4 + len(made_up().methods) - 1
    assert len({len(row) for row in rows}) == 1
    assert breakdown_table(made_up())[1] == []
    assert false_match_rate(made_up()) == ""


@pytest.mark.parametrize("measured", [True, False])
def test_the_report_shows_them_where_they_were_measured(tmp_path, measured):
    write_report(broken_down() if measured else made_up(), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ("Where the strongest attacker succeeds" in text) == measured
    assert ("which 1 % of the pairs of two patients pass" in text) == measured


def test_they_are_figures_and_come_back_from_json(tmp_path):
    results = broken_down()
    rows = (dict(zip(COLUMNS, row, strict=True)) for row in figure_rows(results))
    found = {r["figure"]: r["mean"] for r in rows if r["figure"].startswith("true_match_rate")}
    assert found == {
        "true_match_rate": 0.7,
        "true_match_rate:sex=female": 0.62,
        "true_match_rate:age_difference=under 1": 0.8,
    }
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results
