"""The contrastive attacker: its loss, its batches, what it learns and what it never looks at."""

import json
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from identities import auc, image_set, owners_of, parts, strangers

from anonymize.errors import DataError, UsageError
from anonymize.training.compute import Compute
from attacks.attacker import Auxiliary
from attacks.attackers.contrastive import Contrastive, ContrastiveOptions, info_nce
from attacks.training.groups import Groups, Lessons, pair_masks
from attacks.training.learning import Learning
from attacks.training.lungs import LungCrop, read_boxes
from attacks.training.schedules import one_cycle_rate, step_rate

SMALL = ContrastiveOptions(
    architecture="compact", width=4, features=16, epochs=6, patients=8, rate=5e-3, flip=False
)


def shown(kinds):
    return SMALL.model_copy(update={"trained_on": kinds})


def test_info_nce_against_loops():
    torch.manual_seed(0)
    embeddings = torch.randn(7, 5)
    genuine = torch.zeros(7, 7, dtype=torch.bool)
    for i, j in ((0, 1), (0, 2), (1, 2), (3, 4)):
        genuine[i, j] = genuine[j, i] = True
    impostor = ~genuine & ~torch.eye(7, dtype=torch.bool)
    impostor[5, 6] = impostor[6, 5] = False  # two images of an unknown patient
    each = []
    for i in range(5):
        cosine = torch.nn.functional.cosine_similarity(embeddings[i], embeddings, dim=1) / 0.2
        among = sum(cosine[k].exp() for k in range(7) if genuine[i, k] or impostor[i, k])
        each.append(np.mean([-(cosine[k].exp() / among).log() for k in range(7) if genuine[i, k]]))
    found = info_nce(embeddings, genuine, impostor, temperature=0.2)
    assert float(found) == pytest.approx(np.mean(each), abs=1e-5)


def mixed_owners():
    """Patients of 5, 2 and 1 images, an unknown one of 3."""
    patient = np.array([0, 1, 0, 9, 0, 2, 9, 0, 1, 0, 9])
    return owners_of(patient, identified=patient != 9)


def drawn(**changed):
    lessons = Lessons(None, None, mixed_owners(), changed.pop("kinds", "mixed"))
    return lessons.groups(**{"images": 2, "singles": 0.0, "flip": True, "seed": 0} | changed)


@pytest.mark.parametrize("images", [2, 3, 4])
def test_groups_are_of_one_patient_and_leave_no_image_out(images):
    groups, owners = drawn(images=images), mixed_owners()
    assert groups.rows.shape[1] == images
    patients = owners.patient[groups.rows]
    assert (patients == patients[:, :1]).all()
    assert set(groups.rows.ravel()) == set(np.flatnonzero(owners.patient < 2))
    for row in groups.rows:
        own = (owners.patient == owners.patient[row[0]]).sum()
        assert len(set(row)) == min(images, own)


def test_single_images_are_repeated_and_drawn_anew():
    seen = set()
    for seed in range(20):
        groups = drawn(singles=0.4, seed=seed)
        repeated = groups.rows[(groups.rows == groups.rows[:, :1]).all(1)]
        assert len(repeated) == round(0.4 * 4 / 0.6)
        seen |= set(repeated.ravel())
    assert seen == {3, 5, 6, 10}


def test_kinds_of_images():
    shares = {
        kinds: drawn(kinds=kinds).real.mean(axis=0).tolist()
        for kinds in ("real", "released-released", "released-real")
    }
    assert shares == {"real": [1, 1], "released-released": [0, 0], "released-real": [0, 1]}
    assert 0.2 < np.mean([drawn(seed=s).real.mean() for s in range(20)]) < 0.8
    assert not drawn(flip=False).mirrored.any()
    assert 0.2 < np.mean([drawn(seed=s).mirrored.mean() for s in range(20)]) < 0.8


