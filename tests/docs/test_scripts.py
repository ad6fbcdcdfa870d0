"""The scripts of docs/examples do what they say."""

import runpy
from pathlib import Path

import pandas as pd
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.mark.processes
def test_release_a_folder(tmp_path, capsys):
    runpy.run_path(str(EXAMPLES / "release_a_folder.py"))["main"](tmp_path / "mine")
    released = tmp_path / "mine" / "released"
    manifest = pd.read_csv(released / "manifest.csv")
    assert {path.name for path in released.glob("*.png")} == set(manifest["output"])
    assert "4 anonymized, 0 quarantined" in capsys.readouterr().out


@pytest.mark.whole
@pytest.mark.usefixtures("undrawn")
def test_evaluate_your_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = runpy.run_path(str(EXAMPLES / "evaluate_your_own.py"))
    auc = script["main"](tmp_path / "out", patients=24, images=80).pivot(
        index="method", columns="of", values="mean"
    )
    assert len(auc) == 3
    # A median keeps whom an image shows; strong noise hides some of it, even on so few patients.
    assert auc.loc["median-filter size=9"].min() > 0.7
    assert (auc.loc["dp-pix b=8, ε=0.1"] < auc.loc["real images"] - 0.1).all()
