"""Does a trained anonymizer hide anybody? What one strong attacker says in a minute.

`anonymize train` ends with it, by the entry point ``anonymize.first_look``.
"""

import math
import shlex
from pathlib import Path
from typing import Any

from anonymize.display import Display
from anonymize.errors import DataError
from anonymize.options import EvaluationOptions, TrainOptions
from anonymize.training.compute import Compute
from attacks.evaluation.evaluate import evaluate
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.work import Silent, State
from attacks.measuring.estimates import Estimate
from attacks.reporting.findings_read import Read, price, reads, verdict
from attacks.reporting.readings import NAMES, difference_to, headline
from attacks.reporting.tables import in_words, signed
from attacks.results import REAL, Method, Results

ATTACKER = "histogram-metric"  # the strongest that a minute of two CPU cores allows
BESIDE = "dp-pix:b=8,epsilon=0.1"  # what the paper compares with, and hides more than any warp
FOLDER = "first_look"
COPIES = 2  # changed copies of each training image, at most: more take the minute twice
SLIGHT = 0.05  # of AUC: a fall below it helps nobody
NEAR_CHANCE = 0.6  # AUC that the interval of a release that hides people does not exceed


def first_look(
    run: Path, options: TrainOptions, *, compute: Compute, display: Display
) -> dict[str, Any]:
    """Attacks the images that the run's model releases, real ones, and those of DP-Pix.

    Returns:
        What JSON can hold: ``attacker``, ``impostors``, ``methods`` with AUC, 95 % interval,
        difference to the real images and what the classifier of real images reads, and ``said``,
        the sentences for people. Only ``said`` where no patient has several images.
    """
    changed = _short(options.evaluation)
    plan = Plan(
        [Entrant(REAL), Entrant(str(run)), Entrant(f"{BESIDE},seed={options.seed}")],
        options.model_copy(update={"evaluation": changed}),
        (ATTACKER,),
        command="anonymize train",
    )
    read = reads(run, plan, compute)
    try:
        shown = _Places(display)
        results = evaluate(plan, run / FOLDER, compute=compute, display=shown).results
    except DataError as error:
        return {"said": [f"Whether it hides anybody is not known: {error}.", _findings(read)]}
    found = {
        "attacker": ATTACKER,
        "impostors": NAMES[headline(results)],
        "methods": [
            _plain(title, method, own)
            for (title, method), own in zip(results.titled, read, strict=True)
        ],
    }
    return found | {"said": said(results, read, _next(options))}


def _short(evaluation: EvaluationOptions) -> EvaluationOptions:
    own = evaluation.histogram_metric  # type: ignore[attr-defined]  # a section of its attacker
    fewer = own.model_copy(update={"copies": min(own.copies, COPIES)})
    return evaluation.model_copy(update={"repeats": 1, "utility": False, "histogram_metric": fewer})


class _Places(Silent):
    """Shows each piece of work where the training showed its own."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def show(self, state: State) -> None:
        self._display.at(f"whom it hides, {state.title}", state.done, state.total)


def _next(options: TrainOptions) -> str:
    """The command that looks for a better method for the same data."""
    source, root = options.data.source, options.data.root
    data = [] if root is None else ["--source", source, "--root", str(root)]
    return shlex.join(["anonymize", "recommend", *data])


def said(results: Results, read: list[Read], then: str = "anonymize recommend") -> list[str]:
    """Whether anybody is hidden, what hides more, and what that costs; ``read`` is what the
    classifier of real images reads, a method each; ``then`` is the command to go on with."""
    real, own, beside = results.methods
    hidden, first = _hides(own)
    lines = [f"Does it hide anybody? {first} {_found(real, own, results)}", _findings(read)]
    if hidden:
        return [*lines, "  Stronger attackers may find more; evaluate before you release."]
    if not _falls(beside) or _auc(beside).mean >= _auc(own).mean:
        return [*lines, "Nor does DP-Pix, as far as these images show. What may:", f"  {then}"]
    cost = price(read[2])
    return [
        *lines,
        f"What hides more: DP-Pix, AUC {in_words(_auc(beside))}{cost and f'; {cost}'}:",
        f"  anonymize apply IN OUT --model {BESIDE}",
        "  To teach a classifier and show nobody, images of several people may cost less:",
        f"  {then}",
    ]


def _findings(read: list[Read]) -> str:
    return f"  {verdict(*read[:2])}"


def _hides(own: Method) -> tuple[bool, str]:
    auc = _auc(own)
    if auc.ci95 is not None and auc.ci95[1] < 0.5:
        return True, "Not shown: below chance, its scores are misled, not blind."
    if auc.ci95 is None or auc.ci95[0] <= 0.5:
        few = auc.ci95 is None or auc.ci95[1] > NEAR_CHANCE
        return True, "Too few patients to tell." if few else "From this attacker, yes."
    if _falls(own):
        return False, "Hardly: released images are harder to link than real ones, and linked still."
    return False, "No: its images are linked like real ones."


def _falls(method: Method) -> bool:
    """Whether its images are harder to link than real ones: for sure, and by enough to help."""
    found = _difference(method)
    sure = found is not None and found.ci95 is not None and found.ci95[1] < 0
    return sure and found is not None and found.mean <= -SLIGHT


def _found(real: Method, own: Method, results: Results) -> str:
    less = _difference(own)
    return (
        f"{ATTACKER}, which learnt from released images of other patients, reaches AUC "
        f"{in_words(_auc(own))}, on real images {in_words(_auc(real))}"
        f"{'' if less is None else f', a difference of {signed(less)}'} "
        f"({NAMES[headline(results)]}; 0.5 is chance)."
    )


def _auc(method: Method) -> Estimate:
    return method.privacy[ATTACKER].headline.auc


def _difference(method: Method) -> Estimate | None:
    found = difference_to("real", method.privacy[ATTACKER].headline.differences)
    return None if found is None else found.difference


def _plain(title: str, method: Method, read: Read) -> dict[str, Any]:
    auc, difference, less = _auc(method), _difference(method), read.difference
    return {
        "method": title,
        "auc": auc.mean,
        "ci95": auc.ci95,
        "difference": difference and difference.mean,
        "difference_ci95": difference and difference.ci95,
        "classification_auc": None if math.isnan(read.auc) else read.auc,
        "classification_difference": less and less.mean,
        "classification_difference_ci95": less and less.ci95,
    }
