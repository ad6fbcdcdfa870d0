"""Radiographs for the page: examples in four layers, whom attackers take them for, and pairs.

Every picture is on the page once, as a PNG in a data address, however often it is shown.
"""

import base64
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field

import matplotlib as mpl
import numpy as np
from PIL import Image
from torch import Tensor

from attacks.evaluation.evaluate import Evaluation
from attacks.measuring.extremes import KINDS, PairPictures
from attacks.reporting.harmless import harmless
from attacks.reporting.kept import LARGEST
from attacks.reporting.pictures.examples import most
from attacks.reporting.pictures.pair_words import SHOWN, TITLES, in_words

ARROWS = 12  # across a picture
LAYERS = ("real", "released", "difference", "displacement")


@dataclass
class Shelf:
    """Data addresses by the id under which the page has them."""

    pictures: dict[str, str] = field(default_factory=dict)

    def add(self, levels: np.ndarray) -> str:
        """The id of a picture: uint8 (H, W) or (H, W, 3)."""
        picture, buffer = Image.fromarray(levels), io.BytesIO()
        picture.thumbnail((LARGEST, LARGEST))
        picture.save(buffer, "PNG", optimize=True)
        name = f"p{hashlib.sha256(buffer.getvalue()).hexdigest()[:12]}"
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        self.pictures[name] = f"data:image/png;base64,{data}"
        return name

    def gray(self, image: Tensor) -> str:
        """The same of (1, H, W) in [0, 1]."""
        return self.add(np.round(image[0].numpy().clip(0, 1) * 255).astype(np.uint8))

    def coloured(self, values: np.ndarray, colours: str) -> str:
        """The same of (H, W) in [0, 1] by a colour map of matplotlib."""
        shown = mpl.colormaps[colours](np.clip(values, 0, 1), bytes=True)[..., :3]
        return self.add(np.ascontiguousarray(shown))


@dataclass(frozen=True)
class Cell:
    """One patient, by the names of ``LAYERS`` the ids of those that there are; none where nothing
    was released. ``arrows`` is a path in a square of 1."""

    layers: dict[str, str]
    arrows: str = ""


@dataclass(frozen=True)
class Examples:
    """A method by its number, the same patients of each, and what its scales end at: of 1, and in
    pixels."""

    method: int
    cells: list[Cell]
    change: float
    moved: float | None


@dataclass(frozen=True)
class Search:
    """A method's attacker and a patient: the released picture, those it is taken for with whether
    they are of the same patient, the rank of the first that is, and among how many."""

    method: int
    attacker: str
    probe: str
    answers: list[tuple[str, bool]]
    rank: int
    among: int


@dataclass(frozen=True)
class Pairs:
    """A method's attacker, and by kind pairs of pictures with words."""

    method: int
    attacker: str
    kinds: dict[str, list[tuple[str, str, str]]]


@dataclass(frozen=True)
class Gallery:
    """All pictures of a page; ``searches`` by patient."""

    shelf: Mapping[str, str]
    examples: list[Examples]
    searches: list[list[Search]]
    pairs: list[Pairs]

    @property
    def empty(self) -> bool:
        return not self.shelf


def gallery(evaluation: Evaluation) -> Gallery:
    """The pictures of an evaluation, as far as it has any."""
    shelf, titles = Shelf(), evaluation.results.titles()
    real = next(iter(evaluation.images.values()), None)
    shown: list[Examples] = []
    searches: dict[int, list[Search]] = {}
    pairs: list[Pairs] = []
    for n, title in enumerate(titles):
        if real is not None and title in evaluation.images:
            field = evaluation.displacements.get(title)
            shown.append(_examples(shelf, n, (real, evaluation.images[title], field)))
        if (found := evaluation.pairs.get(title)) is not None:
            pairs.append(_pairs(shelf, n, found))
            for probe, search in _searches(shelf, n, found):
                searches.setdefault(probe, []).append(search)
    return Gallery(shelf.pictures, shown, list(searches.values()), pairs)


def _examples(shelf: Shelf, n: int, images: tuple[Tensor, Tensor, Tensor | None]) -> Examples:
    real, released, field = images
    change = (released - real)[:, 0].numpy()
    end = most(np.abs(change))
    moved = None if field is None else field.numpy()
    far = None if moved is None else most(np.hypot(moved[:, 0], moved[:, 1]))
    cells = []
    for k in range(len(real)):
        layers = {"real": shelf.gray(real[k])}
        arrows = ""
        if bool(released[k].isfinite().all()):
            layers["released"] = shelf.gray(released[k])
            layers["difference"] = shelf.coloured((change[k] / end + 1) / 2, "PuOr_r")
            if moved is not None and far is not None:
                length = np.hypot(*moved[k])
                layers["displacement"] = shelf.coloured(length / far, "viridis")
                arrows = _arrows(moved[k], far)
        cells.append(Cell(layers, arrows))
    return Examples(n, cells, end, far)


def _arrows(moved: np.ndarray, far: float) -> str:
    """Strokes from a grid of pixels, of one scale for the method, in a square of 1."""
    height, width = moved.shape[1:]
    step = max(1, height // ARROWS)
    drawn = []
    for row in range(step // 2, height, step):
        for column in range(step // 2, width, step):
            x, y = moved[:, row, column] * step / far
            if x or y:
                at = f"M{(column + 0.5) / width:.4f} {(row + 0.5) / height:.4f}"
                drawn.append(f"{at}l{x / width:.4f} {y / height:.4f}")
    return "".join(drawn)


def _searches(shelf: Shelf, n: int, found: PairPictures) -> list[tuple[int, Search]]:
    if found.guesses is None:
        return []
    shown = []
    for k, guess in enumerate(found.guesses.guesses):
        answers = [
            (shelf.gray(found.guesses.gallery[k, i]), right) for i, right in enumerate(guess.right)
        ]
        probe = shelf.gray(found.guesses.probes[k])
        search = Search(n, harmless(found.attacker), probe, answers, guess.rank, guess.among)
        shown.append((guess.probe, search))
    return shown


def _pairs(shelf: Shelf, n: int, found: PairPictures) -> Pairs:
    kinds = {
        TITLES[kind]: [
            (shelf.gray(found.probes[k]), shelf.gray(found.gallery[k]), in_words(pair.ahead))
            for k, pair in enumerate(found.pairs)
            if pair.kind == kind
        ][:SHOWN]
        for kind in KINDS
    }
    return Pairs(n, harmless(found.attacker), {kind: of for kind, of in kinds.items() if of})
