"""The tables: for readers, and table.csv with every figure."""

from functools import partial

import pytest
from changing import altered
from overlapping import read_table
from test_attacker_table import levelled
from test_results import classification, estimate, first_version, made_up, matched, with_attacks

from attacks.measuring.estimates import Difference, Estimate, Floor, Generators, LabelAuc, NotWorse
from attacks.reporting.attacker_table import attacker_table
from attacks.reporting.comparison import notes
from attacks.reporting.figure_rows import COLUMNS, figure_rows, write_csv
from attacks.reporting.folder import pages
from attacks.reporting.generator_table import generator_table
from attacks.reporting.readings import NONE_ALIKE, explained
from attacks.reporting.tables import in_words, markdown, not_worse, table
from attacks.results import Classification, Method, Results, Utility


def test_figures_in_words():
    assert in_words(estimate(0.746, runs=2, sd=0.026)) == "0.746 ± 0.026 (0.716–0.776)"
    assert in_words(estimate(0.5)) == "0.500 (0.470–0.530)"
    assert in_words(Estimate(mean=0.5, sd=0, runs=(0.5,))) == "0.500"
    assert in_words(None) == "–"


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (1e-9, "loses less than 0.05, p < 0.001"),
        (0.02, "loses less than 0.05, p 0.02"),
        (0.2, "0.05 not shown"),  # among all methods, though it is by itself
        (None, "–"),
    ],
)
def test_no_worse_in_words(p, said):
    shown = NotWorse(margin=0.05, not_worse=True, equivalent=True, p=0.01)
    read = LabelAuc(mean=0.8)
    assert not_worse(Classification(auc=read, margin=shown, margin_p_holm=p)) == said
    assert not_worse(Classification(auc=read)) == not_worse(None) == "–"


def test_markdown_table():
    results = first_version(made_up())
    lines = markdown(*table(results)).splitlines()
    assert len(lines) == 2 + len(results.methods)
    assert len({line.count("|") for line in lines}) == 1
    assert lines[4].startswith("| prichexy-net μ=0.01 | 0.843 ± 0.008 (0.813–0.873) | 0.815 (")
    assert [row[0] for row in table(results)[1]] == results.titles()


def test_markdown_escapes_the_column_sign():
    assert "| a\\|b |" in markdown(*table(made_up(methods=(Method(name="a|b"),))))


def test_our_linkage_risk_and_the_papers_are_named_apart():
    """The keys of results.json stay, and what was written with them is read."""
    risks = {"r_s": 0.5, "r_s_coin": 0.1, "r_s_all": 0.2}
    spread = {k: Estimate(mean=v, sd=0, runs=(v,)) for k, v in risks.items()}
    attack = altered(levelled(0.9), **risks, estimates=spread)
    floor = Floor(name="findings", auc=attack.auc, r_s=spread["r_s"])
    real = Method(name="identity", privacy={"pixels": attack})
    found = altered(made_up(), methods=(real,), floors=(floor,))
    found = Results.model_validate_json(found.model_dump_json(by_alias=True))
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in figure_rows(found)]
    of = {(row["of"], row["figure"]): row["mean"] for row in rows}
    assert of["pixels", "linkage_risk"] == 0.5
    assert of["pixels", "linkage_risk_coin"] == 0.1
    assert of["pixels", "R_s"] == 0.2
    assert of["findings", "linkage_risk"] == 0.5
    assert not [figure for _, figure in of if figure.startswith("r_s")]


def test_csv_table_has_every_figure(tmp_path):
    results = made_up()
    write_csv(tmp_path / "table.csv", COLUMNS, figure_rows(results))
    rows = read_table(tmp_path / "table.csv")
    assert tuple(rows[0]) == COLUMNS
    # Seven figures of two attackers, two utilities with four labels each.
    assert len(rows) == len(results.methods) * (2 * 7 + 2 * 5)
    found = {(r["method"], r["of"], r["figure"]): r for r in rows}
    one = found["dp-pix b=8, ε=0.1", "verification", "auc"]
    assert float(one["mean"]) == pytest.approx(0.771)
    assert one["runs"] == "10"
    assert float(one["ci95_high"]) == pytest.approx(0.801)
    assert found["dp-pix b=8, ε=0.1", "frozen", "auc:effusion"]["ci95_low"] == ""


# Two readings, and what was not measured