def test_compared_pairs_one_by_one():
    owners, groups = mixed_owners(), drawn(singles=0.4, images=3)
    chosen = np.array([2, 0, 3, 4])
    genuine, impostor = pair_masks(owners, groups, chosen)
    rows = groups.rows[chosen].ravel()
    mirrored = groups.mirrored[chosen].repeat(3)
    for i in range(len(rows)):
        for j in range(len(rows)):
            same = owners.patient[rows[i]] == owners.patient[rows[j]] and mirrored[i] == mirrored[j]
            known = owners.identified[rows[i]] or rows[i] == rows[j]
            assert genuine[i, j] == (same and known and i != j)
            assert impostor[i, j] == (not same)


def test_batches_never_compare_one_group_with_itself():
    nine = Groups(np.zeros((9, 2), int), np.zeros((9, 2), bool), np.zeros(9, bool))
    assert [len(b) for b in nine.batches(4)] == [4, 4]  # the ninth would be alone


# What it learns


@pytest.fixture(scope="module")
def trained():
    return Contrastive(SMALL).fit(parts(), seed=0)


def test_it_tells_patients_apart_that_it_never_saw(trained):
    unseen = image_set(20, seed=3)
    torch.manual_seed(0)
    fresh = Contrastive(SMALL)
    fresh.network = fresh.build()
    assert auc(trained, unseen) > 0.9
    assert auc(trained, unseen) > auc(fresh, unseen) + 0.05


def test_a_resumed_training_ends_bit_for_bit(trained, tmp_path):
    checkpoint = tmp_path / "attack.safetensors"
    stopped = Learning(checkpoint=checkpoint, epoch=Mock(side_effect=[None, KeyboardInterrupt]))
    with pytest.raises(KeyboardInterrupt):
        Contrastive(SMALL, learning=stopped).fit(parts(), seed=0)
    resumed = Contrastive(SMALL, learning=Learning(checkpoint=checkpoint)).fit(parts(), seed=0)
    for key, value in trained.network.state_dict().items():
        assert torch.equal(value, resumed.network.state_dict()[key]), key


def test_an_ignorant_attacker_never_looks_at_released_images():
    short = SMALL.model_copy(update={"epochs": 1})
    networks = []
    for seed in (1, 2):
        real = parts()
        sets = replace(
            real,
            released=strangers(real.real, seed),
            validation_released=strangers(real.validation_real, seed),
        )
        networks.append(Contrastive(short, knowledge="ignorant").fit(sets, seed=0).network)
    first, second = (network.state_dict() for network in networks)
    assert all(torch.equal(value, second[key]) for key, value in first.items())


def test_an_informed_attacker_learns_from_what_it_is_told_to():
    """Real training images of noise teach nothing: only who trains on released ones links."""
    sets, unseen = parts(real=strangers(parts().real)), image_set(20, seed=3)
    found = {
        kinds: auc(Contrastive(shown(kinds)).fit(sets, seed=0), unseen)
        for kinds in ("released-released", "released-real")
    }
    assert found["released-released"] > 0.9
    assert found["released-real"] < found["released-released"]


def test_mirrored_images_are_embedded_beside(trained):
    images = image_set(3, seed=4).images
    plain, mirror = trained.features(images), trained.features(images.flip(-1))
    half = plain.shape[1] // 2
    np.testing.assert_allclose(plain[:, :half], mirror[:, half:], atol=1e-6)
    assert not np.allclose(plain[:, :half], plain[:, half:], atol=1e-2)


@pytest.mark.parametrize(
    "changed",
    [
        {"architecture": "gradients"},
        {"architecture": "two-stream"},
        {"architecture": "resnet18"},
        {"images": 4, "singles": 0.5, "affine": True},
        {"schedule": "1cycle", "weight_decay": 0.1, "erase": 0.0, "photometric": False},
    ],
)
def test_options_train(changed):
    options = SMALL.model_copy(update={"epochs": 1, "patients": 4, **changed})
    compute = Compute(torch.device("cpu"), accumulation=2)
    train, validation = image_set(6, seed=1), image_set(3, seed=2, first=100)
    few = Auxiliary(train, train, validation, validation)
    attacker = Contrastive(options, learning=Learning(compute)).fit(few, seed=0)
    few = image_set(3, seed=5).images
    assert attacker.score(few, few).shape == (12, 12)


