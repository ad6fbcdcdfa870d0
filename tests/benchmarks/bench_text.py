"""How much burned-in text is found and removed: python tests/benchmarks/bench_text.py COUNT [OUT].

COUNT made-up texts on phantoms, then names of every size and contrast; and where the folder of real
radiographs is, ``originals`` and a sample of ``covid19`` whose texts were marked by eye. Writes OUT
(JSON), by default nothing.
"""

import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps
from scipy.ndimage import binary_closing

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "release"))
from text_specimens import gray, letters, specimens  # noqa: E402

from anonymize.release.burned_in import find, policy, reader, remove, views  # noqa: E402
from anonymize.release.burned_in.options import TextOptions  # noqa: E402
from anonymize.release.reasons import Refused  # noqa: E402

SHARED = HERE.parents[2] / "shared" / "data"
TRUTH = HERE.parent / "release" / "burned_in_truth.json"
REMOVE = TextOptions("remove")
WHOLE, NOTHING = 0.99, 0.05  # of the strokes
HEIGHTS, STEPS = (10, 16, 28, 56), (2, 5, 10, 20, 40)  # pixels of 1024, gray levels of 255
FACTORS = ("kind", "font", "height", "tone", "angle", "place")


def made_up(count: int) -> dict:
    """What became of the strokes of ``count`` texts; by each of their properties."""
    outcomes, spoiled = [], []
    for specimen in specimens(count):
        made = _cleaned(gray(specimen.picture))
        if made is None:
            outcomes.append((specimen, "quarantined"))
            continue
        clean = made.pixels
        filled = (clean[..., 0] != specimen.picture) | (clean[..., 0] == specimen.clean)
        filled = binary_closing(np.pad(filled, 1), np.ones((3, 3)))[1:-1, 1:-1]  # alike by chance
        gone = (filled & specimen.strokes).sum() / max(specimen.strokes.sum(), 1)
        outcome = "removed" if gone >= WHOLE else "in part" if gone > NOTHING else "missed"
        if outcome != "removed" and _is_seen(made):
            outcome = "quarantined"
        outcomes.append((specimen, outcome))
        spoiled.append(((clean[..., 0] != specimen.picture) & ~specimen.strokes).mean())
    table = defaultdict(lambda: defaultdict(int))
    for specimen, outcome in outcomes:
        table["all"][outcome] += 1
        for factor in FACTORS:
            table[f"{factor} {getattr(specimen, factor)}"][outcome] += 1
    rows = {name: dict(table[name]) for name in sorted(table)}
    return {"specimens": count, "area_filled_beside": float(np.mean(spoiled)), "outcomes": rows}


def by_contrast(noise: float = 2.0, places: int = 3) -> dict:
    """Removed or quarantined of ``places`` names: {height in pixels of 1024: {gray levels: n}}.

    On phantoms with normal noise of ``noise`` of 255 gray levels.
    """
    rng = np.random.default_rng(0)
    pictures = [one.clean for one in specimens(places)]
    table = {}
    for height in HEIGHTS:
        drawn = letters("DOE^JANE 1957", "sans", height, 0) / 255
        for step in STEPS:
            held = 0
            for clean in pictures:
                picture = clean + rng.normal(0, noise, clean.shape)
                room = np.subtract(clean.shape, drawn.shape)
                top, left = (rng.uniform(0.1, 0.9, 2) * room).astype(int)
                part = picture[top : top + drawn.shape[0], left : left + drawn.shape[1]]
                part += drawn * (step if part.mean() < 128 else -step)
                before = gray(np.round(picture.clip(0, 255)).astype(np.uint8))
                made = _cleaned(before)
                if made is None:
                    held += 1
                    continue
                changed = (made.pixels != before.pixels)[top:, left:, 0]
                gone = changed[: drawn.shape[0], : drawn.shape[1]][drawn > 0.4].mean()
                held += bool(gone >= 0.95) or _is_seen(made)
            table.setdefault(height, {})[step] = held
    return {"noise": noise, "of": places, "removed_or_quarantined": table}


def _cleaned(radiograph):
    """``radiograph`` without its text; None where some may be left."""
    try:
        return policy.clean(radiograph, REMOVE)[0]
    except Refused:
        return None


def _is_seen(radiograph) -> bool:
    try:
        policy.look_again(radiograph, REMOVE)
    except Refused:
        return True
    return False


def marked(name: str, folder: Path) -> dict:
    """Marks that were found, by kind; and lines that were no text."""
    truth = json.loads(TRUTH.read_text())[name]
    counts, wrong, pictures_wrong, taken = defaultdict(lambda: [0, 0]), 0, 0, []
    for file, marks in truth.items():
        image = ImageOps.exif_transpose(Image.open(folder / file))
        picture = np.asarray(image.convert("L" if image.mode in ("L", "1") else "RGB"))
        start = time.process_time()
        radiograph = gray(picture)
        text, markers = find.find(views.views(radiograph), picture.shape[:2])
        taken.append(time.process_time() - start)
        found = remove.region(text + markers, radiograph.pixels)
        for kind, left, top, right, bottom in marks:
            counts[kind][0] += found[top : bottom + 1, left : right + 1].mean() >= 0.7
            counts[kind][1] += 1
        here = sum(not any(_touch(line.box, mark[1:]) for mark in marks) for line in text)
        wrong, pictures_wrong = wrong + here, pictures_wrong + (here > 0)
    return {
        "pictures": len(truth),
        "found": {kind: f"{a} of {b}" for kind, (a, b) in sorted(counts.items())},
        "lines_that_are_no_text": wrong,
        "pictures_with_such_lines": pictures_wrong,
        "cpu_seconds_a_look": round(float(np.mean(taken)), 2),
    }


def _touch(a, b) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])


def main(count: int = 240, out: str = "") -> None:
    command = f"python tests/benchmarks/bench_text.py {count}"
    results = {"command": command, "ocr": reader.name(), "made_up": made_up(count)}
    results["by_contrast"] = by_contrast()
    for name, folder in (("originals", "originals"), ("covid19", "covid19/images")):
        if (SHARED / folder).is_dir():
            results[name] = marked(name, SHARED / folder)
    columns = ("removed", "quarantined", "in part", "missed")
    print(f"{'made-up text':<24}" + "".join(f"{column:>12}" for column in columns))
    for row, outcomes in results["made_up"]["outcomes"].items():
        print(f"{row:<24}" + "".join(f"{outcomes.get(column, 0):>12}" for column in columns))
    for name in ("by_contrast", "originals", "covid19"):
        print(name, json.dumps(results.get(name)))
    if out:
        Path(out).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main(*(int(a) if a.isdigit() else a for a in sys.argv[1:]))
