"""What is given must not have learnt from patients, or of findings, that it is tested on."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePath

from anonymize.data.dataset import Dataset
from anonymize.errors import UsageError
from anonymize.model_card import Card, read_card
from anonymize.runs import OPTIONS
from anonymize.trained import TrainedAnonymizer
from anonymize.training.learnt_from import networks_of, refuse_a_leak
from anonymize.training.parts import GivenFile, find_part
from attacks.evaluation.checks.judging import judged
from attacks.evaluation.plan import Plan
from attacks.results import Check


def given_networks(plan: Plan, held_back: Collection[str]) -> Iterator[tuple[str, Card | None]]:
    """Classifiers, verifiers and generators that come from elsewhere: in words, as the user gave
    them, and the cards of their files, None where there is none.

    Raises:
        ModelError: one that cannot be read.
        UsageError: a method that was told of findings which are held back.
    """
    for kind, spec in plan.parts.items():
        found = find_part(spec, kind)
        card = read_card(found.path) if isinstance(found, GivenFile) else None
        yield f"--{kind} {spec}", card
    for entrant in plan.entrants:
        if entrant.training is not None:
            continue  # trained with the same options
        model = entrant.model()
        if held_back and (model.told is None or {*model.told} & {*held_back}):
            what = "that nobody recorded" if model.told is None else "that are held back"
            raise UsageError(
                f"method {entrant.title} was trained on labels {what} ({', '.join(held_back)} must "
                "be unknown to it); train it again with the same data.held_back, or leave it out"
            )
        if isinstance(model, TrainedAnonymizer):
            yield f"--run {entrant.spec}", model.origin
    for run in _runs(plan):
        yield from networks_of(run)


def provenance(plan: Plan, data: Dataset) -> Check | None:
    """Whether every given network is known to have learnt from others than it is tested on. Raises
    UsageError: one that learnt from patients of the test part, or of findings held back."""
    networks = given_networks(plan, data.held_back)
    why = {given: refuse_a_leak(given, card, data, plan.part) for given, card in networks}
    return judged(
        "given networks learnt from other patients",
        why,
        [f"{_without_folder(given)} ({doubt})" for given, doubt in why.items() if doubt],
        good="no network that was given learnt from a patient whom it is tested on.",
        bad="it is not known that these learnt from other patients than they are tested on: {}. "
        "What they find and read may be what they remember; give ones that were trained on this "
        "data set's training part.",
    )


def _without_folder(given: str) -> str:
    """Checks are read in public, and folders may name people: '--run run' of a path to it."""
    return re.sub(r"(?s)(--\w+) (.*)", lambda m: f"{m[1]} {PurePath(m[2]).name}", given)


def _runs(plan: Plan) -> list[Path]:
    """Those whose networks of real images are used here, or taught a generator that is measured."""
    specs = [e.spec for e in plan.entrants if e.training is None and isinstance(e.spec, str)]
    named = [Path(spec.rpartition(":")[2]) for spec in specs]
    found = [plan.reference, *(path.parent if path.is_file() else path for path in named)]
    return list(dict.fromkeys(run for run in found if run and (run / OPTIONS).is_file()))
