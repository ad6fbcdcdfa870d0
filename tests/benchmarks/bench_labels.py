"""How well labels stay with their image: python tests/benchmarks/bench_labels.py COVID19 [OUT].

COVID19 is the folder of the COVID-19 Image Data Collection with ``images`` and ``annotations``. A
smooth random warp of μ = 0.05 moves it through a release; then each released mask is compared with
a simple segmentation of its released image, and points are taken there and back. Writes OUT (JSON).
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "release"))
from label_specimens import boxes_and_outlines, dice, lungs_of

import anonymize
from anonymize import flow
from anonymize.commands.interrupts import heard
from anonymize.release import pipeline
from anonymize.release.labels.motion import Motion
from anonymize.release.labels.options import LabelOptions
from anonymize.release.options import ReleaseOptions

COMMAND = "python tests/benchmarks/bench_labels.py COVID19"
METHOD = "random-warp:mu=0.05,size=32"
AGREES = 0.6  # Dice of a mask and the simple segmentation that makes the comparison worth a look


def main(root: str, out: str = "") -> None:
    root, results = Path(root), {"command": COMMAND, "method": METHOD}
    masks = {p.name: p for p in (root / "annotations/lungVAE-masks").iterdir()}
    images = {p.stem: p for p in (root / "images").iterdir()}
    with tempfile.TemporaryDirectory() as folder:
        own, released = Path(folder, "lungs.json"), Path(folder, "out")
        own.write_text(json.dumps(_boxes(masks, images)))
        given = ("lungVAE-masks", "lung_bounding_boxes.json")
        wanted = LabelOptions((*(root / "annotations" / name for name in given), own))
        start = time.perf_counter()
        model = anonymize.load(METHOD)
        summary = pipeline.apply(
            root / "images", released, model, ReleaseOptions(labels=wanted, workers=2)
        )
        results["seconds"] = round(time.perf_counter() - start, 1)
        results["images"], results["labels"] = summary.anonymized, summary.labels.released
        results["masks"] = _masks(masks, images, released)
        results["boxes"] = _moved_boxes(json.loads((released / "labels/lungs.json").read_text()))
    results["points"] = _points(list(images.values())[::9])
    print(json.dumps(results, indent=1))
    if out:
        Path(out).write_text(json.dumps(results, indent=1) + "\n")


def _boxes(masks: dict, images: dict) -> dict:
    """COCO of the lungs of the masks."""
    return boxes_and_outlines(
        (images[name.removesuffix("_mask.png")].name, np.asarray(Image.open(path)) > 0)
        for name, path in sorted(masks.items())
    )


def _masks(masks: dict, images: dict, released: Path) -> dict:
    """Dice with the simple segmentation: before, after, and had the mask not moved."""
    rows = []
    for name, path in masks.items():
        image = images[name.removesuffix("_mask.png")]
        before = np.asarray(Image.open(path)) > 0
        was = dice(before, lungs_of(np.asarray(Image.open(image).convert("L"))))
        if was < AGREES:
            continue
        there = lungs_of(np.asarray(Image.open(released / image.name).convert("L")))
        moved = np.asarray(Image.open(released / "labels/lungVAE-masks" / name)) > 0
        rows.append((was, dice(moved, there), dice(before, there), dice(before, moved)))
    names = ("dice_before", "dice_after", "dice_had_it_stayed", "dice_of_old_and_new_mask")
    means = {n: round(float(v), 4) for n, v in zip(names, np.mean(rows, 0), strict=True)}
    worst = round(float(np.abs(np.subtract(*np.transpose(rows)[:2])).max()), 4)
    return {"masks": len(masks), "compared": len(rows), **means, "largest_change": worst}


def _moved_boxes(content: dict) -> dict:
    """How far a moved box is from the box of the moved lung, and whether it encloses it."""
    alone, exact = content["annotations"][::2], content["annotations"][1::2]
    a = np.array([x["bbox"] for x in alone])
    b = np.array([x["bbox"] for x in exact])
    a[:, 2:] += a[:, :2]
    b[:, 2:] += b[:, :2]
    slack = np.concatenate([b[:, :2] - a[:, :2], a[:, 2:] - b[:, 2:]], 1)  # ≥ 0: encloses
    return {
        "boxes": len(a),
        "enclose_their_lung_within_1_px": int((slack.min(1) >= -1).sum()),
        "mean_slack_px": round(float(slack.mean()), 2),
        "largest_slack_px": round(float(slack.max()), 2),
    }


def _points(paths: list[Path]) -> dict:
    """There and back again: |p + d(p) − q| of a grid of points on each image, three fields."""
    rows = {}
    for spec in ("mu=0.01,size=64", "mu=0.05,size=32", "mu=0.05,size=256"):
        missed, folded, total, taken = 0.0, 0, 0, 0.0
        model = anonymize.load(f"random-warp:{spec}")
        for path in paths:
            image = np.asarray(Image.open(path).convert("L"), np.float32) / 255
            field = model.displacement(torch.from_numpy(image)[None, None])
            motion = Motion(image.shape[::-1], flow.pixels(field)[0].numpy())
            x, y = np.meshgrid(*(np.linspace(0, n, 40) for n in image.shape[::-1]))
            points = np.stack([x.ravel(), y.ravel()], 1)
            start = time.process_time()
            pushed = motion.push(points)
            taken += time.process_time() - start
            back = pushed.points + motion.at(pushed.points) - points
            missed = max(missed, float(np.linalg.norm(back, axis=1).max()))
            folded, total = folded + int(pushed.folded.sum()), total + len(points)
        rows[spec] = {
            "points": total,
            "largest_round_trip_px": round(missed, 6),
            "folded_points": folded,
            "microseconds_a_point": round(1e6 * taken / total, 1),
        }
    return rows


if __name__ == "__main__":
    with heard():  # real pictures go with their folders, whoever ends it
        main(*sys.argv[1:])
