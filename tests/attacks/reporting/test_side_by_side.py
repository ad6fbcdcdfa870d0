"""Several evaluations side by side: paired where they may be, and never surer than they are."""

import json

import numpy as np
import pytest
from asked import ask
from changing import altered
from overlapping import read_table
from pictured import full, pictured
from test_results import made_up

from anonymize.errors import UsageError
from anonymize.statistics import Measured
from attacks.cli import main
from attacks.evaluation.evaluate import Evaluation
from attacks.reporting.kept import write_kept
from attacks.reporting.side_by_side import Side, differences, named_sides, why_not
from attacks.results import Source

SOURCE = Source(name="covid19", images=9, patients=5, part="test", size=24, fingerprint="f")
TITLE = "dp-pix b=8, ε=0.1"


def side(name, more=0.0, noise=0.0, seed=0):
    """An evaluation whose AUCs are higher by ``more`` in every draw."""
    results = altered(full(made_up()), source=SOURCE, seed=seed)
    patients = np.random.default_rng(0).normal(0, 0.03, 400)
    own = np.random.default_rng(1).normal(0, noise, 400) if noise else 0
    runs = [{"auc": Measured(0.7 + more + r / 100, 0.7 + more + r / 100 + patients + own, 40.0)}
            for r in range(3)]  # fmt: skip
    return Side(name, Evaluation(results, runs={TITLE: {"verification": runs}}))


def test_a_paired_difference_has_no_spread_of_the_patients_that_both_share():
    found = differences([side("a"), side("b", 0.02, noise=0.001)])
    (paired,) = [d for d in found if d.p is not None]
    assert (paired.method, paired.attacker, paired.first, paired.second) == (
        *(TITLE, "verification"),
        *("a", "b"),
    )
    assert paired.difference.mean == pytest.approx(0.02)
    low, high = paired.difference.ci95
    # By hand: three equal differences, so that the draws alone are uncertain.
    error = np.random.default_rng(1).normal(0, 0.001, 400).std()
    assert (high - low) / 2 == pytest.approx(2.02 * error, rel=0.05)
    assert paired.sure
    assert high - low < 0.01 < 0.03  # of either alone


def test_unpaired_ones_say_nothing_of_how_sure_they_are():
    bare = [Side(n, Evaluation(side(n).results)) for n in ("a", "b")]
    found = differences(bare)
    assert len(found) == len(list(bare[0].results.attacks()))
    assert all(d.p is None and d.difference.ci95 is None and not d.sure for d in found)


def test_p_is_adjusted_among_all():
    alone = differences([side("a"), side("b", 0.002, noise=0.02)])
    more = differences([side("a"), side("b", 0.002, noise=0.02), side("c", 0.002, noise=0.02)])
    (p,) = [d.p for d in alone if d.p is not None]
    assert [d.p for d in more if d.p is not None] == [min(1, 2 * p)] * 2


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"fingerprint": "g"}, "other images"),
        ({"part": "all"}, "another part"),
        ({"size": 25}, "another image size"),
        ({"fingerprint": None}, "other images"),
        ({"patients": 4}, "another split, and so other patients"),
    ],
)
def test_other_data_are_not_subtracted(changed, reason):
    one = side("a")
    extra = {**SOURCE.model_dump(), **changed}
    other = Side("b", Evaluation(altered(one.results, source=Source(**extra))))
    assert why_not(one.results, other.results) == reason
    assert differences([one, other]) == []


def test_nor_are_other_patients_of_these_images_or_another_question():
    one = side("a").results
    split = altered(one, options={"data": {"split_seed": 1}})
    assert "another split" in why_not(altered(one, options={"data": {"split_seed": 0}}), split)
    very = [
        altered(m, privacy={k: altered(a, compares="before-after") for k, a in m.privacy.items()})
        for m in one.methods
    ]
    assert "another question" in why_not(one, altered(one, methods=tuple(very)))


def test_generators_of_several_seeds_are_subtracted_from_those_of_the_same_seed():
    one = side("a").results
    (net,) = [m for m in one.methods if m.name == "privacy-net"]

    def seeds(*numbers):
        kin = [altered(net, seed=n, privacy=_raised(net, n / 10)) for n in numbers]
        return Evaluation(altered(one, methods=(one.real, *kin)))

    found = differences([Side("a", seeds(0, 1)), Side("b", seeds(1, 0, 2))])
    own = [d for d in found if d.method.startswith("privacy-net")]
    assert {d.method for d in own} == {"privacy-net seed=0", "privacy-net seed=1"}
    assert all(abs(d.difference.mean) < 1e-9 for d in own)


def _raised(method, more):
    return {
        key: altered(a, auc={"mean": a.auc.mean - more}, matched=None)
        for key, a in method.privacy.items()
    }


def test_another_seed_draws_other_patients():
    assert "another seed" in why_not(side("a").results, side("b", seed=1).results)
    unknown = altered(side("a").results, source=Source(name="a", images=1, patients=1))
    assert why_not(unknown, unknown) == "unknown images"


def write(folder, evaluation):
    folder.mkdir(parents=True)
    evaluation.results.write(folder / "results.json")
    write_kept(evaluation, folder)
    return folder


def test_the_command(tmp_path):
    given = [write(tmp_path / n, side(n, m, 0.001).evaluation) for n, m in (("a", 0), ("b", -0.1))]
    said = ask(main, "compare", *given, "--out", tmp_path / "out").output
    count = len(list(side("a").results.attacks()))
    assert f"b less a: of {count} differences, 1 of them paired" in said
    assert "find more in 0 and less in 1 for sure" in said
    names = {path.name.partition(".")[2] for path in (tmp_path / "out").iterdir()}
    assert names == {"html", "md", "csv", "lock", "of.json"}
    rows = [row for row in read_table(tmp_path / "out" / "comparison.csv") if row["p"]]
    assert float(rows[0]["difference"]) == pytest.approx(-0.1)
    plain = ask(main, "compare", *given, "--out", tmp_path / "out", "--json").output
    assert len(json.loads(plain)["differences"]) == count
    third = write(tmp_path / "c", side("c", 0.1, 0.001).evaluation)
    before = (tmp_path / "out" / "comparison.md").read_bytes()
    refused = ask(main, "compare", given[0], third, "--out", tmp_path / "out", code=2).output
    assert "holds results of something else (evaluations)" in refused
    assert (tmp_path / "out" / "comparison.md").read_bytes() == before


def test_they_are_called_by_their_folders_as_far_up_as_it_takes(tmp_path):
    given = [write(tmp_path / place, pictured()) for place in ("x/evaluation", "y/evaluation")]
    assert [one.name for one in named_sides(given)] == ["x/evaluation", "y/evaluation"]
    with pytest.raises(UsageError, match="given twice"):
        named_sides([given[0], given[0] / "results.json"])
