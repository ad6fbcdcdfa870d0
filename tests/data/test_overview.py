"""The commands ``anonymize data``, in process, on real and tiny data sets."""

import json
import re
from pathlib import Path

import click
import numpy as np
import pytest
from asked import ask
from cache_trees import make_folder
from PIL import Image

from anonymize.cli import main
from anonymize.commands.run_options import TrainArguments
from anonymize.data.overview import contact_sheet, lines, summarize
from anonymize.data.sources.registry import read
from anonymize.data.splits import assign
from anonymize.errors import DataError
from anonymize.options import DataOptions
from attacks.cli import main as attacks
from attacks.commands.shared import changes


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path / "set", 24, prefix="secret")


def run(*words, code=0):
    return ask(main, "data", *words, code=code)


def options_of(root, tmp_path):
    return ("--source", "folder", "--root", root, "--cache", tmp_path / "cache")


def test_summary_is_counted_again_by_hand(folder):
    table = assign(read(DataOptions(source="folder", root=folder)), seed=0)
    parts = summarize(table)["parts"]
    for name, part in parts.items():
        chosen = table.frame if name == "all" else table.frame[table.frame["part"] == name]
        assert part["images"] == len(chosen)
        assert part["patients"] == part["patients_with_several_images"] == len(chosen) / 2
        assert part["genuine_pairs"] == part["follow_ups"] == len(chosen) / 2
        positive = int(chosen["Mass"].sum())
        counts = {"positive": positive, "negative": len(chosen) - positive, "unknown": 0}
        assert part["labels"] == {"Mass": counts}
        assert part["view"] == {"PA": 0, "AP": 0, "unknown": len(chosen)}
        undefined = dict.fromkeys(("median", "lowest", "highest"))
        assert part["age"] == {**undefined, "unknown": len(chosen)}
    assert len({len(line) for line in lines(summarize(table))}) == 1


def test_show_real(shared, tmp_path):
    sheet = tmp_path / "sheet.png"
    result = run(
        *("show", "--source", "pediatric-pneumonia"),
        *("--root", shared / "data/pediatric_pneumonia_224px"),
        *("--json", "--out", sheet),
    )
    found = json.loads(result.stdout)
    whole = found["parts"]["all"]
    assert (whole["images"], whole["patients"]) == (4398, 2000)
    assert whole["patients_with_several_images"] == 495
    assert whole["images_of_unidentified_patients"] == 1172
    for key in ("images", "patients", "genuine_pairs"):
        parts = [found["parts"][name][key] for name in ("train", "validation", "test")]
        assert sum(parts) == whole[key]
        assert min(parts) > 0
    with Image.open(sheet) as image:
        assert min(image.size) > 600
        assert np.asarray(image).std() > 30


def test_show_prints_lines(folder, tmp_path):
    result = run("show", *options_of(folder, tmp_path))
    assert "secret" not in result.output.replace(str(tmp_path), "")
    head, *rows = result.stdout.splitlines()
    assert head == "folder"
    assert rows[0].split() == ["train", "validation", "test", "all"]
    assert rows[1].split() == ["images", "16", "4", "4", "24"]


def test_prepare_and_prepare_again(folder, tmp_path):
    first = run("prepare", *options_of(folder, tmp_path), "--size", 32, "--json")
    found = json.loads(first.stdout)
    counted = {"images": 24, "patients": 12, "size": 32, "bits": 8, "skipped": 0}
    assert {"source": "folder", **counted}.items() <= found.items()
    assert found["bytes"] > 24 * 32 * 32
    again = run("prepare", *options_of(folder, tmp_path), "--size", 32)
    assert found["cache"] in again.stdout
    assert "24 images of 12 identified patients, 32 × 32, 8 bits" in again.stdout


@pytest.mark.parametrize("word", ["prepare", "show"])
def test_absent_images_are_listed(folder, tmp_path, word):
    (folder / "secret3.png").unlink()
    listed = tmp_path / "cache" / "folder-skipped.csv"
    failed = run(word, *options_of(folder, tmp_path), code=2)
    assert failed.stderr.count("\n") == 1
    assert "1 of 24 images cannot be used" in failed.stderr
    assert f"listed in {listed}" in failed.stderr
    assert "secret" not in failed.output
    assert listed.read_text() == "image_id,reason\nsecret3.png,the file is not there\n"
    assert listed.stat().st_mode & 0o777 == 0o600
    listed.unlink()
    done = run(word, *options_of(folder, tmp_path), "--on-missing", "skip")
    assert f"1 listed image left out: {listed}" in done.stdout
    assert "secret3.png" in listed.read_text()