def test_matched_impostors_are_the_headline_and_all_stand_beside():
    header, rows = table(matched(made_up()))
    assert header[1:5] == [
        f"{name} AUC ↓, {kind} impostors"
        for name in ("verification", "training-free")
        for kind in ("matched", "all")
    ]
    assert rows[2][1:3] == ["0.743 (0.713–0.773)", "0.843 ± 0.008 (0.813–0.873)"]


def test_impostors_are_other_images_where_the_very_originals_are_looked_for():
    results = matched(made_up())
    assert "another identified patient's image" in explained(results)
    asked = [
        with_attacks(m, lambda a: altered(a, compares="before-after")) for m in results.methods
    ]
    said = explained(altered(results, methods=tuple(asked)))
    assert "another image (" in said
    assert "any other image." in said
    assert "patient's image" not in said


def test_every_attacker_has_a_row_a_reading_and_one_pair_a_patient():
    _, rows = attacker_table(matched(made_up()))
    own = [row for row in rows if row[3].startswith("matched, one")]
    assert [row[3] for row in rows[:3]] == ["matched", "matched, one pair a patient", "all"]
    assert [row[0] for row in rows[:4]] == ["verification", "", "", "training-free"]
    assert [row[6] for row in rows[:3]] == [
        *("0.743 (0.71–0.77)", "0.643 (0.61–0.67)", "0.843 (0.81–0.87)"),
    ]
    assert len(own) == 2
    named = [row[3:5] for row in rows[-4:]]
    assert named[0] == ["matched", "verification 0.804"]
    assert named[1] == ["all", "verification 0.904"]


def test_several_seeds_of_a_method_have_a_column():
    both = Generators(
        name="k-same", options={"k": 5}, seeds=(0, 1), auc={"verification": estimate(0.7)}
    )
    header, rows = attacker_table(altered(matched(made_up()), generators=(both,)))
    assert header[-1] == "k-same k=5, 2 seeds"
    assert {len(row) for row in rows} == {len(header)}
    assert [row[-1] for row in rows[:3]] == ["–", "–", "0.700 (0.67–0.73)"]


def less(mean, role):
    return Difference(to="x", role=role, difference=estimate(mean), p=0.001, p_holm=0.002)


def test_generators_are_summed_up_beside_what_they_have_to_surpass():
    several = Generators(
        name="dp-pix",
        options={"b": 8, "epsilon": 0.1},
        seeds=(0, 1),
        auc={"verification": estimate(0.7)},
        differences={"verification": (less(-0.2, "real"), less(-0.1, "control"))},
        retrained=estimate(0.8),
        retrained_differences=(less(-0.05, "real"),),
    )
    results = altered(matched(made_up()), generators=(several,))
    header, (against_matched, against_all) = generator_table(results)
    assert header[0] == "several generators or lots"
    assert against_matched[:3] == ["dp-pix b=8, ε=0.1, 2 seeds", "verification", "matched"]
    assert against_matched[3:6] == ["–"] * 3
    assert against_matched[6] == "0.800 (0.770–0.830)"
    assert against_all[3:5] == ["0.700 (0.670–0.730)", "−0.200 (−0.230 to −0.170), p 0.002"]
    assert against_all[5].startswith("−0.100")
    assert against_matched[7].startswith("−0.050")
    assert against_matched[8] == "–"
    assert "2 seeds | verification" in pages(results)["table.md"]


def test_a_table_without_several_seeds_has_no_generators():
    assert generator_table(made_up())[1] == []
    assert "several generators" not in pages(made_up())["table.md"]


def test_no_impostor_alike_is_said_and_never_nan():
    header, rows = table(made_up())
    assert {row[1] for row in rows} == {NONE_ALIKE}
    assert "matched" in header[1]
    assert attacker_table(made_up())[1][0][4] == NONE_ALIKE
    assert f"“matched impostors”: {NONE_ALIKE}" in explained(made_up())


def test_the_first_version_names_what_it_did_not_measure():
    header, _ = table(first_version(made_up()))
    assert not [name for name in header if "matched" in name]
    assert "not measured" in explained(first_version(made_up()))


def test_what_impostors_are_matched_by_is_said_as_data():
    assert "the same findings, age ± 2 years, where known" in explained(matched(made_up()))
    other = altered(matched(made_up()), matched_by=("sex", "view"))
    assert "(the same sex, view, where known)" in explained(other)


