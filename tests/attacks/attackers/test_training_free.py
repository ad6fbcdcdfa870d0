"""The training-free attacker, on drawn images and on the real sets of the shared data folder."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from anonymize.errors import UsageError
from attacks.attacker import Auxiliary
from attacks.attackers.training_free import TrainingFree
from attacks.measuring import metrics, retrieval
from attacks.measuring.metrics import Owners

SHARED = Path(__file__).parents[4] / "shared" / "data"


def read(path: Path, size: int) -> np.ndarray:
    return np.asarray(Image.open(path).convert("L").resize((size, size), Image.Resampling.BILINEAR))


def real_set(folder: str, files, patients, identified, size: int):
    """uint8 images (N, 1, H, W) and their owners."""
    if not (SHARED / folder).is_dir():
        pytest.skip(f"the shared data folder {folder} is absent")
    images = np.stack([read(SHARED / folder / file, size) for file in files])[:, None]
    _, code = np.unique(np.asarray(patients, str), return_inverse=True)
    owners = Owners(np.arange(len(code)), code, np.asarray(identified, bool))
    return torch.from_numpy(images), owners


def table(folder: str, name: str) -> pd.DataFrame:
    if not (SHARED / folder).is_dir():
        pytest.skip(f"the shared data folder {folder} is absent")
    return pd.read_csv(SHARED / folder / name)


def figures(scores, owners):
    return [
        metric(scores, owners, owners)
        for metric in (retrieval.precision_at_1, retrieval.r_s, metrics.pair_auc)
    ]


def test_published_figures_on_chestxray14():
    rows = table("chestxray14_64px", "Data_Entry_2017_v2020.csv")
    files = [f"images/{name}" for name in rows["Image Index"]]
    images, owners = real_set(
        "chestxray14_64px", files, rows["Patient ID"], np.ones(len(rows)), size=64
    )
    reached = figures(TrainingFree().score(images, images), owners)
    np.testing.assert_allclose(reached, [0.734, 0.683, 0.846], atol=0.002)


def test_published_figures_on_covid19():
    rows = table("covid19", "metadata.csv")
    files = [f"images/{name}" for name in rows["filename"]]
    images, owners = real_set("covid19", files, rows["patientid"], np.ones(len(rows)), size=128)
    reached = figures(TrainingFree().score(images, images), owners)
    np.testing.assert_allclose(reached, [0.410, 0.514, 0.893], atol=0.002)


@pytest.mark.slow
def test_published_figures_on_pediatric_pneumonia():
    """1,172 healthy children are not identified: impostors and distractors, never probes. The AUC
    of those with pneumonia is over their pairs, with features centred on all images."""
    folder = "pediatric_pneumonia_224px"
    files = sorted(p.relative_to(SHARED / folder) for p in (SHARED / folder).rglob("*.jpeg"))
    ill = [re.match(r"person(\d+)_(bacteria|virus)", p.name) for p in files]
    healthy = [re.match(r"(NORMAL2-)?IM-\d+", p.name) for p in files]
    patients = [f"{i[2]}-{i[1]}" if i else h[0] for i, h in zip(ill, healthy, strict=True)]
    identified = np.array([i is not None for i in ill])
    images, owners = real_set(folder, files, patients, identified, size=128)
    assert (len(owners), identified.sum()) == (4398, 3226)
    scores = TrainingFree().score(images, images)
    np.testing.assert_allclose(figures(scores, owners), [0.192, 0.275, 0.821], atol=0.002)
    pneumonia = metrics.pair_auc(
        scores[np.ix_(identified, identified)], owners[identified], owners[identified]
    )
    assert pneumonia == pytest.approx(0.810, abs=0.002)


@pytest.fixture(scope="module")
def images():
    return torch.rand(12, 1, 48, 48, generator=torch.Generator().manual_seed(0))


def test_an_image_is_most_like_itself(images):
    scores = TrainingFree().score(images, images)
    assert scores.shape == (12, 12)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(np.diag(scores), 1, atol=1e-5)
    assert (scores.argmax(1) == np.arange(12)).all()


def test_bytes_and_fractions_score_alike(images):
    whole = (images * 255).round().to(torch.uint8)
    attacker = TrainingFree()
    np.testing.assert_allclose(
        attacker.score(whole, whole), attacker.score(whole.float() / 255, whole), atol=1e-5
    )


def test_the_order_of_the_probes_does_not_matter(images):
    attacker = TrainingFree()
    turned = attacker.score(images.flip(0), images)[::-1]
    np.testing.assert_allclose(turned, attacker.score(images, images), atol=1e-5)


def test_released_images_are_centred_on_their_own_mean(images):
    """A common offset of all released images (here: a bright edge) does not draw the probes."""
    released = images * 0.3
    released[..., 24:] += 0.7
    scores = TrainingFree().score(released, images)
    assert (scores.argmax(1) == np.arange(12)).mean() > 0.9


def test_few_probes_take_the_mean_of_the_gallery(images):
    """A single probe would otherwise be centred on itself and score nothing."""
    attacker = TrainingFree()
    one = np.concatenate([attacker.score(images[i : i + 1], images) for i in range(12)])
    np.testing.assert_allclose(one, attacker.score(images, images), atol=1e-5)


def test_flat_images_score_zero_and_not_nan(images):
    flat = torch.full_like(images, 0.5)
    assert (TrainingFree().score(flat, images) == 0).all()


def test_default_cell_is_an_eighth_of_the_side(images):
    a, b = TrainingFree(), TrainingFree(cell=6)
    assert (a.features(images) == b.features(images)).all()
    assert TrainingFree(cell=12).features(images).shape[1] < a.features(images).shape[1]


def test_fit_learns_nothing_and_gives_itself_back():
    attacker = TrainingFree()
    assert attacker.fit(Auxiliary(None, None, None, None), seed=0) is attacker
    assert attacker.knowledge == "ignorant"


def test_errors_say_what_was_wrong(images):
    with pytest.raises(UsageError, match=r"one size, got \(1, 48, 48\) and \(1, 24, 24\)"):
        TrainingFree().score(images, images[..., ::2, ::2])
    with pytest.raises(UsageError, match="cells of 32 pixels, the image only 48"):
        TrainingFree(cell=32).features(images)
    with pytest.raises(UsageError, match="at least 2 pixels, got 1"):
        TrainingFree(cell=1)
