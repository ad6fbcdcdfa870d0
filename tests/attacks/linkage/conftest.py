"""Two folders of small images that share patients, and an attacker taught on a third."""

from types import SimpleNamespace

import pytest
from asked import ask
from overlapping import collections, taught_on

from attacks.cli import main


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Folders A and B, whose files are whose, the attacker's arguments and folder, and ``ask``: a
    command with these arguments, which must end with the status ``code``."""
    folder = tmp_path_factory.mktemp("alone")
    owner = collections(folder)
    attacker = [*taught_on(folder), "--out", folder / "out"]

    def told(command, *arguments, code=0):
        return ask(main, command, *attacker, *arguments, code=code)

    return SimpleNamespace(
        folder=folder, a=folder / "A", b=folder / "B", out=folder / "out", owner=owner, ask=told
    )


@pytest.fixture
def undrawn(monkeypatch):
    """Without the sheet of images, which takes longer than all the rest."""
    for sheet in ("ranking_sheet", "overlap_sheet"):
        monkeypatch.setattr(f"attacks.reporting.match_sheet.{sheet}", lambda found: b"")
