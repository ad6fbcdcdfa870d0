"""Folders of few images, and what a cache of them should hold."""

from types import SimpleNamespace

import numpy as np
from film_folders import folder_of

from anonymize.data.cache import prepare
from anonymize.data.sources.registry import read
from anonymize.options import DataOptions

SIZE = 16


def make_folder(root, count, deep=(), prefix=""):
    """Images of noise, the rows in ``deep`` of 16 bits, two a patient; ``prefix`` begins names."""
    rng, numbers = np.random.default_rng(5), range(count)
    kinds = [(65536, np.uint16) if i in deep else (256, np.uint8) for i in numbers]
    pixels = [rng.integers(0, high, (20, 27), kind) for high, kind in kinds]
    names, patients = [f"{prefix}{i}.png" for i in numbers], [f"{prefix}{i // 2}" for i in numbers]
    labels = ["Mass" if i % 3 else "" for i in numbers]
    return folder_of(root, pixels, patients, names, labels=labels)


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
