"""A release of sets as an evaluation sees it: one row an image, as of every other method.

Row i is an output to which image i contributed. Where there are several, the rows share them out,
and outputs that are then left have rows of their own after those of the images, so that attackers
and classifiers see every output. An image that is in none, because it was withheld, is left out
wherever the method is measured, as a probe and as a picture that the adversary knows.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from torch import Tensor

from anonymize import whole_file
from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages, Rows
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.data.table import PARTS
from anonymize.errors import DataError, counted
from anonymize.set_anonymizer import Radiographs, SetAnonymizer, SetRelease
from attacks.measuring.metrics import Contributors


@dataclass(frozen=True)
class PartFigures:
    """What became of a part: how many outputs, of how many groups of patients, and of
    `SetRelease.bound`."""

    outputs: int
    groups: int
    bound: float | None


class Released(HeldImages):
    """Released images, one a row of a table, and outputs that are more.

    Attributes:
        image: int64 (R,), the row of the table that each stands for; of the first N its own.
        there: bool (N,), something was released of the image.
        contributors: who went into each row; None where everybody stands alone.
        parts: what became of each part of the table; {} likewise.
        labels: float32 (R, L), what the method says of each row, of the labels that it was told;
            None where it says nothing.
        seconds: that an image took, where it was measured.
        learnt: its method has learnt in this process, and not in one that kept the release.
    """

    seconds, learnt = 0.0, True

    def __init__(
        self,
        pixels: Tensor,
        there: np.ndarray | None = None,
        contributors: Contributors | None = None,
        parts: dict[str, PartFigures] | None = None,
        labels: np.ndarray | None = None,
        image: np.ndarray | None = None,
    ) -> None:
        super().__init__(pixels)
        self.image = np.arange(len(pixels)) if image is None else image
        self.there = np.ones(len(pixels), bool) if there is None else there
        self.contributors, self.parts, self.labels = contributors, parts or {}, labels

    def of(self, rows: np.ndarray) -> np.ndarray:
        """What was released of the ``rows`` of a table."""
        return standing_for(rows, self.there, self.image)

    def write(self, file: Path) -> None:
        """Keeps it in a file that :meth:`read` takes."""
        arrays: dict[str, Any] = {"pixels": self.pixels.numpy()}
        arrays |= {"there": self.there, "rows": self.image}
        if self.contributors is not None:
            arrays |= vars(self.contributors)
        if self.labels is not None:
            arrays["labels"] = self.labels
        told = {"seconds": self.seconds, "parts": {k: asdict(v) for k, v in self.parts.items()}}
        with whole_file.replacing(file) as path, path.open("wb") as stream:
            np.savez(stream, told=np.array(json.dumps(told)), **arrays)

    @classmethod
    def read(cls, file: Path) -> Self:
        """What :meth:`write` kept."""
        with np.load(file) as kept:
            told = json.loads(str(kept["told"]))
            names = [field for field in Contributors.__annotations__ if field in kept]
            found = cls(
                torch.from_numpy(kept["pixels"]),
                kept["there"],
                Contributors(*(kept[name] for name in names)) if names else None,
                {part: PartFigures(**one) for part, one in told["parts"].items()},
                kept.get("labels"),
                kept["rows"],
            )
        found.seconds, found.learnt = told["seconds"], False
        return found


def released_by(model: Anonymizer, data: Dataset, *, device: torch.device, bits: int) -> Released:
    """What a method makes of a data set, rounded to ``bits`` (8 or 16); each part by itself, where
    it sees a set, so that nobody who is judged had a part in what was learnt from.

    Raises DataError: a part of which nothing is released."""
    if not isinstance(model, SetAnonymizer):
        return Released(released_images(model, data.images, device=device, bits=bits).pixels)
    told = data.told.targets
    sets = {part: radiographs(data, data.table.part(part)) for part in PARTS}
    model.fit(sets["train"])
    shape, count = data.images.batch(np.zeros(0, int)).shape[1:], len(data.table)
    pixels = [torch.zeros((count, *shape), dtype=torch.uint8 if bits == 8 else None)]
    said = [np.full(told.shape, np.nan, np.float32)]
    image = [np.arange(count)]
    made_of: list[np.ndarray] = [np.zeros(0, np.int64)] * count
    parts: dict[str, PartFigures] = {}
    for part, given in sets.items():
        rows, release = data.table.part(part), model.released(given)
        if not len(release):
            people = counted(len(np.unique(data.patients[rows])), "patient")
            raise DataError(
                f"method {model.name} releases nothing of the {part} part, which has {people} "
                f"where every output needs {model.people}; use more patients, fewer an "
                "output, or a smaller pool"
            )
        parts[part] = PartFigures(len(release), len(np.unique(release.groups)), release.bound)
        stored = stored_levels(release, pixels[0].dtype)
        stands_for, left = shared_out(release.contributors)
        own, numbers = np.array([*stands_for.items()]).T
        pixels[0][rows[own]] = stored[numbers]
        pixels.append(stored[[*left]])
        for one, number in stands_for.items():
            made_of[rows[one]] = rows[release.contributors[number]]
        made_of += [rows[release.contributors[number]] for number in left]
        image.append(rows[np.array([*left.values()], np.int64)])
        if release.labels is not None:
            said[0][rows[own]] = release.labels[numbers]
            said.append(release.labels[[*left]])
    return Released(
        torch.cat(pixels),
        np.array([len(one) > 0 for one in made_of[:count]]),
        contributors_of(made_of, data),
        parts,
        np.concatenate(said) if model.says else None,
        np.concatenate(image),
    )


def radiographs(data: Dataset, rows: np.ndarray) -> Radiographs:
    """Rows of a data set as a method of sets is given them."""
    names = data.table.frame["image_id"].to_numpy()[rows].tolist()
    return Radiographs(Rows(data.images, rows), data.patients[rows], data.told.targets[rows], names)


def stored_levels(release: SetRelease, dtype: torch.dtype) -> Tensor:
    """The outputs (M, 1, H, W) rounded as files hold them: uint8, or 16 bits as float32."""
    largest = 255 if dtype == torch.uint8 else 65535
    levels = (release.images.batch(np.arange(len(release))) * largest).round()
    return levels.to(torch.uint8) if dtype == torch.uint8 else levels / largest


def standing_for(rows: np.ndarray, there: np.ndarray, image: np.ndarray) -> np.ndarray:
    """Rows of a release, in which each row stands for an ``image`` (R,) of a table, that stand for
    the table's ``rows``; ``there`` (N,) says of which something was released."""
    more = np.arange(len(there), len(image))
    return np.concatenate((rows[there[rows]], more[np.isin(image[more], rows)]))


