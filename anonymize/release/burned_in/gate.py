"""Whether a place can hold letters: a small network's look, so that the OCR sees little else.

``gate.onnx`` is made by ``tests/benchmarks/train_gate.py``: six convolutions that see 90 pixels,
taught on drawn text of many looks over radiographs. Where it cannot run, every place may hold some.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

MODEL = Path(__file__).with_name("gate.onnx")
LEAST_SURE = 0.0  # logit: of a place, below which it is no text
AROUND = 31  # pixels in which the usual contrast is measured
LEAST = 4.0  # gray levels: what is fainter than a few of them stays faint
STEP, CELL = 32, 8  # pixels: sides are multiples of the one; each of its answers is for the other


class Gate:
    """The network on one thread of onnxruntime; without it, what says yes to every place."""

    def __init__(self, model: Path = MODEL) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"]
            )
        except Exception:  # a damaged file, too: the detector looks everywhere
            self._session = None

    def seen(self, part: np.ndarray) -> np.ndarray:
        """bool (h, w): the cells of ``part``, uint8 (H, W) or (H, W, 3), that may be text."""
        height, width = (-(-side // CELL) for side in part.shape[:2])
        if self._session is None:
            return np.ones((height, width), bool)
        [logits] = self._session.run(None, {"planes": standardised(part)})
        # What is no number is text.
        return ~(logits.max((0, 1)) < LEAST_SURE)[:height, :width]


def standardised(part: np.ndarray) -> np.ndarray:
    """float32 (C, 1, h, w): the planes of ``part``, uint8 (H, W) or (H, W, 3), in units of the
    contrast that is usual around each pixel; sides are filled up with zeros."""
    values = part.astype(np.float32)
    values -= cv2.blur(values, (AROUND, AROUND))
    values /= np.sqrt(np.maximum(cv2.blur(values * values, (AROUND, AROUND)), 0)) + LEAST
    height, width = part.shape[:2]
    planes = values.reshape(height, width, -1).transpose(2, 0, 1)
    return np.pad(planes, ((0, 0), (0, -height % STEP), (0, -width % STEP)))[:, None]
