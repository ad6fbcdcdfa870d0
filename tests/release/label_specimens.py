"""Label files and the shapes that tests put on images."""

import gzip
import json

import numpy as np
from PIL import Image
from release_specimens import pillow, saved, scene
from skimage.filters import gaussian, threshold_otsu
from skimage.measure import label
from skimage.segmentation import clear_border

from anonymize.release.labels import rle

SIZE = (52, 40)  # W, H of the images


def ellipse(size=SIZE, centre=(27, 20), axes=(14, 9)):
    """bool (H, W)."""
    y, x = np.mgrid[: size[1], : size[0]] + 0.5
    return ((x - centre[0]) / axes[0]) ** 2 + ((y - centre[1]) / axes[1]) ** 2 < 1


def box_of(mask):
    """x, y, width, height of a mask."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    x, y = columns[0], rows[0]
    return [float(n) for n in (x, y, columns[-1] + 1 - x, rows[-1] + 1 - y)]


def png_mask(mask, mode=None):
    return pillow(mask.astype(np.uint8) * 255, "PNG", mode)


def palette_mask(values):
    image = Image.fromarray(values.astype(np.uint8))
    image.putpalette([0, 0, 0, 250, 5, 5, 5, 250, 5, 77, 78, 79])
    return saved(image, "PNG")


def nifti_mask(values, *, compressed=True, axes=3):
    import nibabel

    array = values.T.astype(np.int16).reshape(*values.T.shape, *[1] * (axes - 2))
    image = nibabel.Nifti1Image(array, np.diag([-0.2, -0.2, 1, 1]))
    image.header["descrip"] = b"DOE^JANE"
    data = image.to_bytes()
    return gzip.compress(data) if compressed else data


def coco(images, annotations, **more):
    """``images``: file names; ``annotations``: (image number from 1, fields)."""
    sides = {"width": SIZE[0], "height": SIZE[1]}
    content = {
        "info": {"description": "DOE^JANE", "contributor": "DOE^JANE"},
        "licenses": [{"name": "DOE^JANE"}],
        "images": [
            {"id": 11 * i, "file_name": n, **sides, "flickr": "DOE^JANE"}
            for i, n in enumerate(images, 1)
        ],
        "annotations": [
            {"id": 100 + k, "image_id": 11 * i, "category_id": 1, "note": "DOE^JANE", **fields}
            for k, (i, fields) in enumerate(annotations)
        ],
        "categories": [{"id": 1, "name": "lung", "supercategory": "DOE^JANE"}],
        **more,
    }
    return json.dumps(content).encode()


def picture(mask):
    """A PNG whose bright region is ``mask``."""
    return pillow((40 + 160 * mask + scene(30)).astype(np.uint8), "PNG")


def posterised(picture, levels):
    """A picture in so many levels, each as often as another."""
    return np.digitize(picture, np.quantile(picture, np.arange(1, levels) / levels))


def dice(one, other):
    return 2 * (one & other).sum() / (one.sum() + other.sum())


def lungs_of(image):
    """A simple segmentation of an 8-bit radiograph: the two largest dark regions within it."""
    smooth = gaussian(image / 255, 3)
    height, width = image.shape
    dark = smooth < threshold_otsu(smooth[height // 6 : -height // 8, width // 8 : -width // 8])
    regions = label(clear_border(dark))
    sizes = np.bincount(regions.ravel())[1:]
    largest = 1 + np.argsort(sizes)[::-1][:2]
    return np.isin(regions, largest)


def components(mask):
    """The two largest parts of a mask, from left to right, each bool (H, W)."""
    regions = label(mask)
    sizes = np.bincount(regions.ravel())[1:]
    largest = [regions == 1 + i for i in np.argsort(sizes)[::-1][:2]]
    return sorted(largest, key=lambda part: part.any(axis=0).argmax())


def boxes_and_outlines(masks):
    """COCO of each lung of ``masks`` (file name, mask): a box alone, and run lengths with it."""
    images, annotations = [], []
    for i, (name, mask) in enumerate(masks, 1):
        images.append({"id": i, "file_name": name, "width": mask.shape[1], "height": mask.shape[0]})
        for part in components(mask):
            box = {"image_id": i, "category_id": 1, "bbox": box_of(part), "area": 1.0, "iscrowd": 0}
            for more in ({}, {"segmentation": rle.encode(part, as_string=True)}):
                annotations.append({"id": len(annotations) + 1, **box, **more})
    return {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "lung"}]}
