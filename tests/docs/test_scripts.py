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
