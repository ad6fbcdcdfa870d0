"""The lungs of real radiographs: masks and boxes move with them."""

import io
import json

import numpy as np
import pytest
from label_specimens import box_of, boxes_and_outlines, components, dice, lungs_of
from PIL import Image
from release_specimens import Wave, fill, pixels

from anonymize.release.labels.options import LabelOptions

# Images on which a threshold finds the lungs that the mask shows.
IMAGES = (
    "covid-19-pneumonia-53.jpg",
    "covid-19-pneumonia-30-PA.jpg",
    "kjr-21-e24-g001-l-a.jpg",
    "jkms-35-e79-g001-l-a.jpg",
    "wong-0000.jpg",
)


def by_image(content):
    """Boxes (N, 4) by the name of their image."""
    names = {image["id"]: image["file_name"] for image in content["images"]}
    boxes = {}
    for annotation in content["annotations"]:
        boxes.setdefault(names[annotation["image_id"]], []).append(annotation["bbox"])
    return boxes


@pytest.fixture(scope="module")
def lungs(shared):
    folder = shared / "data/covid19"
    files = {name: (folder / "images" / name).read_bytes() for name in IMAGES}
    names = [f"{name[:-4]}_mask.png" for name in IMAGES]
    masks = {name: (folder / "annotations/lungVAE-masks" / name).read_bytes() for name in names}
    return files, masks, (folder / "annotations/lung_bounding_boxes.json").read_bytes()


@pytest.mark.whole
def test_masks_and_boxes_of_lungs_move_with_them(lungs, release, tmp_path):
    files, masks, boxes = lungs
    folder = tmp_path / "given"
    fill(folder, {"boxes.json": boxes, **{f"masks/{name}": d for name, d in masks.items()}})
    before = {name: pixels(masks[f"{name[:-4]}_mask.png"]) for name in files}
    (folder / "instances.json").write_text(json.dumps(boxes_and_outlines(before.items())))
    wanted = LabelOptions(tuple(folder / p for p in ("masks", "boxes.json", "instances.json")))
    result = release(files, Wave(0.05), labels=wanted)
    assert result.summary.anonymized == len(files)

    agreement = []
    for name in files:
        image = np.asarray(Image.open(io.BytesIO(files[name])).convert("L"))
        moved_image = np.asarray(Image.open(io.BytesIO(result.files[name])).convert("L"))
        moved = pixels(result.files[f"labels/masks/{name[:-4]}_mask.png"])
        own = lungs_of(moved_image)
        agreement.append(
            (dice(before[name], lungs_of(image)), dice(moved, own), dice(before[name], own))
        )
    was, now, if_it_had_stayed = np.mean(agreement, 0)
    assert was > 0.75
    assert abs(now - was) < 0.02
    assert if_it_had_stayed < was - 0.02

    content = json.loads(result.files["labels/instances.json"])
    for image in content["images"]:
        moved = pixels(result.files[f"labels/masks/{image['file_name'][:-4]}_mask.png"])
        lungs_there = components(moved)
        mine = [a for a in content["annotations"] if a["image_id"] == image["id"]]
        for lung, alone, with_runs in zip(lungs_there, mine[::2], mine[1::2], strict=True):
            x, y, w, h = box_of(lung)
            assert np.abs(np.array(with_runs["bbox"]) - (x, y, w, h)).max() <= 1
            assert with_runs["area"] == pytest.approx(lung.sum(), rel=0.005)
            left, top, width, height = alone["bbox"]  # encloses whatever the old one enclosed
            assert left <= x + 1
            assert top <= y + 1
            assert left + width >= x + w - 1
            assert top + height >= y + h - 1

    given = by_image(json.loads(boxes))
    made = json.loads(result.files["labels/boxes.json"])
    assert {i["file_name"] for i in made["images"]} == set(files)
    assert len(made["annotations"]) == 2 * len(files)
    for image, found in by_image(made).items():
        assert len(found) == len(given[image]) == 2
        for old, new in zip(np.array(given[image]), np.array(found), strict=True):
            middle = old[:2] + old[2:] / 2
            assert 2 < np.abs(new - old).max() < 40
            assert np.linalg.norm(new[:2] + new[2:] / 2 - middle) < 40
    assert result.summary.labels.without_image == 455 - len(files)
