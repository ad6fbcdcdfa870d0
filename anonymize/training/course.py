"""How far the training of a generator went, from the figures of its epochs."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from anonymize.objective_options import CourseOptions

STAGE = "adversarial"
# Root mean square changes of the validation images, and the AUC of fresh attackers on them.
CHANGE, ATTACKER = "validation_change", "observed_attacker_auc"
FEWEST_STEPS = 200  # below which no generator has come to rest: the paper's takes 39,000
FEWEST_EPOCHS, FEWEST_ATTACKERS = 8, 4  # below which nothing can be said of them
STILL = 0.05  # share by which two quarters of the epochs may differ in what they do to images
STILL_AUC = 0.01  # by which they may in the AUC of fresh attackers
Lines = Iterable[Mapping[str, Any]]


def course(
    lines: Lines, options: CourseOptions | None = None, *, kept: float | None = None
) -> dict[str, float]:
    """ "steps" of the generator, and "converged": 1 where training had come to rest, else 0.

    It had, after steps enough, where it ended because fresh attackers became no weaker; or where
    the last quarter of the epochs did to images what the quarter before had done, and fresh
    attackers linked as well, if so many were trained that one can say. Means of quarters are
    compared: a game goes round, and one epoch may be like another by luck.

    Args:
        lines: of ``metrics.jsonl``.
        options: of the plateau that ends a training; None: none does.
        kept: the epoch whose generator is kept; adds "kept_steps", those up to it.
    """
    own = [line for line in lines if line["stage"] == STAGE]
    found = {}
    if own and all("train_steps" in line for line in own):
        found["steps"] = float(sum(line["train_steps"] for line in own))
        if kept is not None:
            before = (line["train_steps"] for line in own if line["epoch"] <= kept)
            found["kept_steps"] = float(sum(before))
    if own and all(CHANGE in line for line in own):
        change = [line[CHANGE] for line in own]
        attacked = [line[ATTACKER] for line in own if ATTACKER in line]
        rests = len(change) >= FEWEST_EPOCHS and _drift(change) <= STILL * fmean(change[-2:])
        if len(attacked) >= FEWEST_ATTACKERS:
            rests = rests and _drift(attacked) <= STILL_AUC
        flat = options is not None and plateaued(own, options)
        enough = found.get("steps", 0) >= FEWEST_STEPS
        found["converged"] = float(enough and (rests or flat))
    return found


def plateaued(lines: Lines, options: CourseOptions) -> bool:
    """Whether fresh attackers have become no weaker for as many as ``attacker_patience``."""
    patience = options.attacker_patience
    found = [line[ATTACKER] for line in lines if ATTACKER in line]
    if patience is None or len(found) <= patience:
        return False
    return min(found[-patience:]) >= min(found[:-patience]) - options.attacker_margin


def course_of(figures: Mapping[str, float]) -> dict[str, Any]:
    """What a model's card says of :func:`course`: "steps", "kept_steps", "converged" as far as they
    are known, and all of it "in_words"."""
    found: dict[str, Any] = {
        name: round(figures[name]) for name in ("steps", "kept_steps") if name in figures
    }
    if "converged" in figures:
        found["converged"] = figures["converged"] == 1
    words = in_words(found.get("steps"), found.get("converged"), found.get("kept_steps"))
    return {**found, "in_words": words}


def in_words(steps: int | None, converged: bool | None, kept_steps: int | None = None) -> str:
    """ "converged after 1,200 steps", or "stopped after 1,200 steps, still moving"; with the steps
    up to the state that was kept, where they are fewer. Empty where nothing is known."""
    counted = "" if steps is None else f"{steps:,} steps"
    after = counted and f" after {counted}"
    said = {None: counted, True: f"converged{after}", False: f"stopped{after}, still moving"}
    if steps is None or kept_steps is None or kept_steps == steps:
        return said[converged]
    return f"{said[converged]}; kept is the state after {kept_steps:,} of {steps:,}, not the last"


def _drift(values: Sequence[float]) -> float:
    """How far the mean of the last quarter of the values is from that of the quarter before."""
    count = max(2, len(values) // 4)
    return abs(fmean(values[-count:]) - fmean(values[-2 * count : -count]))