def test_a_training_that_diverges_is_an_error():
    wild = SMALL.model_copy(update={"rate": 1e30})
    with pytest.raises(UsageError, match="training of the contrastive diverged in epoch 1"):
        Contrastive(wild).fit(parts(), seed=0)


def test_rates_over_a_training():
    assert [step_rate(d, 1.0) for d in (0, 0.49, 0.5, 1)] == [1, 1, 0.2, 0.2]
    at = [one_cycle_rate(d, 1.0) for d in (0, 0.3, 1)]
    assert at == pytest.approx([1 / 25, 1, 1e-4])
    falling = [one_cycle_rate(d, 1.0) for d in np.linspace(0.3, 1, 20)]
    assert falling == sorted(falling, reverse=True)


# Lungs


def test_a_crop_shows_the_box():
    images = image_set(1, each=2)
    boxes = np.array([[0.25, 0.5, 0.75, 1.0], [np.nan] * 4])
    cropped = LungCrop(boxes, margin=0.0)(images)
    part = images.images[:1, :, 16:, 8:24].float()
    expected = torch.nn.functional.interpolate(part, (32, 32), mode="bilinear")
    inside = np.s_[:, :, 2:-2, 2:-2]  # at the border the crop sees beyond the box
    assert (cropped.images[:1].float() - expected)[inside].abs().max() <= 1
    assert torch.equal(cropped.images[1], images.images[1])
    wider = LungCrop(boxes, margin=0.5)(images).images[0]
    assert not torch.equal(wider, cropped.images[0])


def test_an_attacker_looks_at_the_lungs_alone():
    """Outside the boxes all images are noise of their own."""
    boxes = np.tile([0.25, 0.25, 0.75, 0.75], (20000, 1))
    attacker = Contrastive(SMALL, crop=LungCrop(boxes, margin=0.0)).fit(parts(), seed=0)
    images = image_set(4, seed=6)
    outside = strangers(images).images
    outside[:, :, 8:24, 8:24] = images.images[:, :, 8:24, 8:24]
    changed = replace(images, images=outside)
    scores = [attacker.link(s, s) for s in (images, changed)]
    np.testing.assert_allclose(*scores, atol=0.2)
    assert not np.allclose(attacker.score(outside, outside), scores[0], atol=0.2)


def test_boxes_from_coco_and_csv(tmp_path, shared):
    ids = ["a.png", "b.png", "c.png"]
    coco = {
        "images": [{"id": 7, "file_name": "x/b.png", "width": 200, "height": 100}],
        "annotations": [
            {"image_id": 7, "bbox": [20, 10, 50, 60]},
            {"image_id": 7, "bbox": [100, 5, 60, 80]},
        ],
    }
    path = tmp_path / "boxes.json"
    path.write_text(json.dumps(coco))
    expected = [[np.nan] * 4, [0.1, 0.05, 0.8, 0.85], [np.nan] * 4]
    np.testing.assert_allclose(read_boxes(path, ids), expected)
    table = tmp_path / "boxes.csv"
    table.write_text(
        "image_id,left,top,right,bottom\nb.png,0.1,0.1,0.35,0.7\nb.png,0.5,0.05,0.8,0.85\n"
    )
    np.testing.assert_allclose(read_boxes(table, ids), expected)
    lungs = shared / "data" / "covid19" / "annotations" / "lung_bounding_boxes.json"
    names = [p.name for p in (shared / "data" / "covid19" / "images").iterdir()]
    found = read_boxes(lungs, names)
    assert np.isfinite(found).all()
    assert (found[:, :2] < found[:, 2:]).all()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("b.json", "[]", "must be COCO JSON"),
        ("b.json", "{", "must be COCO JSON"),
        ("b.csv", "image_id,left\na,1\n", "must be COCO JSON"),
        ("b.csv", "image_id,left,top,right,bottom\na,1,0,0,1\n", "left < right"),
        ("b.csv", "image_id,left,top,right,bottom\nz,0,0,1,1\n", "names no image"),
        ("absent.csv", None, "cannot be read"),
    ],
)
def test_boxes_that_are_none(tmp_path, name, text, message):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_boxes(path, ["a"])
