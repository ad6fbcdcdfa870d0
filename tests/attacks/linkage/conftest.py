"""Two folders of small images that share patients, and an attacker taught on a third."""

from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from overlapping import collections, taught_on

from attacks.cli import main


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Folders A and B, whose files are whose, the attacker's arguments and folder, and ``ask``: a
    command with these arguments."""
    folder = tmp_path_factory.mktemp("alone")
    owner = collections(folder)
    attacker = [*taught_on(folder), "--out", folder / "out"]

    def ask(command, *arguments):
        return CliRunner().invoke(main, [str(a) for a in (command, *attacker, *arguments)])

    return SimpleNamespace(
        folder=folder, a=folder / "A", b=folder / "B", out=folder / "out", owner=owner, ask=ask
    )


@pytest.fixture
def undrawn(monkeypatch):
    """Without the sheet of images, which takes longer than all the rest."""
    for sheet in ("ranking_sheet", "overlap_sheet"):
        monkeypatch.setattr(f"attacks.reporting.match_sheet.{sheet}", lambda found: b"")
