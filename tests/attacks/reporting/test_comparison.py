"""The published table is the published one, and ours stands beside it without a slip."""

import re

import pytest
from changing import altered
from overlapping import read_table
from test_results import attack, classification, estimate, made_up, matched, method

from attacks.evaluation.published import TABLE_1, published
from attacks.reporting.comparison import notes, table_1, write_table_1
from attacks.results import Attack, Method, Source, Utility


def test_the_numbers_are_those_of_the_paper(shared):
    """Read once more from the facts that were written down from the paper."""
    text = (shared / "protocol" / "README.md").read_text(encoding="utf-8")
    rows = {
        cells[0].split(" AUC")[0]: cells[1:]
        for line in text.splitlines()
        if line.startswith(("| verification AUC", "| classification AUC"))
        for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
    }
    theirs = [re.findall(r"[\d.]+", cell) for cell in rows["verification"]]
    read = [re.findall(r"[\d.]+", cell) for cell in rows["classification"]]
    assert len(theirs) == len(read) == len(TABLE_1) == 9
    for column, (mean, sd), (auc, low, high) in zip(TABLE_1, theirs, read, strict=True):
        assert column.verification == pytest.approx((float(mean) / 100, float(sd) / 100))
        assert column.classification[0] == pytest.approx(float(auc) / 100)
        assert column.classification[1] == pytest.approx((float(low) / 100, float(high) / 100))
    header = next(line for line in text.splitlines() if line.startswith("| Table 1 of P"))
    named = [cell.strip() for cell in header.strip("|").split("|")][1:]
    assert [re.findall(r"[\d.]+", cell)[-1:] for cell in named] == [
        [f"{v:g}"] if (v := c.options.get("mu") or c.options.get("b")) else [] for c in TABLE_1
    ]


@pytest.mark.parametrize(
    ("name", "options", "found"),
    [
        ("identity", {}, 0.818),
        ("prichexy-net", {"mu": 0.005, "features": 4, "size": 64}, 0.643),
        ("prichexy-net", {"mu": 0.02}, None),
        ("prichexy-net", {"mu": 0.005, "unit": "share"}, None),
        ("prichexy-net", {"mu": 0.005, "controls": 8, "squarings": 7}, None),
        ("privacy-net", {"features": 16, "verification_weight": 1.0}, 0.498),
        ("privacy-net", {"features": 16}, 0.498),
        ("privacy-net", {"verification_weight": 10.0}, None),
        ("dp-pix", {"b": 8, "epsilon": 0.1, "m": 1, "seed": 0}, 0.525),
        ("dp-pix", {"b": 8, "epsilon": 1.0, "m": 1}, None),
        ("dp-pix", {"b": 8, "epsilon": 0.1, "m": 16}, None),
        ("gaussian-blur", {"sigma": 0.02}, None),
    ],
)
def test_a_method_is_compared_with_the_column_of_its_options(name, options, found):
    column = published(Method(name=name, options=options))
    assert (column and column.verification[0]) == found


def test_differences_are_ours_less_the_published():
    header, rows = table_1(matched(made_up()))
    assert [len(row) for row in rows] == [len(header)] * 9
    by_name = {row[0]: row for row in rows}
    assert by_name["real images"][1:] == [
        *("0.818 ± 0.006", "0.894 ± 0.008 (0.864–0.924)", "+0.076"),
        *("0.804 (0.774–0.834)", "0.904 ± 0.008 (0.874–0.934)"),
        *("0.805 (0.801–0.809)", "0.846 ± 0.000 (0.826–0.866)", "+0.041"),
    ]
    assert by_name["dp-pix b=8, ε=0.1"][3] == "+0.236"
    assert by_name["prichexy-net μ=0.01"][8] == "+0.069"
    assert by_name["prichexy-net μ=0.005"][2:4] == ["–", "–"]


def test_only_listed_pairs_are_compared_and_every_reading_is_named():
    def row(figures):
        found = Attack.of({n: estimate(v) for n, v in figures.items()}, knowledge="informed")
        one = Method(name="identity", privacy={"verification": found})
        return table_1(made_up(methods=(one,)))

    header, (first, *_) = row({"auc": 0.8, "auc_listed": 0.7})
    assert header[1:6] == [
        *("verification AUC ↓, listed pairs: published", "ours", "difference"),
        *("ours, matched impostors", "ours, all pairs, all impostors"),
    ]
    assert first[2:6] == ["0.700 (0.670–0.730)", "−0.118", "–", "0.800 (0.770–0.830)"]
    assert row({"auc": 0.8})[1][0][2:6] == ["–", "–", "–", "0.800 (0.770–0.830)"]


def test_the_files_say_the_same(tmp_path):
    write_table_1(made_up(), tmp_path)
    text = (tmp_path / "table1.md").read_text(encoding="utf-8")
    assert text.count("| prichexy-net μ=0.01 |") == 1
    assert "ddof 0" in text
    assert "10.1007/978-3-031-43898-1_26" in text
    rows = read_table(tmp_path / "table1.csv")
    found = {(r["method"], r["figure"], r["who"]): r for r in rows}
    theirs = found["prichexy-net μ=0.01", "verification_auc_listed", "published"]
    assert (float(theirs["mean"]), float(theirs["sd"]), theirs["runs"]) == (0.577, 0.04, "10")
    ours = found["prichexy-net μ=0.01", "verification_auc_listed", "ours"]
    assert float(ours["difference"]) == pytest.approx(float(ours["mean"]) - 0.577)
    assert float(found["dp-pix b=1, ε=0.1", "classification_auc", "ours"]["difference"]) == (
        pytest.approx(0.501 - 0.5)
    )
    assert ("prichexy-net μ=0.005", "verification_auc_listed", "ours") not in found


def test_other_images_are_named_as_such():
    assert "other images (phantom" in notes(made_up())[-1]
    same = Source(name="chestxray14", images=1, patients=1, size=256)
    assert not any("other images" in note for note in notes(made_up(source=same)))


def test_what_was_not_measured_is_a_dash():
    read = Method(name="identity", utility=Utility(frozen=classification(0.8)))
    assert table_1(made_up(methods=(read,)))[1][0][1:4] == ["0.818 ± 0.006", "–", "–"]
    lone = altered(method("identity", {}, 0.9, 0.8, 0.8, 0.8), utility=Utility())
    assert table_1(made_up(methods=(lone,)))[1][0][7:] == ["–", "–"]
    assert len(notes(made_up(methods=(read,)))) == 3
    unlisted = altered(attack(0.9), estimates={})
    lone = Method(name="identity", privacy={"verification": unlisted})
    assert table_1(made_up(methods=(lone,)))[1][0][2] == "–"
