"""Does a trained anonymizer hide anybody? What one strong attacker says in a minute.

`anonymize train` ends with it, by the entry point ``anonymize.first_look``.
"""

import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from anonymize.data.batches import HeldImages
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.display import Display
from anonymize.errors import DataError
from anonymize.options import EvaluationOptions, TrainOptions
from anonymize.runs import CLASSIFIER
from anonymize.training.compute import Compute
from anonymize.training.parts import load_classifier
from anonymize.training.stages import mean_auc, predict
from attacks.evaluation.evaluate import evaluate
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.work import Silent, State
from attacks.measuring.estimates import Estimate
from attacks.reporting.readings import NAMES, headline
from attacks.reporting.tables import in_words
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
    reads = _reads(run, plan, compute)
    try:
        shown = _Places(display)
        results = evaluate(plan, run / FOLDER, compute=compute, display=shown).results
    except DataError as error:
        return {"said": [f"Whether it hides anybody is not known: {error}.", _findings(reads)]}
    found = {
        "attacker": ATTACKER,
        "impostors": NAMES[headline(results)],
        "methods": [
            _plain(title, method, auc)
            for (title, method), auc in zip(results.titled, reads, strict=True)
        ],
    }
    return found | {"said": said(results, reads, _next(options))}


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


def said(results: Results, reads: list[float], then: str = "anonymize recommend") -> list[str]:
    """Whether anybody is hidden, what hides more, and what that costs; ``reads`` are mean AUCs of
    the classifier of real images, a method each; ``then`` is the command to go on with."""
    real, own, beside = results.methods
    hidden, first = _hides(own)
    lines = [f"Does it hide anybody? {first} {_found(real, own, results)}", _findings(reads)]
    if hidden:
        return [*lines, "  Stronger attackers may find more; evaluate before you release."]
    difference = _difference(beside)
    if difference is None or difference.mean > -SLIGHT:
        return [*lines, "  Nor does DP-Pix on these images."]
    price = f"; the same classifier then reads {reads[2]:.3f}, one taught by such images more"
    price = "" if math.isnan(reads[2]) else price
    return [
        *lines,
        f"What hides more: DP-Pix, AUC {in_words(beside.privacy[ATTACKER].headline.auc)}{price}:",
        f"  anonymize apply IN OUT --model {BESIDE}",
        "  To teach a classifier and show nobody, images of several people may cost less:",
        f"  {then}",
    ]


def _findings(reads: list[float]) -> str:
    if math.isnan(reads[0]):
        return "  No finding of the test part can be read: each is there in all images, or in none."
    return (
        f"  Findings that a classifier of real images reads: AUC {reads[1]:.3f} (real images "
        f"{reads[0]:.3f})."
    )


def _hides(own: Method) -> tuple[bool, str]:
    auc, difference = own.privacy[ATTACKER].headline.auc, _difference(own)
    if auc.ci95 is not None and auc.ci95[1] < 0.5:
        return True, "Not shown: below chance, its scores are misled, not blind."
    if auc.ci95 is None or auc.ci95[0] <= 0.5:
        few = auc.ci95 is None or auc.ci95[1] > NEAR_CHANCE
        return True, "Too few patients to tell." if few else "From this attacker, yes."
    below = difference is not None and difference.ci95 is not None and difference.ci95[1] < 0
    if below and difference is not None and difference.mean <= -SLIGHT:
        return False, "Hardly: released images are harder to link than real ones, and linked still."
    return False, "No: its images are linked like real ones."


def _found(real: Method, own: Method, results: Results) -> str:
    aucs = [in_words(m.privacy[ATTACKER].headline.auc) for m in (own, real)]
    return (
        f"{ATTACKER}, which learnt from released images of other patients, reaches AUC {aucs[0]}, "
        f"on real images {aucs[1]} ({NAMES[headline(results)]}; 0.5 is chance)."
    )


def _difference(method: Method) -> Estimate | None:
    found = method.privacy[ATTACKER].headline.differences
    return next((d.difference for d in found if d.role == "real"), None)


def _plain(title: str, method: Method, reads: float) -> dict[str, Any]:
    auc, difference = method.privacy[ATTACKER].headline.auc, _difference(method)
    return {
        "method": title,
        "auc": auc.mean,
        "ci95": auc.ci95,
        "difference": difference and difference.mean,
        "difference_ci95": difference and difference.ci95,
        "classification_auc": None if math.isnan(reads) else reads,
    }


def _reads(run: Path, plan: Plan, compute: Compute) -> list[float]:
    """Mean AUC of the labels that the run's classifier reads from each method's test images."""
    data = Dataset.open(plan.options.data)
    classifier = load_classifier(run / CLASSIFIER).to(compute.device)
    rows, found = data.table.part("test"), []
    shown = HeldImages(data.images.batch(rows))
    for entrant in plan.entrants:
        released = released_images(entrant.model(compute.device), shown, device=compute.device)
        logits = predict(classifier, released, np.arange(len(rows)), compute.device)
        found.append(mean_auc(data.targets[rows], logits))
    return found
