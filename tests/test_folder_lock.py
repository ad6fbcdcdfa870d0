"""OUT of a command is empty, or its own: what somebody else wrote there is never written over."""

import pytest
from asked import ask

from anonymize.errors import UsageError
from anonymize.folder_lock import LOCK, in_turn, own_folder
from attacks.cli import main


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "table.csv").write_text("path,patient_id\n")
    with (
        pytest.raises(UsageError, match="holds files that this command did not write"),
        own_folder(tmp_path),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("before", ["missing", "empty", "locked", "named"])
def test_its_own_is_taken(tmp_path, before):
    folder = tmp_path / "out"
    if before != "missing":
        folder.mkdir()
    if before == "locked":
        with own_folder(folder):
            (folder / "notes").mkdir()
    if before == "named":
        (folder / "results.json").touch()
    with own_folder(folder, holds=["results.json"]) as found:
        assert found == folder


@pytest.mark.parametrize("lock", [own_folder, lambda folder: in_turn(folder / LOCK)])
def test_nothing_is_written_over_by_a_lock(tmp_path, lock):
    folder, other = tmp_path / "out", tmp_path / "other"
    folder.mkdir()
    other.write_text("of somebody")
    (folder / LOCK).write_text("of another program")
    with lock(folder):
        pass
    assert (folder / LOCK).read_text() == "of another program"
    (folder / LOCK).unlink()
    (folder / LOCK).symlink_to(other)
    with pytest.raises(OSError, match="symbolic links"), lock(folder):
        pass
    assert other.read_text() == "of somebody"


COMMANDS = {
    "evaluate": ["--method", "random-warp:mu=0.1", "--attackers", "training-free"],
    "scaling": [],
}
TINY = ["data.patients=60", "data.images=120", "data.size=32"]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_writes_over_a_patient_table(tmp_path, command):
    table = "path,patient_id,labels\na.png,1,\n"
    for name in ("table.csv", "results.csv"):
        (tmp_path / name).write_text(table)
    settings = [word for value in TINY for word in ("--set", value)]
    asked = [command, *COMMANDS[command], *settings, "--source", "phantom", "--out", tmp_path]
    said = ask(main, *asked, code=2).output
    assert "holds files that this command did not write; choose another" in said
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == dict.fromkeys(
        ("table.csv", "results.csv"), table
    )
