"""Matches as pictures: a probe and the most alike images, or pairs of two collections."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.patches import Rectangle

from attacks.linkage.overlap import Overlap
from attacks.linkage.ranking import Ranking
from attacks.linkage.release_attack import Nearest
from attacks.linkage.whose import Whose
from attacks.reporting.pictures.figures import COLOURS, INK
from attacks.reporting.pictures.sheet import sheet

PAIRS = 24  # most that a page shows
PROBES, ACROSS = 12, 6  # likewise, and most gallery images beside a probe
FRAMES = {"yes": COLOURS[2], "no": COLOURS[1], "": ""}  # the same patient, by the ids


@dataclass(frozen=True)
class Cell:
    """A picture: title, gray levels (H, W) in [0, 1], and the colour of a frame or ""."""

    title: str
    image: np.ndarray
    frame: str = ""


def ranking_sheet(ranking: Ranking) -> bytes:
    """PNG: each of the first probes, and its most alike images with their probabilities; framed
    green where the ids say the same patient, orange where they say another. No name is written."""
    lines = []
    for row in range(min(len(ranking.probes), PROBES)):
        cells = [Cell(f"probe {row + 1}", _picture(ranking.probes, row))]
        for rank, column in enumerate(ranking.columns[row, :ACROSS]):
            title = f"{rank + 1}: {in_words(ranking.probabilities[row, rank])}"
            frame = FRAMES[ranking.same_patient(row, column)]
            cells.append(Cell(title, _picture(ranking.gallery, column), frame))
        lines.append(cells)
    return page(lines)


def overlap_sheet(overlap: Overlap) -> bytes:
    """PNG: the first pairs, A left of B, with their probabilities. No name is written."""
    lines = []
    for n, (a, b) in enumerate(overlap.rows[:PAIRS].tolist()):
        kind = overlap.identical[n]
        said = f"same {kind}" if kind else in_words(overlap.probabilities[n])
        lines.append(
            [
                Cell(f"{n + 1}: {said}", _picture(overlap.first, a)),
                Cell("", _picture(overlap.second, b)),
            ]
        )
    return page(lines)


def found_sheet(subject: Whose, nearest: Nearest) -> bytes:
    """PNG: released images left of the real ones that they were taken for, those of the same person
    first, framed green, then mistakes, framed orange; the most alike first. No name is written."""
    right = np.nan_to_num(nearest.hits) > 0.5
    order = np.lexsort((-nearest.scores, ~right))[:PAIRS]
    lines = []
    for n, row in enumerate(order.tolist(), start=1):
        frame = FRAMES["yes" if right[row] else "no"] if not np.isnan(nearest.hits[row]) else ""
        real = _picture(subject.real, nearest.columns[row])
        lines.append(
            [
                Cell(f"{n}: released", _picture(subject.released, row)),
                Cell("taken for" if not right[row] else "found", real, frame),
            ]
        )
    return page(lines)


def in_words(probability: float) -> str:
    """Two digits: "0.93", "> 0.99", "4e-05"."""
    return "> 0.99" if probability > 0.995 else f"{probability:.2g}"


def page(lines: Sequence[Sequence[Cell]]) -> bytes:
    """PNG of equally long lines of pictures; short ones stand side by side."""
    columns = [str(n) for n in range(len(lines[0]))]
    with sheet((), columns, len(lines), lambda line: 1) as (figure, places):
        for place in places:
            cell, axes = lines[place.example][int(place.title)], place.axes[0]
            axes.imshow(cell.image, cmap="gray", vmin=0, vmax=1)
            axes.set_title(cell.title, fontsize=9, color=INK, pad=3)
            if cell.frame:
                frame = Rectangle((0, 0), 1, 1, color=cell.frame, linewidth=2.5, fill=False)
                frame.set(transform=axes.transAxes, clip_on=False)
                axes.add_patch(frame)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _picture(album, row: int) -> np.ndarray:
    return album.images.batch(np.array([row]))[0, 0].numpy()
