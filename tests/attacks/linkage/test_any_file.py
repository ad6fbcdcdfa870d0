"""Files of any kind, as an attacker reads them."""

import os
from pathlib import Path

import numpy as np
from files_attacked import write_noise
from unreadable import shut

import anonymize
from anonymize.options import DataOptions
from attacks.attackers.format import facts
from attacks.linkage.album import open_album
from attacks.linkage.any_file import read_levels


def test_dicom_is_read_as_a_viewer_shows_it(shared, tmp_path):
    options = DataOptions(size=32, cache=tmp_path, workers=1)
    found = open_album(str(shared / "data" / "dicom"), options, argument="REAL")
    assert len(found) == 2
    for path, size in zip(found.table.frame["path"], found.file_sizes, strict=True):
        seen = anonymize.read(path)[0, 0].numpy()
        np.testing.assert_allclose(read_levels(Path(path)) / 65535, seen, atol=1e-5)
        assert size == seen.shape
        assert facts(path)[1] == "DICOM"


def test_what_cannot_be_listed_is_counted_among_what_cannot_be_read(tmp_path, monkeypatch):
    given = tmp_path / "given"
    (given / "shut").mkdir(parents=True)
    for name in ("a.png", "shut/b.png"):
        write_noise(given / name, 0)
    (given / "nowhere").symlink_to("gone")
    (given / "notes.txt").write_text("no image")
    os.mkfifo(given / "pipe")

    shut(monkeypatch, "shut")
    options = DataOptions(size=32, cache=tmp_path / "cache", workers=1, on_missing="skip")
    found = open_album(str(given), options, argument="REAL")
    assert found.names.tolist() == ["a.png"]
    assert sorted(name for name, _ in found.table.skipped) == ["nowhere", "shut"]
