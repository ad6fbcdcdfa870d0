"""Verdicts, guidelines and risk at the size of the world, as tables and as a picture."""

import pytest
from changing import altered
from identities import owners_of
from test_results import made_up
from worlds_made_up import images, table_of, world_of

from attacks.evaluation.policies.guidelines import Answers, Facts, guided
from attacks.evaluation.policies.policy import read_policy
from attacks.evaluation.policies.verdict import judged
from attacks.reporting.pictures.world_curve import has_world, world_curve
from attacks.reporting.policy_tables import (
    EXTRAPOLATED,
    held_out_table,
    strata_table,
    verdict_page,
    verdict_table,
    world_page,
    world_table,
)


@pytest.fixture(scope="module")
def results():
    vectors, who = images(130, 2, seed=3)
    world = world_of(vectors @ vectors.T, owners_of(who), table_of(who), resamplings=20)
    methods = tuple(
        altered(m, privacy={k: altered(a, world=world) for k, a in m.privacy.items()})
        for m in made_up().methods
    )
    return made_up(methods=methods)


def test_every_figure_beyond_is_called_extrapolated(results):
    header, rows = world_table(results)
    assert len(rows) == len(results.methods)
    for row in rows:
        for people, cell in zip(header[1:], row[1:], strict=True):
            size = int(people.removesuffix(" people").replace(",", ""))
            assert (EXTRAPOLATED in cell) == (size > 130)
    assert "nobody measured so many people" in world_page(results)


def test_the_very_image_is_found_most(results):
    header, rows = strata_table(results)
    first = dict(zip(header, rows[0], strict=True))
    assert first["the very image"] == "100 %"
    assert first["another image, view changed"] == "–"


def test_what_was_foretold_stands_beside_what_was_measured():
    vectors, who = images(450, 2, seed=3)
    world = world_of(vectors @ vectors.T, owners_of(who), table_of(who), resamplings=20)
    one = made_up().methods[1]
    one = altered(
        one, privacy={"training-free": altered(one.privacy["training-free"], world=world)}
    )
    _, rows = held_out_table(made_up(methods=(one,)))
    assert [row[3] for row in rows] == ["450"]
    assert rows[0][5] == f"{world.at(450).rank_1.estimate.mean:.3f}"


def test_the_page_of_a_verdict(results):
    verdicts = judged(results, read_policy("public"))
    _, rows = verdict_table(verdicts[0])
    assert [row[1] for row in rows] == [line.outcome for line in verdicts[0].lines]
    page = verdict_page(results, verdicts, guided(Facts(results), Answers()))
    assert page.count("\n## ") == len(verdicts) + 2
    assert page.count("**not answered**") == 11


def test_the_picture(results, drawn):
    figure = drawn(world_curve, results)
    people, shown, probes = figure.axes
    assert len(people.collections) == len(results.methods)  # a band each
    assert "the very image" in [t.get_text() for t in shown.get_legend().get_texts()]
    assert probes.get_ylim()[1] > 1
    assert not has_world(made_up())
