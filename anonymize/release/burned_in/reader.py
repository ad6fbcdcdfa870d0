"""The OCR: rapidocr with the models of its own wheel, on one thread of onnxruntime.

Nothing is downloaded. The same picture gives the same answer on one machine, whatever else runs.
"""

import logging
import threading
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from anonymize.errors import UsageError
from anonymize.release.burned_in.gate import Gate

PARTS = ("rapidocr", "onnxruntime")
MISSING = (
    "--text {mode} needs the OCR, which is not installed: pip install 'anonymize-cxr[ocr]'; "
    "with --text keep, text burned into a picture stays in it"
)
BINARY, BOX = 0.2, 0.3  # of the detector: a pixel, and the mean over a box
MAX_BOXES = 20_000  # in a tile; by default the detector drops all beyond 1,000
LINE = (3, 48, 96)  # of the reader: its narrowest picture; by default it takes three times as long
ONE_THREAD = {
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "EngineConfig.onnxruntime.enable_cpu_mem_arena": True,
    "Global.log_level": "critical",
    "Global.min_side_len": 1,
    "Global.max_side_len": 1 << 20,
}


def available() -> bool:
    """True where the extra ``ocr`` is installed."""
    return all(find_spec(part) is not None for part in PARTS)


def usual_mode() -> str:
    """What is done about burned-in text unless it is said."""
    return "remove" if available() else "keep"


def require(mode: str) -> None:
    """Raises UsageError where the extra ``ocr`` is not installed."""
    if not available():
        raise UsageError(MISSING.format(mode=mode))


def name() -> str:
    """What reads, with its version; "" where it is not installed."""
    try:
        return f"rapidocr {version('rapidocr')}"
    except PackageNotFoundError:
        return ""


def _model(part: str) -> str:
    """The wheel's own model file; a missing one would be downloaded otherwise."""
    import rapidocr

    found = sorted((Path(rapidocr.__file__).parent / "models").glob(f"*_{part}_*.onnx"))
    if not found:
        raise UsageError(
            f"rapidocr {version('rapidocr')} comes without its models; "
            "reinstall the extra: pip install --force-reinstall 'anonymize-cxr[ocr]'"
        )
    return str(found[-1])


class Reader:
    """One detector and one reader; not to be shared between threads."""

    def __init__(self) -> None:
        import cv2
        from rapidocr import RapidOCR

        cv2.setNumThreads(1)
        logging.getLogger("RapidOCR").setLevel(logging.CRITICAL + 1)
        self._ocr = RapidOCR(
            params={
                **ONE_THREAD,
                "Det.model_path": _model("det"),
                "Det.thresh": BINARY,
                "Det.box_thresh": BOX,
                "Det.limit_side_len": 32,  # tiles have the right size
                "Det.max_candidates": MAX_BOXES,
                "Rec.model_path": _model("rec"),
                "Rec.rec_img_shape": LINE,
                "Global.text_score": 0.0,
            }
        )
        self.gate = Gate()
        self.detect(np.zeros((32, 32, 3), np.uint8))  # which loads the detector
        prepared = self._ocr.text_det.get_preprocess()  # else made for each picture anew
        self._ocr.text_det.get_preprocess = lambda: prepared

    def detect(self, tile: np.ndarray) -> list[tuple[np.ndarray, float]]:
        """Quadrilaterals (4, 2) x, y that look like lines of text, each with a score in [0, 1].

        ``tile`` uint8 (h, w, 3), sides multiples of 32.
        """
        found = self._ocr(tile, use_det=True, use_cls=False, use_rec=False)
        if found.boxes is None:
            return []
        pairs = zip(found.boxes, found.scores, strict=True)
        return [(np.asarray(corners, np.float32), float(score)) for corners, score in pairs]

    def read(self, line: np.ndarray) -> tuple[str, float]:
        """What a picture of one line says, and how sure the reader is, in [0, 1]."""
        read = self._ocr(np.ascontiguousarray(line), use_det=False, use_cls=False, use_rec=True)
        return (read.txts[0], float(read.scores[0])) if read.txts else ("", 0.0)


_local = threading.local()


def reader() -> Reader:
    """This thread's reader; loading the models takes about half a second."""
    if not hasattr(_local, "reader"):
        _local.reader = Reader()
    return _local.reader
