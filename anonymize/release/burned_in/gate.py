"""Whether a place can hold letters: a small network's look, so that the OCR sees little else.

``gate.onnx``, 28,000 weights that see 65 pixels, was taught by the recipe of
``tests/benchmarks/train_gate.py`` on drawn text of many looks over radiographs. Where it cannot
run, every place may hold some.
"""

from pathlib import Path

import cv2
import numpy as np

from anonymize.release.burned_in import strokes

MODEL = Path(__file__).with_name("gate.onnx")
SEEN, POSSIBLE = -1.0, -6.0  # logits: of text, and of the rest of a line of which some is seen
AROUND = 31  # pixels in which the usual contrast is measured
LEAST = 4.0  # gray levels: what is fainter than a few of them stays faint
STEP, CELL = 32, 8  # pixels: sides are multiples of the one; each of its answers is for the other
BESIDE = 6  # cells to each side of those that may be text, for the detector to see


class Gate:
    """The network on one thread of onnxruntime; where ``session`` is None, every place counts."""

    def __init__(self, model: Path = MODEL) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self.session = onnxruntime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"]
            )
        except Exception:  # a damaged file, too: the detector looks everywhere
            self.session = None

    def logits(self, part: np.ndarray) -> np.ndarray:
        """float32 (h, w): how sure it is of each whole cell of ``part``, uint8 (H, W) or (H, W, 3),
        that it shows text; infinity where it cannot tell."""
        height, width = (max(side // CELL, 1) for side in part.shape[:2])
        if self.session is None:
            return np.full((height, width), np.inf, np.float32)
        [logits] = self.session.run(None, {"planes": standardised(part)})
        return np.nan_to_num(logits.max((0, 1)), nan=np.inf)[:height, :width]


def around(logits: np.ndarray, size: tuple[int, ...]) -> list[tuple[slice, slice]]:
    """Rows and columns of a place of ``size`` (H, W) that hold the cells of ``logits`` (h, w) where
    text is seen, all of its line, and what is beside: of each line, or of all if that is less."""
    if not (logits > SEEN).any():
        return []
    near = cv2.dilate(
        (logits > POSSIBLE).astype(np.uint8), np.ones((2 * BESIDE + 1,) * 2, np.uint8)
    )
    labels, boxes = strokes.components(near)
    parts = []
    for left, top, wide, high, _ in boxes[np.unique(labels[logits > SEEN])].tolist():
        ends = top + high == logits.shape[0], left + wide == logits.shape[1]
        stops = CELL * (top + high), CELL * (left + wide)
        rows, columns = (
            s if end else stop for s, end, stop in zip(size, ends, stops, strict=False)
        )
        parts.append((slice(CELL * top, rows), slice(CELL * left, columns)))
    total = sum((r.stop - r.start) * (c.stop - c.start) for r, c in parts)
    whole = [(slice(0, size[0]), slice(0, size[1]))]
    return parts if total < size[0] * size[1] else whole


def within(logits: np.ndarray, corners: np.ndarray) -> bool:
    """True where text is seen in one of the cells of ``logits`` (h, w) that ``corners`` (4, 2) x, y
    hold."""
    most = np.array(logits.shape[::-1]) - 1  # what is beyond the last whole cell is as that
    left, top = np.clip(corners.min(0) // CELL, 0, most).astype(int)
    right, bottom = np.clip(corners.max(0) // CELL, 0, most).astype(int)
    return bool((logits[top : bottom + 1, left : right + 1] > SEEN).any())


def standardised(part: np.ndarray) -> np.ndarray:
    """float32 (C, 1, h, w): the planes of ``part``, uint8 (H, W) or (H, W, 3), in units of the
    contrast that is usual around each pixel; sides are filled up with zeros."""
    values = part.astype(np.float32)
    values -= cv2.blur(values, (AROUND, AROUND))
    values /= np.sqrt(np.maximum(cv2.blur(values * values, (AROUND, AROUND)), 0)) + LEAST
    height, width = part.shape[:2]
    planes = values.reshape(height, width, -1).transpose(2, 0, 1)
    return np.pad(planes, ((0, 0), (0, -height % STEP), (0, -width % STEP)))[:, None]
