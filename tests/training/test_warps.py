"""A run with a field that cannot fold, from `anonymize train` to a folder of released files."""

import json

import numpy as np
import pytest
from asked import ask
from PIL import Image
from release_specimens import rows
from test_run import same_runs
from tiny_run import TINY, configured, stopping, train

import anonymize
from anonymize import flow
from anonymize.cli import main
from anonymize.model_card import read_card

FIELD = {"unit": "share", "mu": 0.05, "controls": 6, "squarings": 4, "bending": 1e-4}
SIZES = {"a.png": (32, 32), "b.png": (48, 40), "c.png": (61, 57)}


def short(folder, epochs, **field):
    """The words of a command that trains a game of so many epochs, little else."""
    parts = {part: {**TINY[part], "epochs": 1} for part in ("classifier", "verifier")}
    data = {**TINY["data"], "pairs": 16}  # of images that other tests have drawn
    game = {"epochs": epochs, "rate": 1e-3}
    config = configured(folder, **parts, data=data, adversarial=game)
    settings = [word for k, v in field.items() for word in ("--set", f"generator.{k}={v}")]
    return "--config", config, *settings


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("warps")
    train(*short(folder, 1, **FIELD), "--out", folder / "run")
    return folder / "run"


@pytest.mark.whole
def test_the_file_of_a_run_holds_its_field(run):
    assert FIELD.items() <= read_card(run / "model.safetensors").architecture.items()
    model = anonymize.load(run)
    assert model.mu == 0.1
    assert json.loads((run / "summary.json").read_text())["mu"] == 0.1
    picture = anonymize.read(drawn(run / "again.png", (32, 32)))
    displacement = model.displacement(picture)
    assert 0 < displacement.abs().max() <= 0.1
    assert flow.jacobian_determinant(displacement).min() > 0


def drawn(path, size):
    """A picture of waves, of ``size`` (W, H)."""
    x, y = np.meshgrid(np.linspace(0, 1, size[0]), np.linspace(0, 1, size[1]))
    values = 110 + 60 * np.sin(17 * x + 5 * y * y) + 50 * np.cos(13 * y)
    Image.fromarray(values.astype(np.uint8)).save(path)
    return path


@pytest.mark.whole
def test_it_is_applied_to_a_folder_of_any_sizes(run, tmp_path):
    (tmp_path / "in").mkdir()
    for name, size in SIZES.items():
        drawn(tmp_path / "in" / name, size)
    ask(main, "apply", tmp_path / "in", tmp_path / "out", "--model", run, "--device", "cpu")
    listed = rows((tmp_path / "out" / "manifest.csv").read_bytes())
    assert len(listed) == len(SIZES)
    for row in listed:
        assert float(row["mu"]) == 0.1
        assert float(row["min_jacobian"]) > 0
        released = Image.open(tmp_path / "out" / row["output"])
        assert released.size == SIZES[row["output"]]
        most = 0.05 * (np.array(released.size) - 1)  # by component
        assert 0 < float(row["displacement_max_px"]) <= np.hypot(*most)


@pytest.mark.whole
def test_what_is_drawn_is_drawn_again_by_a_run_that_was_stopped(tmp_path, monkeypatch):
    command = short(tmp_path, 2, unit="pixels", mu=3, controls=6, drawn=0.1)
    train(*command, "--out", tmp_path / "whole")
    with monkeypatch.context() as patch:
        stopping(patch, "adversarial")
        train(*command, "--out", tmp_path / "stopped", code=130)
    train(*command, "--out", tmp_path / "stopped")
    same_runs(tmp_path / "stopped", tmp_path / "whole")
