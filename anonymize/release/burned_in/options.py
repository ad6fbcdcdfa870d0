"""What can be asked for about burned-in text, and what was done. Needs no OCR."""

from dataclasses import dataclass

from anonymize.errors import UsageError

MODES = ("keep", "detect", "remove")
FILLS = ("inpaint", "black")
# Of a picture's area: a tenth of one lung, which takes 15 % of a radiograph (median of 158 lung
# masks of the COVID-19 Image Data Collection).
MUCH = 0.015


@dataclass(frozen=True)
class TextOptions:
    """``mode``: keep (do not look), detect (text is a reason for quarantine) or remove.

    ``fill`` is what takes its place; ``side_markers``: L and R may stay.

    Raises UsageError: another mode or fill."""

    mode: str = "keep"
    fill: str = "inpaint"
    side_markers: bool = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UsageError(f"--text must be one of {', '.join(MODES)}, got {self.mode!r}")
        if self.fill not in FILLS:
            raise UsageError(f"--text-fill must be one of {', '.join(FILLS)}, got {self.fill!r}")

    @property
    def looks(self) -> bool:
        return self.mode != "keep"


@dataclass(frozen=True)
class TextReport:
    """What was done to one picture; no text.

    ``regions`` were filled, ``filled`` of the picture's area; ``side_markers`` stayed. None was
    made where nobody looked. ``boxes`` (x, y, width, height in pixels of the input) say where; they
    are for the private folder.
    """

    regions: int
    side_markers: int
    fill: str
    engine: str
    boxes: tuple[tuple[int, int, int, int], ...] = ()
    filled: float = 0.0

    @property
    def method(self) -> str:
        """A value of (0012,0063) De-identification Method, at most 64 characters: the same for all
        files, since what stood in an input tells which one it was."""
        return f"Burned-in text: removed where found ({self.engine})"[:64]
