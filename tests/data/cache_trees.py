"""Folders of few images, and what a cache of them should hold."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from PIL import Image

from anonymize.data.cache import prepare
from anonymize.data.sources.registry import read
from anonymize.options import DataOptions

SIZE = 16


def make_folder(root, count, deep=(), prefix=""):
    """Images of noise, the rows in ``deep`` of 16 bits, two a patient; ``prefix`` begins names."""
    root.mkdir()
    rng = np.random.default_rng(5)
    for i in range(count):
        kind, high = (np.uint16, 65536) if i in deep else (np.uint8, 256)
        Image.fromarray(rng.integers(0, high, (20, 27), kind)).save(root / f"{prefix}{i}.png")
    owners = {f"{prefix}{i}.png": f"{prefix}{i // 2}" for i in range(count)}
    rows = pd.DataFrame({"path": owners.keys(), "patient_id": owners.values()})
    rows["labels"] = ["Mass" if i % 3 else "" for i in range(count)]
    rows.to_csv(root / "list.csv", index=False)
    return root


def folder_table(root, **options):
    return read(DataOptions(source="folder", root=root, **options))


def prepared(table, folder, progress=None, **options):
    """The table and its cached images, by one process unless the options say otherwise."""
    given = {"size": SIZE, "workers": 1, "cache": folder} | options
    return prepare(table, DataOptions(**given), progress)


def expected(table, rows, size=SIZE):
    """The slow way: one file after the other."""
    images = [table.load(SimpleNamespace(path=table.frame["path"][row]), size) for row in rows]
    if any(image.dtype == np.uint16 for image in images):
        eight = [image.dtype == np.uint8 for image in images]
        scaled = [im.astype(int) * (257 if e else 1) for im, e in zip(images, eight, strict=True)]
        return np.array(scaled, np.uint16)
    return np.array(images, np.uint8)
