"""Where the strongest attacker succeeds: tables, report and figures."""

import pytest
from changing import altered
from test_results import estimate, made_up, matched, with_attacks

from attacks.evaluation.evaluate import Evaluation
from attacks.measuring.estimates import Breakdown, GroupRate
from attacks.reporting.figure_rows import COLUMNS, figure_rows
from attacks.reporting.readings import ALL, MATCHED
from attacks.reporting.report import write_report
from attacks.reporting.tables import TOO_FEW, breakdown_table, false_match_rate
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
    every = Breakdown(false_match_rate=0.01, rate=estimate(0.7), facts=facts)
    like = altered(every, rate=estimate(0.4), facts={"sex": tuple(facts["sex"])})

    def rated(attack):
        return altered(attack, breakdown=every, matched=altered(attack.matched, breakdown=like))

    whole = matched(made_up()).methods
    methods = (m if m.name in missing else with_attacks(m, rated) for m in whole)
    return made_up(methods=tuple(methods))


def test_a_group_a_row_and_a_method_a_column():
    results = broken_down()
    header, rows = breakdown_table(results, ALL)
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
    alike = breakdown_table(results, MATCHED)[1]
    assert [row[:4] for row in alike] == [
        rows[0][:4],
        ["sex", "female", "1,200", "40"],
        rows[3][:4],
    ]
    assert alike[0][4] == "0.40 (0.37–0.43)"


def test_who_has_other_pairs_says_so_and_luck_stands_beside():
    results = broken_down()
    first, second, *others = results.methods

    def fewer(attack):
        group = GroupRate(group="female", pairs=900, patients=31, rate=estimate(0.5), coin=0.04)
        facts = {"sex": (group, *attack.breakdown.facts["sex"][1:])}
        return altered(attack, breakdown=altered(attack.breakdown, facts=facts))

    changed = altered(results, methods=(first, with_attacks(second, fewer), *others))
    rows = {row[1]: row for row in breakdown_table(changed, ALL)[1]}
    assert rows["female"][2:6] == [
        *("1,200", "40", "0.62 (0.59–0.65)"),
        "0.50 (0.47–0.53); a coin 0.04; 900 pairs of 31",
    ]
    assert rows["male"][5] == TOO_FEW


def test_methods_without_rates_have_no_column():
    header, rows = breakdown_table(broken_down(missing=("identity",)), MATCHED)
    assert len(header) == 4 + len(made_up().methods) - 1
    assert len({len(row) for row in rows}) == 1
    assert breakdown_table(made_up(), ALL)[1] == []
    assert false_match_rate(made_up()) == ""


@pytest.mark.parametrize("measured", [True, False])
def test_the_report_shows_them_where_they_were_measured(tmp_path, measured):
    results = broken_down() if measured else made_up()
    write_report(Evaluation(results), tmp_path / "report.html")
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
        "true_match_rate, matched": 0.4,
        "true_match_rate:sex=female, matched": 0.62,
    }
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results