def commands(group):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield command
        if isinstance(command, click.Group):
            yield from commands(command)


def test_every_command_that_reads_a_data_set_has_the_option_that_its_errors_name():
    options = [
        {option for parameter in command.params for option in parameter.opts}
        for command in (*commands(main), *commands(attacks))
    ]
    read = [own for own in options if "--root" in own]
    assert len(read) > 10
    assert all("--on-missing" in own for own in read)
    asked = {"on_missing": "skip", "settings": ()}
    assert changes(asked) == {"data.on_missing": "skip"}
    nothing = dict.fromkeys(("source", "root", "out", "seed", "resume"))
    assert TrainArguments("quick", **nothing, **asked).changes == changes(asked)


def test_images_that_turn_out_unreadable_are_listed(folder, tmp_path):
    (folder / "secret3.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert "1 of 24 images" in run("prepare", *options_of(folder, tmp_path), code=2).stderr
    done = run("prepare", *options_of(folder, tmp_path), "--on-missing", "skip", "--json")
    found = json.loads(done.stdout)
    assert (found["images"], found["skipped"]) == (23, 1)
    assert "secret3.png" in Path(found["skipped_list"]).read_text()
    shown = run("show", *options_of(folder, tmp_path), "--out", tmp_path / "sheet.png")
    assert "24" in shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--source", "nih"], "source must be one of phantom"),
        (["--source", "covid19"], "needs the folder"),
        (["--source", "covid19", "--root", "/nowhere"], "not a folder that can be read"),
        (["--root", "."], "leave --root out"),
        (["--size", "4"], "option size: .*greater than or equal to 16; got 4"),
        (["--images", "20"], "must be at least"),
        (["--images", "20", "--patients", "3"], "option patients"),
        (["--on-missing", "ignore"], "'error', 'skip'"),
    ],
)
def test_wrong_options(words, message, tmp_path):
    for word in ("prepare", "show"):
        result = run(word, *words, "--cache", tmp_path, code=2)
        assert re.search(message, result.stderr), result.stderr


def test_a_sheet_takes_no_radiograph_s_place(folder, tmp_path):
    """It is the owner's alone: it shows the images patient by patient."""
    original = next(folder.rglob("*.png"))
    before = original.read_bytes()
    for out, words in ((original, "must not replace"), (tmp_path / "sheet.jpeg", "called *.png")):
        assert words in run("show", *options_of(folder, tmp_path), "--out", out, code=2).stderr
    assert original.read_bytes() == before
    run("show", *options_of(folder, tmp_path), "--out", tmp_path / "sheet.png")
    assert (tmp_path / "sheet.png").stat().st_mode & 0o777 == 0o600


def test_out_in_no_folder(folder, tmp_path):
    result = run("show", *options_of(folder, tmp_path), "--out", tmp_path / "no/a.png", code=2)
    assert "--out cannot be written" in result.stderr


def test_help_has_an_example():
    for word in ([], ["prepare"], ["show"]):
        assert "Example: anonymize data" in run(*word, "--help").stdout


def test_sheet_holds_follow_ups_of_identified_patients(folder):
    table = read(DataOptions(source="folder", root=folder))
    frame = table.frame.assign(identified=table.frame["patient_id"] == "secret5")
    sheet = contact_sheet(table.with_frame(frame))
    tile = np.asarray(sheet)[8:168]
    for i, left in enumerate((90, 258)):
        row = table.frame[table.frame["patient_id"] == "secret5"].iloc[i]
        np.testing.assert_array_equal(tile[:, left : left + 160, 0], table.load(row, 160))
    with pytest.raises(DataError, match="no image has an identified patient"):
        contact_sheet(table.with_frame(frame.assign(identified=False)))


def test_sheet_draws_unreadable_images_as_such(folder):
    table = read(DataOptions(source="folder", root=folder))
    for path in folder.glob("*.png"):
        path.write_bytes(b"")
    assert contact_sheet(table).width > 200
