"""`attacks release` as the tests ask for it, and what it finds."""

import json

import asked
import numpy as np
from PIL import Image

from attacks.cli import main


def ask(a_release, *arguments, code=0):
    attackers = ("--attackers", "training-free,format,identical")
    return asked.ask(main, "release", *a_release[1], *attackers, *arguments, code=code)


def found_in(out):
    """What release.json holds."""
    return json.loads((out / "release.json").read_text())


def by_attacker(found):
    """How many files each attacker finds."""
    return {a["attacker"]: a["found"]["found"] for a in found["attacks"]}


def write_noise(path, seed, *, height=40, inverted=False):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, 40), np.uint8)
    Image.fromarray(255 - pixels if inverted else pixels).save(path)
