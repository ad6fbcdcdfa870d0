"""Files of any kind, as an attacker reads them."""

from pathlib import Path

import numpy as np

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