def shared_out(contributors: Sequence[np.ndarray]) -> tuple[dict[int, int], dict[int, int]]:
    """Which of the outputs stands for each image: one that it contributed to, and as many different
    ones as can be (a largest matching of outputs and images); of what then is left, the one that
    was taken least. And for which image each output stands that stands for none: the contributor
    that has fewest by then.

    Args:
        contributors: of each output the images that went into it, by number.
    """
    outputs = np.repeat(np.arange(len(contributors)), [len(one) for one in contributors])
    images = np.concatenate([np.zeros(0, np.int64), *contributors])
    size = (len(contributors), int(images.max(initial=-1)) + 1)
    holds = csr_array((np.ones(len(images), bool), (outputs, images)), shape=size)
    found = {
        int(image): output
        for output, image in enumerate(maximum_bipartite_matching(holds, perm_type="column"))
        if image >= 0
    }
    taken = np.bincount(list(found.values()), minlength=len(contributors))
    in_output = holds.T.tocsr()
    for image in np.unique(images).tolist():
        if image not in found:
            of = in_output.indices[in_output.indptr[image] : in_output.indptr[image + 1]]
            found[image] = int(of[taken[of].argmin()])
            taken[found[image]] += 1
    has, left = np.zeros(size[1], int), {}
    for output in np.flatnonzero(taken == 0).tolist():
        left[output] = int(contributors[output][has[contributors[output]].argmin()])
        has[left[output]] += 1
    return found, left


def contributors_of(made_of: Sequence[np.ndarray], data: Dataset) -> Contributors:
    """Of rows of a release, by the images that each was made of."""
    most = max((len(images) for images in made_of), default=1)
    image = np.full((len(made_of), max(most, 1)), -1, np.int64)
    for row, images in enumerate(made_of):
        image[row, : len(images)] = images
    whose = np.where(image >= 0, data.patients[image], -1)
    known = data.table.frame["identified"].to_numpy(bool)[image]
    return Contributors(image, np.where(known, whose, -1), np.where(known, -1, whose))
