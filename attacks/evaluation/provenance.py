"""What is given must not have learnt from patients, or of findings, that it is tested on."""

from collections.abc import Collection, Iterator

from anonymize.data.dataset import Dataset
from anonymize.data.sources.registry import read
from anonymize.data.splits import assign, learning_patients
from anonymize.data.table import Table
from anonymize.errors import DataError, UsageError
from anonymize.model_card import Card, read_card
from anonymize.trained import TrainedAnonymizer
from anonymize.training.parts import GivenFile, find_part
from attacks.evaluation.checks.judging import judged
from attacks.evaluation.plan import Plan
from attacks.results import Check

ANY = "folder"  # a reader for whatever images there are


def given_networks(
    plan: Plan, held_back: Collection[str] = ()
) -> Iterator[tuple[str, Card | None]]:
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


def provenance(plan: Plan, data: Dataset) -> Check | None:
    """Whether every given network is known to have learnt from others than it is tested on. Raises
    UsageError: one that learnt from patients of the test part, or of findings held back."""
    networks = given_networks(plan, data.held_back)
    why = {given: _doubt(given, card, plan, data) for given, card in networks}
    return judged(
        "given networks learnt from other patients",
        why,
        [f"{given} ({doubt})" for given, doubt in why.items() if doubt],
        good="no network that was given learnt from a patient whom it is tested on.",
        bad="it is not known that these learnt from other patients than they are tested on: {}. "
        "What they find and read may be what they remember; give ones that were trained on this "
        "data set's training part.",
    )


def _doubt(given: str, card: Card | None, plan: Plan, data: Dataset) -> str:
    """Why it may have learnt from the test patients; "" where it did not."""
    known = card.data if card is not None else {}
    table, source = data.table, known.get("source")
    learnt = known.get("learning_patients")
    if learnt is None or source is None:
        return "it does not say what it was trained on"
    if source != table.source:
        return "images of a folder, of whomever" if ANY in (source, table.source) else ""
    seed, own = known.get("split_seed"), plan.options.data.split_seed
    split = table if learnt == learning_patients(table) else _split(data, seed, learnt)
    if split is None:
        return f"other patients, or another split, of {source}"
    learning = split.frame.loc[split.frame["part"] != "test", "patient_id"]
    shared = len({*learning} & {*table.frame.loc[table.part(plan.part), "patient_id"]})
    if not shared:
        return ""
    why = f"it has data.split_seed {seed}, this evaluation {own}; add --set data.split_seed={seed}"
    if plan.part == "all":
        why = "with --part all these are all patients; leave it out"
    raise UsageError(
        f"{given} learnt from {shared} of the patients whom it would be tested on: {why}, or give "
        "one that learnt from others"
    )


def _split(data: Dataset, seed: object, learnt: str) -> Table | None:
    """The data in the parts that a network learnt by; None where they cannot be made again."""
    if not isinstance(seed, int):
        return None
    try:
        other = assign(read(data.options), seed=seed)
    except DataError:
        return None
    return other if learnt == learning_patients(other) else None
