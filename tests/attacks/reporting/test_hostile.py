"""Data that cannot tell how good an attacker is: one clear line, never a silent 0.5."""

import numpy as np
import pytest
from asked import ask
from identities import image_set, parts
from overlapping import folder_of

from anonymize.errors import DataError
from attacks.attacker import ImageSet
from attacks.attackers.contrastive import Contrastive, ContrastiveOptions
from attacks.attackers.histogram_metric import HistogramMetric, HistogramMetricOptions
from attacks.attackers.retrieval import Retrieval, RetrievalOptions
from attacks.cli import main
from attacks.measuring.metrics import Owners

FREE = "training-free"


@pytest.mark.parametrize(
    ("patients", "part", "attackers", "message"),
    [
        (list("abcdefghijklmn"), "all", FREE, "part all cannot tell how good an attacker is"),
        (["a"] * 6, "all", FREE, "would be empty with 1 patient"),
        (["a"], "all", FREE, "would be empty with 1 patient"),
        (list("aabbccdd"), "test", FREE, "would be empty with 4 patient"),
        # As many as the split needs: one is left to validate with.
        (list("abcdefghij" * 2), "test", f"{FREE},histogram-metric", "part validation cannot tell"),
    ],
)
def test_an_evaluation_of_nothing_says_so(tmp_path, patients, part, attackers, message):
    pixels = np.random.default_rng(0).integers(0, 256, (len(patients), 32, 32), np.uint8)
    folder_of(tmp_path, pixels, patients)
    given = ["--source", "folder", "--root", tmp_path, "--part", part, "--device", "cpu"]
    given += ["--attackers", attackers, "--method", "identity", "--set", "data.size=32"]
    given += ["--set", f"data.cache={tmp_path}/cache", "--out", tmp_path / "out"]
    assert message in ask(main, "evaluate", *given, code=2).output.strip().splitlines()[-1]
    assert not (tmp_path / "out" / "results.json").exists()


SMALL = {"epochs": 1, "architecture": "compact", "width": 4, "features": 8}
LEARNERS = [
    Contrastive(ContrastiveOptions(**SMALL, patients=4)),
    Retrieval(RetrievalOptions(**SMALL, head_epochs=0, batch=8, memory=0, rate=0.01)),
    HistogramMetric(HistogramMetricOptions(cells=(4,), components=(4,), copies=0)),
]


@pytest.mark.parametrize("attacker", LEARNERS, ids=lambda a: a.name)
def test_patients_of_one_image_teach_nothing(attacker):
    alone = image_set(12, each=1)
    with pytest.raises(DataError, match="several images"):
        attacker.fit(parts(real=alone, released=alone), seed=0)


@pytest.mark.parametrize("attacker", LEARNERS, ids=lambda a: a.name)
def test_a_validation_part_without_pairs_is_refused(attacker):
    alone = image_set(6, each=1, first=50)
    one = ImageSet(
        alone.images, Owners(alone.owners.image, alone.owners.patient * 0, alone.owners.identified)
    )
    for validation in (alone, one):
        sets = parts(validation_real=validation, validation_released=validation)
        with pytest.raises(DataError, match="validation part cannot tell"):
            attacker.fit(sets, seed=0)
