"""The bench of known answers: does an evaluation say of a release what is known of it?

Each release was made so that its privacy and its use follow from how it was made. It is evaluated
beside the real images, as anybody's would be. The evaluation is right where every statement holds,
marked where one does not but a check says of this very release not to trust that figure, and wrong
else: then a reader would be misled. A check of something else does not mark it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import torch

from anonymize.anonymizer import Anonymizer
from anonymize.data.dataset import Dataset
from anonymize.display import counter
from anonymize.options import TrainOptions
from anonymize.training.compute import Compute
from attacks.check import releases
from attacks.check.maps import Noise, PixelShuffle
from attacks.check.said import Said
from attacks.evaluation.checks.choice_checks import NAME as CHOICE
from attacks.evaluation.checks.release_checks import COPIES, MARKS, PAINTED
from attacks.evaluation.evaluate import Evaluation, evaluate
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.work import Display
from attacks.registry import DEFAULT
from attacks.results import REAL

ATTACKERS = ("verification", "training-free", "histogram-metric", "pixel-map", "bit-planes")
ASKED = {  # as users run `attacks evaluate`, beside these
    "all": ATTACKERS,
    "default": DEFAULT,
    "two": ("histogram-metric", "training-free"),
}
NEAR = 0.05  # AUC by which a figure may miss what the construction says
BLIND = 0.6  # mean AUC of the labels above which something is read
NOISE = 0.05  # of mild noise, deviation
Verdict = Literal["right", "marked", "WRONG"]


@dataclass(frozen=True)
class Statement:
    """Something that an evaluation must say: in words, how it is seen, and the names of the checks
    that doubt it where it is not."""

    words: str
    holds: Callable[[Said], bool]
    doubts: tuple[str, ...] = ()


def _at_chance(said: Said) -> bool:
    """Neither above chance nor below: there, an adversary turns the sign."""
    low, high = said.interval or (said.auc, said.auc)
    return low <= 0.5 <= high and abs(said.auc - 0.5) < 2 * NEAR


def _as_real(said: Said) -> bool:
    """The release has the findings of the real images, so that all impostors can be compared, too;
    matched ones are few, and their interval says how far they can."""
    most = said.auc if said.interval is None else said.interval[1]
    return said.plain >= said.plain_real - NEAR and most >= said.real - NEAR


def _linked(said: Said) -> bool:
    return said.auc > 0.5 + NEAR and (said.interval is None or said.interval[0] > 0.5)


def _about(value: float | None, expected: float) -> bool:
    return value is not None and abs(value - expected) <= 2 * NEAR


def _nothing_read(said: Said) -> bool:
    read = [auc for auc in (said.frozen, said.on_released) if auc is not None]
    return all(auc <= BLIND for auc in read)


def _of_its_pool(said: Said) -> bool:
    if said.retrained is None:  # not asked for
        return True
    return said.pool is not None and said.retrained <= said.pool + NEAR


def _painted(said: Said) -> bool:
    return said.on_released is None or PAINTED in said.failed


TOO_LOW = (
    "trained attackers reach the floor",
    "an attacker has seen released images",
    "attackers link to real images as well as within the release",
    CHOICE,
)
TOO_FAR = (
    "no attacker is below chance",
    "released images are no easier to link than real ones",
    "figures exceed what findings alone give",
)
AS_REAL = Statement("as linkable as real images", _as_real, TOO_LOW)
LINKED = Statement("linkable", _linked, TOO_LOW)
CHANCE = Statement("nobody is linkable", _at_chance, TOO_FAR)
STAMPED = Statement(
    "the release links itself", lambda said: said.auc >= 1 - NEAR, (*TOO_LOW, MARKS)
)
PARTLY = Statement("linkable", _linked, (*TOO_LOW, COPIES))
HALF = Statement("a hash finds half", lambda s: _about(s.untouched, 0.5) and COPIES in s.failed)
OTHERS = Statement(
    "all are images of somebody", lambda s: _about(s.of_others, 1.0) and COPIES in s.failed
)
BLANK = Statement("nothing to read", _nothing_read, (PAINTED,))
OF_OTHERS = Statement(
    "the pool alone is of as much use",
    _of_its_pool,
    ("the release tells more than the images it draws from",),
)
TOLD = Statement("findings are painted", _painted)


@dataclass(frozen=True)
class Case:
    """A release and what is known of it."""

    name: str
    make: Callable[[Dataset, int], Anonymizer]
    truth: tuple[Statement, ...]


def _changed(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return lambda data, seed: releases.Changed(name, change)


CASES: tuple[Case, ...] = (
    Case("upside-down", _changed("upside-down", lambda x: x.flip(-2)), (AS_REAL,)),
    Case("mirrored", _changed("mirrored", lambda x: x.flip(-1)), (AS_REAL,)),
    Case("inverted", _changed("inverted", lambda x: 1 - x), (AS_REAL,)),
    Case("pixel-shuffle", lambda data, seed: PixelShuffle(key=seed), (AS_REAL,)),
    Case("patients-swapped", releases.patients_swapped, (CHANCE, OTHERS, OF_OTHERS)),
    Case("label-painted", lambda data, seed: releases.label_painted(data), (AS_REAL, TOLD)),
    Case("independent-noise", lambda data, seed: Noise(seed=seed), (CHANCE, BLANK)),
    Case("noisy-copy", lambda data, seed: releases.noisy_copy(data, NOISE, seed), (LINKED,)),
    Case("one-image-a-class", lambda data, seed: releases.class_images(data), (CHANCE, OF_OTHERS)),
    Case("half-untouched", releases.half_untouched, (PARTLY, HALF)),
    Case("lsb-watermark", releases.watermarked, (STAMPED,)),
    Case("constant", _changed("constant", lambda x: torch.full_like(x, 0.5)), (CHANCE, BLANK)),
)

DOUBTS: dict[str, dict[str, tuple[str, ...]]] = {
    case.name: {statement.words: statement.doubts for statement in case.truth} for case in CASES
}


@dataclass(frozen=True)
class Answer:
    """What an evaluation said of a case, and what that is worth."""

    case: str
    truth: str
    said: Said
    missed: tuple[str, ...]

    @classmethod
    def of(cls, case: Case, said: Said) -> Self:
        """Compares it with the truth."""
        missed = tuple(s.words for s in case.truth if not s.holds(said))
        return cls(case.name, "; ".join(s.words for s in case.truth), said, missed)

    @property
    def verdict(self) -> Verdict:
        """Right, marked by a check of whatever is missed, or wrong."""
        if not self.missed:
            return "right"
        doubts = DOUBTS[self.case]
        doubted = ({*doubts[words]} & {*self.said.failed} for words in self.missed)
        return "marked" if all(doubted) else "WRONG"

    def plain(self) -> dict[str, Any]:
        """What JSON can hold."""
        return {**asdict(self), "verdict": self.verdict}

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Self:
        """Of :meth:`plain`."""
        said: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in plain["said"].items()
        }
        return cls(plain["case"], plain["truth"], Said(**said), tuple(plain["missed"]))


def answers(
    options: TrainOptions,
    out: Path,
    *,
    compute: Compute,
    display: Display,
    cases: Sequence[Case] = CASES,
    attackers: Sequence[str] = ATTACKERS,
) -> tuple[list[Answer], Evaluation]:
    """One evaluation of the real images and of every case. ``out``: folder of what was measured;
    called again, it goes on there."""
    data = Dataset.open(options.data, counter(display, "preparing images"))
    made = [case.make(data, options.seed) for case in cases]
    entrants = [Entrant(REAL), *map(Entrant, made)]
    plan = Plan(entrants, options, attackers, command="attacks check --known-answers")
    found = evaluate(plan, out, compute=compute, display=display)
    return [Answer.of(case, Said.of(found.results, case.name)) for case in cases], found


def table(found: Sequence[Answer]) -> str:
    """Markdown: a case a row, and how many are right, marked and wrong."""
    header = ("release", "truth", "the evaluation said", "verdict")
    rows = [
        (a.case, a.truth, a.said.words + _checks(a), a.verdict.replace("WRONG", "**WRONG**"))
        for a in found
    ]
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _checks(answer: Answer) -> str:
    return f"; checks: {', '.join(answer.said.failed)}" if answer.said.failed else ""
