"""Data that cannot tell how good an attacker is: one clear line, never a silent 0.5."""

import numpy as np
import pytest
from asked import ask
from film_folders import folder_of

from attacks.cli import main

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
