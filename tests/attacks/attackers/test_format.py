"""Files of one size and format: how far they give their originals away."""

import numpy as np
import pandas as pd
import pytest
from identities import NoPixels
from PIL import Image

from anonymize.data.sources.registry import read
from anonymize.errors import UsageError
from anonymize.options import DataOptions
from attacks.attackers.format import Format, facts
from attacks.measuring.metrics import Owners, pair_auc
from attacks.registry import choose


@pytest.fixture
def files(tmp_path):
    """A table of files: two of one size and format, and others that differ in one of them."""
    rng = np.random.default_rng(0)
    kinds = [
        ((40, 30), "L", "PNG", {}),
        ((40, 30), "L", "PNG", {}),
        ((41, 30), "L", "PNG", {}),
        ((40, 30), "L", "TIFF", {}),
        ((40, 30), "RGB", "PNG", {}),
        ((40, 30), "L", "JPEG", {"quality": 90}),
        ((40, 30), "L", "JPEG", {"quality": 70}),
    ]
    paths = []
    for number, (size, mode, format, options) in enumerate(kinds):
        path = tmp_path / str(number)
        shape = (*size[::-1], *([3] if mode == "RGB" else []))
        pixels = rng.integers(0, 256, shape, dtype=np.uint8)
        Image.fromarray(pixels).save(path, format, **options)
        paths.append(str(path))
    return pd.DataFrame({"path": paths})


def before_after(number):
    """Probes and gallery of a release of so many images, without their pixels."""
    image, all_known = np.arange(number), np.ones(number, bool)
    asked, known = Owners(image, image, all_known), Owners(-1 - image, image, all_known)
    return NoPixels(None, asked), NoPixels(None, known)


def test_what_few_files_have_says_more(files):
    probes, gallery = before_after(len(files))
    scores = Format(files).link(probes, gallery)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, scores.T)
    own = np.diag(scores)
    # −log of the shares of size (6 of 7), format (4), mode (6) and quality (5)
    expected = -np.log([6 / 7, 4 / 7, 6 / 7, 5 / 7]).sum()
    assert own[0] == pytest.approx(expected, rel=1e-5)
    best = [set(np.flatnonzero(row == row.max())) for row in scores]
    assert best == [{0, 1}, {0, 1}, {2}, {3}, {4}, {5}, {6}]
    assert pair_auc(scores, probes.owners, gallery.owners) > 0.95


def test_files_that_are_all_alike_link_nobody(files):
    alike = files.iloc[[0, 1] * 3].reset_index(drop=True)
    probes, gallery = before_after(len(alike))
    scores = Format(alike).link(probes, gallery)
    assert pair_auc(scores, probes.owners, gallery.owners) == 0.5


def test_facts_of_files(files, tmp_path):
    assert facts(files["path"][5]) == ((40, 30), "JPEG", "L", 90)
    assert facts(files["path"][4]) == ((40, 30), "PNG", "RGB", 0)
    for name, content in (("Zlatarov.png", b"x"), ("Zlatarov.gif", b"GIF89a")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match="cannot be read") as error:
            facts(str(tmp_path / name))
        assert "Zlatarov" not in str(error.value)


def test_drawn_images_have_no_files():
    class Data:
        table = read(DataOptions(source="phantom"))

    assert "there are no files" in choose("format").level.missing(Data)


def test_it_scores_no_pixels(files):
    with pytest.raises(UsageError, match="looks at no pixels"):
        Format(files).score(None, None)
