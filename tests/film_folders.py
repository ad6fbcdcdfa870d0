"""Data sets of the reader `folder`: small PNG files, and a CSV of whose they are."""

import pandas as pd
from PIL import Image


def folder_of(path, pixels, patients, names=None, **columns):
    """Files of these pixels in ``path``, by default called 0.png and on; gives the path."""
    names = names or [f"{number}.png" for number in range(len(pixels))]
    for name, image in zip(names, pixels, strict=True):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path / name)
    listed = pd.DataFrame({"path": names, "patient_id": [*patients], **columns})
    listed.to_csv(path / "list.csv", index=False)
    return path
