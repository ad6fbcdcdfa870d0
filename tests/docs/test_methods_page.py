"""The examples of the page on methods work as they stand there; its options are those there are."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from anonymize.anonymizer import method_class
from anonymize.data.batches import HeldImages
from anonymize.set_anonymizer import Radiographs

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_sets_are_released_as_the_page_says():
    made_up = {
        "images": torch.randint(256, (30, 1, 12, 16), dtype=torch.uint8),
        "patients": np.repeat(np.arange(15), 2),
        "targets": np.zeros((30, 1), np.float32),
    }
    made_up["strangers"] = Radiographs(
        HeldImages(torch.randint(256, (24, 1, 12, 16), dtype=torch.uint8)),
        np.arange(24),
        np.arange(24, dtype=np.float32)[:, None] % 2,
    )
    for block in BLOCKS:
        exec(block, made_up)
    assert len(made_up["found"]) == 6
    pairs = made_up["Pairs"]().released(made_up["given"])
    assert [len(rows) for rows in pairs.contributors] == [2] * 7
    assert len(pairs.withheld(30)) == 16
    assert len(made_up["shown"]) == 30
    assert 1 / 15 <= made_up["shown"].bound <= 2 / 15


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("k-same", "KSameOptions"),
        ("mosaic", "MosaicOptions"),
        ("utility-code", "UtilityCodeOptions"),
        ("neural-obfuscation", "NeuralObfuscationOptions"),
    ],
)
def test_options_of_sets_and_their_defaults(name, own):
    (row,) = re.findall(rf"^\| `{name}` \| (.*?) \|", PAGE, re.MULTILINE)
    options = method_class(name).Options
    assert options.__name__ == own
    listed = dict(re.findall(r"`(\w+)`(?: \(`?([\w.]+)`?\))?", row))
    assert set(listed) == set(options.model_fields) - {"seed", "key_file"}
    shown = {key: value for key, value in listed.items() if value}
    assert shown == {key: str(options.model_fields[key].default) for key in shown}
