"""Two folders of small images that share patients, and an attacker taught on a third."""

import csv

from film_folders import folder_of
from identities import SIDE, image_set
from PIL import Image

SHARED = 12  # patients with images in both folders
STRANGERS = 18  # in either folder alone
EACH = 4  # images of a patient


def collections(folder):
    """Writes A and B below ``folder``; gives the patient of each file, by (folder, name)."""
    drawn = image_set(SHARED + 2 * STRANGERS, each=EACH, seed=5)
    owner = {}
    for row, (pixels, patient) in enumerate(zip(drawn.images, drawn.owners.patient, strict=True)):
        if patient < SHARED:
            name = "AB"[row % EACH % 2]
        else:
            name = "AB"[patient % 2]
        file = f"{name}{row:03d}.png"
        (folder / name).mkdir(exist_ok=True)
        Image.fromarray(pixels[0].numpy()).save(folder / name / file)
        owner[name, file] = f"p{patient}"
    return owner


def taught_on(folder):
    """Arguments: what an attacker learns from, other patients."""
    known, drawn = folder / "known", image_set(60, each=EACH, seed=6)
    folder_of(known, drawn.images[:, 0].numpy(), [f"k{p}" for p in drawn.owners.patient])
    settings = {
        "data.size": SIDE,
        "data.workers": 1,
        "data.cache": folder / "cache",
        "evaluation.resamplings": 50,
    }
    changes = [part for item in settings.items() for part in ("--set", "{}={}".format(*item))]
    return ["--source", "folder", "--root", str(known), *changes]


def read_table(path):
    """The lines of a CSV."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