def test_how_many_pairs_are_matched_is_said_as_data():
    old = matched(made_up())  # of a time when genuine pairs were not
    assert "Matched, of real images: 9 impostor pairs and all genuine." in explained(old)
    said = "Matched, of real images: 9 impostor pairs and 1 genuine; "
    said += "{} of the impostor pairs share no patient"
    for independent, end in ((8, "."), (5, "; too few to tell anything.")):
        counts = {"genuine_pairs": 1, "independent_comparisons": independent}
        first = with_attacks(old.methods[0], partial(altered, matched=counts))
        new = altered(old, methods=(first, *old.methods[1:]))
        assert said.format(independent) + end in explained(new)


def test_the_csv_names_the_reading():
    rows = (dict(zip(COLUMNS, row, strict=True)) for row in figure_rows(matched(made_up())))
    found = {r["figure"]: r["mean"] for r in rows if r["of"] == "verification"}
    assert found["auc"] - found["auc, matched"] == pytest.approx(0.1)
    assert found["auc"] - found["auc_patient, matched"] == pytest.approx(0.2)


def test_utility_and_training_stand_where_they_were_measured():
    first, *others = made_up().methods
    again = {"held_back": classification(0.7).auc, "difference": estimate(-0.05)}
    read = Utility(retrained=altered(classification(0.8), **again), pool_only=classification(0.6))
    measured = altered(first, utility=altered(read, readable=False), steps=1200, converged=False)
    learnt = made_up(methods=(measured, *others))
    header, rows = table(learnt)
    shown = dict(zip(header, rows[0], strict=True))
    assert shown["retrained − real images"] == "−0.050 (−0.080 to −0.020)"
    assert shown["retrained, findings held back ↑"].startswith("0.700")
    assert shown["other people's images alone"].startswith("0.600")
    assert shown["utility readable"] == "**no**"
    assert shown["generator trained"] == "stopped after 1,200 steps, still moving"
    assert rows[1][-1] == "–"
    assert not set(table(made_up())[0]) & {"generator trained", "utility readable"}
    said = f"Training: {learnt.titles()[0]} stopped after 1,200 steps, still moving."
    assert said in pages(learnt)["attackers.md"]
    assert said in notes(learnt)


def test_what_is_no_independent_repeat_is_named():
    first, second, *others = made_up().methods
    warm = {
        key: altered(attack, warm_start=key == "verification")
        for key, attack in second.privacy.items()
    }
    one = altered(second, privacy=warm, steps=100)
    results = made_up(methods=(first, one, *others))
    said = (
        "No independent repeats, so that ± is too small: "
        f"{results.titles()[1]}: one generator; verification: all runs go on from one verifier."
    )
    assert all(said in pages(results)[page] for page in ("table.md", "attackers.md"))
    assert "No independent repeats" not in pages(made_up())["table.md"]
    # Of others of its name there are several: mu=0.01, and mu=0.001 that was trained otherwise.
    for options in ({"mu": 0.01, "sigma": 2.0}, {"mu": 0.001, "sigma": 2.0, "rate": 1}):
        several = Generators(name=one.name, options=options, seeds=(0, 1))
        assert said in pages(altered(results, generators=(several,)))["table.md"]


def test_the_strongest_attacker_is_compared_with_itself_on_real_images():
    first, second, *_ = made_up().methods
    name, attack = second.strongest
    less = Difference(to="real images", role="real", difference=estimate(-0.1), p=0.01, p_holm=0.04)
    attacks = second.privacy | {name: altered(attack, differences=(less,))}
    header, rows = table(made_up(methods=(first, altered(second, privacy=attacks))))
    column = header.index("strongest less itself on real images, all impostors")
    assert [row[column] for row in rows] == ["–", "−0.100 (−0.130 to −0.070), p 0.04"]
    assert not any("strongest −" in name for name in table(made_up())[0])
    assert not any("Training" in page for page in pages(made_up()).values())


def test_floors_stand_under_every_table_in_both_readings():
    read = Floor(name="task", auc=estimate(0.81), matched=estimate(0.67))
    alike = Floor(name="findings", auc=estimate(0.7))
    results = made_up(floors=(read, alike, Floor(name="metadata", message="not measured")))
    said = "Floors, AUC against matched impostors / all impostors: task 0.670 / 0.810; "
    said += "findings – / 0.700. What does not exceed them"
    tables = pages(results)
    for shown in (tables["table.md"], tables["attackers.md"], " ".join(notes(results))):
        assert said in shown
    assert not any("Floors, AUC" in page for page in pages(made_up()).values())
