"""`attacks explain`: which pairs it shows, what it writes, and what it refuses."""

import json
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from asked import ask
from identities import saved_verifier, trained_by
from PIL import Image

from anonymize.configuration import load_options
from attacks.cli import main
from attacks.measuring.extremes import Extreme
from attacks.reporting.pictures.explanation_sheet import explanation_sheet
from attacks.studies.explanation import CELLS, Explanation

needs_grad_cam = pytest.mark.skipif(
    find_spec("pytorch_grad_cam") is None, reason="needs the extra explain"
)


@pytest.fixture(scope="module")
def verifier(tmp_path_factory):
    """An untrained verifier; which pairs it takes for one does not matter here."""
    path = tmp_path_factory.mktemp("verifier") / "verifier.safetensors"
    saved_verifier(path)
    return path


@pytest.fixture(scope="module")
def changes(tiny):
    data = {k: v for k, v in tiny["data"].items() if k != "pairs"} | {"size": 32}
    return {f"data.{key}": value for key, value in data.items()}


@pytest.fixture(scope="module")
def call(changes, verifier):
    settings = [part for k, v in changes.items() for part in ("--set", f"{k}={v}")]

    def run(*arguments, code=0, verifier=verifier):
        given = ("--device", "cpu", "--verifier", verifier, *settings)
        return ask(main, "explain", *given, *arguments, code=code).output

    return run


@needs_grad_cam
def test_the_command_writes_a_picture_and_figures(call, tmp_path):
    output = call(
        *("--out", tmp_path, "--pairs", 1, "--average", 10, "--layers", "first,stem"),
        *("--method", "gaussian-blur"),
    )
    assert "stem: maps of 16 × 16" in output
    found = json.loads((tmp_path / "explain.json").read_text())
    assert found["method"] == "gaussian-blur"
    assert [pair["kind"] for pair in found["pairs"]] == ["found", "missed", "mistaken"]
    assert found["averaged_pairs"] == 10
    assert list(found["layers"]) == ["first: blocks.0", "stem"]
    attention = np.array(found["layers"]["stem"]["attention"])
    assert attention.shape == (CELLS, CELLS)
    assert attention.sum() == pytest.approx(1, abs=1e-3)
    with Image.open(tmp_path / "explain.png") as picture:
        assert min(picture.size) > 300
    assert not (tmp_path / "explain.png").stat().st_mode & 0o077


@needs_grad_cam
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layers", "first,nose"], "--layers must be among first, middle, last or layers"),
        (["--part", "attic"], "part must be one of"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(call, tmp_path, arguments, message):
    assert message in call("--out", tmp_path / "out", *arguments, code=2)
    assert not (tmp_path / "out").exists()


@needs_grad_cam
def test_a_verifier_that_learnt_from_the_test_part_or_is_new_is_refused(call, changes, tmp_path):
    leaky, out = tmp_path / "leaky.safetensors", tmp_path / "out"
    saved_verifier(leaky, learnt=trained_by(load_options("quick", changes).data, seed=1))
    assert f"--verifier {leaky} learnt from" in call("--out", out, code=2, verifier=leaky)
    of_train = ("--out", out, "--part", "train", "--average", 2)
    call(*of_train, verifier=leaky)
    saved_verifier(leaky, seed=1)
    assert "something else (the verifier)" in call(*of_train, code=2, verifier=leaky)


def test_without_the_library_it_says_what_to_install(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pytorch_grad_cam", None)
    output = call("--out", tmp_path / "out", code=2)
    assert "pip install 'anonymize-cxr[explain]'" in output
    assert "preparing images" not in output


def test_the_page_lays_a_map_over_its_own_image(tmp_path):
    """One map is lit in one corner: only there does the page change."""
    pairs = [Extreme("found", 0, 1, 0.0)]
    images, pictures = torch.full((1, 1, 32, 32), 0.5), []
    for lit in (0.0, 1.0):
        maps = np.zeros((2, 1, 32, 32), np.float32)
        maps[1, 0, :16, :16] = lit
        found = Explanation(
            "identity", pairs, images, images, {"stem": maps},
            {"stem": np.full((CELLS, CELLS), CELLS**-2.0)}, 9, {"stem": (16, 16)},
        )  # fmt: skip
        explanation_sheet(found, tmp_path / "page.png")
        with Image.open(tmp_path / "page.png") as page:
            pictures.append(np.asarray(page.convert("RGB")).astype(int))
    rows, columns = np.nonzero(np.abs(pictures[1] - pictures[0]).sum(2))
    height, width = rows.max() - rows.min(), columns.max() - columns.min()
    assert abs(height - 100) < 8  # half a cell of 1.25 inches at 160 dots
    assert abs(width - 100) < 8
    assert columns.min() > pictures[0].shape[1] * 0.7
