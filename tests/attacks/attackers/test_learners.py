"""Attackers that learn who is who, under one contract: what they find, undo and refuse."""

import pytest
from identities import SIDE, auc, image_set, parts, turned

from anonymize.configuration import train_options
from anonymize.errors import DataError
from attacks.attacker import ImageSet
from attacks.attackers.contrastive import Contrastive, ContrastiveOptions
from attacks.attackers.histogram_metric import HistogramMetric, HistogramMetricOptions
from attacks.attackers.jigsaw import JigsawOptions
from attacks.attackers.patchwise import Patchwise, PatchwiseOptions
from attacks.attackers.pixel_map import PixelMapOptions
from attacks.attackers.retrieval import Retrieval, RetrievalOptions
from attacks.attackers.unmixing import Unmixing, UnmixingOptions
from attacks.measuring.metrics import Owners

HISTOGRAMS = HistogramMetricOptions(cells=(4, 8), components=(8, 16), copies=1)
WINDOWS = PatchwiseOptions(cells=16, parts=(2,), components=20, undo=0)
MIXTURES = UnmixingOptions(sides=(8, 16), components=60, committee=3, undo=16)
SMALL = {"epochs": 1, "architecture": "compact", "width": 4, "features": 8}
METRICS = (HistogramMetric(HISTOGRAMS), Patchwise(WINDOWS), Unmixing(MIXTURES))
NETWORKS = (
    Contrastive(ContrastiveOptions(**SMALL, patients=4)),
    Retrieval(RetrievalOptions(**SMALL, head_epochs=0, batch=8, memory=0, rate=0.01)),
)
LEARNERS = pytest.mark.parametrize("attacker", [*METRICS, *NETWORKS], ids=lambda a: a.name)


@pytest.mark.parametrize("knowledge", ["ignorant", "informed"])
@pytest.mark.parametrize("like", METRICS, ids=lambda a: a.name)
def test_they_learn_who_is_shown(like, knowledge):
    attacker = type(like)(like.settings, knowledge=knowledge).fit(parts(), seed=0)
    assert auc(attacker, image_set(12, seed=4, first=500)) > 0.9


@pytest.fixture(scope="module")
def moved():
    """What `fit` takes where releases are quarter turns; unseen images so released, and real."""
    train, validation = image_set(60, seed=1), image_set(20, seed=2, first=100)
    sets = {"real": train, "released": turned(train), "validation_real": validation}
    unseen = image_set(40, seed=3, first=500)
    return parts(**sets, validation_released=turned(validation)), turned(unseen), unseen


@pytest.mark.parametrize(
    ("attacker", "options", "undoing", "nothing", "more"),
    [
        (HistogramMetric, HISTOGRAMS, {}, {"restoration": ()}, 0.1),
        (Patchwise, WINDOWS, {"undo": SIDE}, {"undo": 0}, 0.2),
        (Unmixing, MIXTURES, {"undo": 16}, {"undo": 0}, 0.2),
    ],
)
def test_what_was_moved_elsewhere_is_brought_back(moved, attacker, options, undoing, nothing, more):
    known, *images = moved
    with_map, without = (
        attacker(options.model_copy(update=change)).fit(known, seed=0)
        for change in (undoing, nothing)
    )
    assert auc(with_map, *images) > auc(without, *images) + more
    if attacker is HistogramMetric:  # which describes probes by the map alone
        assert (with_map.asymmetric, without.asymmetric) == (True, False)


@LEARNERS
def test_patients_of_one_image_teach_nothing(attacker):
    alone = image_set(20, each=1)
    with pytest.raises(DataError, match="several images"):
        attacker.fit(parts(real=alone, released=alone), seed=0)


@LEARNERS
def test_a_validation_part_without_pairs_is_refused(attacker):
    alone = image_set(6, each=1, first=50)
    one = Owners(alone.owners.image, alone.owners.patient * 0, alone.owners.identified)
    for validation in (alone, ImageSet(alone.images, one)):
        sets = parts(validation_real=validation, validation_released=validation)
        with pytest.raises(DataError, match="validation part cannot tell"):
            attacker.fit(sets, seed=0)


@pytest.mark.parametrize(
    ("options", "wrong", "message"),
    [
        (HistogramMetricOptions, {"restoration": (0.0,)}, "restoration must be above 0"),
        (JigsawOptions, {"grids": (1,)}, "grids must be 2 to 12"),
        (JigsawOptions, {"grids": ()}, "grids must be"),
        (JigsawOptions, {"mates": (1.0,)}, "mates must lie in"),
        (JigsawOptions, {"parts": (13,)}, "parts must be 1 to 12"),
        (PatchwiseOptions, {"parts": (13,)}, "parts must be 1 to 12"),
        (PatchwiseOptions, {"reach": (-1,)}, "reach must be 0 or more"),
        (PatchwiseOptions, {"pooling": ()}, "need one value or more"),
        (PatchwiseOptions, {"pooling": ("mode",)}, "pooling"),
        (UnmixingOptions, {"sides": (32, 16)}, "sides must be ascending"),
        (UnmixingOptions, {"people": (0.5,)}, "people must be 0, or 1 or more"),
        (UnmixingOptions, {"sparsity": (1.0,)}, "sparsity must lie in"),
        (UnmixingOptions, {"shrinkage": ()}, "need one value or more"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, wrong, message):
    with pytest.raises(ValueError, match=message):
        options(**wrong)


@pytest.mark.parametrize(
    ("section", "option"),
    [
        ("jigsaw", {"levels": 12}),
        ("patchwise", {"cells": 12}),
        ("pixel_map", {"pixels": PixelMapOptions().pixels + 1}),
        ("unmixing", {"committee": 2}),
    ],
)
def test_options_are_a_section_of_their_own(section, option):
    options = train_options("prichexy-net")(evaluation={section: option})
    assert option.items() <= getattr(options.evaluation, section).model_dump().items()
