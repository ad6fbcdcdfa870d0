"""The examples of CONTRIBUTING.md work as they stand there."""

import importlib
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
from asked import ask
from PIL import Image
from small import SMALL

import anonymize
from anonymize.data.dataset import Dataset
from anonymize.data.sources.registry import SOURCES
from anonymize.errors import UsageError
from anonymize.options import DataOptions
from attacks.attacker import ImageSet, linked
from attacks.cli import main as attacks
from attacks.measuring.metrics import Owners
from attacks.results import Results

TEXT = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
TINY = {**SMALL, "evaluation.resamplings": 50}


def section(title):
    """{file name: text} of the titled code blocks below ``## title``."""
    text = TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```', text, re.DOTALL | re.MULTILINE))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Puts the package of a section on the path, with its entry points, as pip would."""

    def install(title):
        files = section(title)
        project = tomllib.loads(files["pyproject.toml"])["project"]
        info = tmp_path / "site" / f"{project['name'].replace('-', '_')}-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: 1\n")
        groups = (
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in names.items())
            for group, names in project["entry-points"].items()
        )
        (info / "entry_points.txt").write_text("".join(groups))
        for name in set(files) - {"pyproject.toml"}:
            (tmp_path / "site" / name).write_text(files[name], encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path / "site")

    return install


def test_the_method_keeps_the_contract(installed, images):
    installed("Add a method")
    median = anonymize.load("median-filter:radius=1")
    released = median(images)
    torch.testing.assert_close(released[0, 0, 9, 9], images[0, 0, 8:11, 8:11].median())
    assert not torch.equal(released, images)
    with pytest.raises(UsageError, match="radius"):
        anonymize.load("median-filter:radius=0")
    with pytest.raises(UsageError, match="unknown"):
        anonymize.load("median-filter:size=3")


@pytest.mark.usefixtures("undrawn")
def test_the_attacker_attacks_the_method(installed, tmp_path):
    installed("Add a method")
    installed("Add an attacker")
    words = ["--source", "phantom", "--method", "median-filter", "--out", tmp_path / "out"]
    words += [f"--set={key}={value}" for key, value in TINY.items()]
    ask(attacks, "evaluate", *words, "--attackers", "profiles,training-free")
    measured = Results.read(tmp_path / "out" / "results.json")
    assert measured.attackers == ("profiles", "training-free")
    assert measured.titles() == ["real images", "median-filter radius=2"]
    assert measured.methods[1].privacy["profiles"].auc.mean > 0.6


def test_the_source_gives_a_data_set(tmp_path, monkeypatch):
    (code,) = section("Add a source").values()
    (tmp_path / "wards.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    wards = importlib.import_module("wards")
    monkeypatch.setitem(SOURCES, "wards", wards.read)
    root = tmp_path / "data"
    for patient in range(12):
        for number in range(2):
            path = root / f"P{patient:03d}" / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((40, 32), 9 * patient + number, np.uint8)).save(path)
    (root / "normal.txt").write_text("P000\nP005\n")
    options = DataOptions(source="wards", root=root, size=32, cache=tmp_path / "cache")
    data = Dataset.open(options)
    assert len(data.table) == 24
    assert data.table.labels == ("abnormal",)
    assert data.table.frame.groupby("patient_id")["part"].nunique().max() == 1
    assert data.targets.sum() == 20
    assert data.table.frame.loc[7, ["patient_id", "follow_up"]].tolist() == ["P003", 1]


def test_the_attacker_links_what_looks_alike(installed, images):
    installed("Add an attacker")
    profiles = importlib.import_module("profiles").Profiles()
    codes = np.arange(3)
    owners = Owners(codes, codes, np.ones(3, bool))
    real, released = ImageSet(images, owners), ImageSet(images.sqrt(), owners)
    scores = linked(profiles, released, real)
    assert scores.shape == (3, 3)
    np.testing.assert_allclose(np.diag(profiles.score(images, images)), 1, atol=1e-5)
    assert (np.diag(scores) > np.diag(profiles.score(images.flip(2, 3), images))).all()
