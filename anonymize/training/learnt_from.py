"""Whose images a given network learnt from, as its card says: nobody's on whom it is tested."""

from collections.abc import Iterator
from pathlib import Path

from anonymize.data.dataset import Dataset
from anonymize.data.sources.registry import read
from anonymize.data.splits import assign, learning_patients
from anonymize.data.table import Table
from anonymize.errors import DataError, UsageError
from anonymize.model_card import Card, read_card
from anonymize.training.parts import FILES

ANY = "folder"  # a reader for whatever images there are


def refuse_a_leak(given: str, card: Card | None, data: Dataset, part: str = "test") -> str:
    """Refuses a network that learnt from patients of the ``part`` that it is tested on.

    A card holds a fingerprint of a set of patients, so that nothing follows from one of an unknown
    set, be it larger than this data set's.

    Args:
        given: the network in words, as the user gave it.
        card: of its file; None where there is none.
        part: "test", or "all".

    Returns:
        Why it may have learnt from them nevertheless; "" where it did not.

    Raises:
        UsageError: it did.
    """
    known = card.data if card is not None else {}
    table, source = data.table, known.get("source")
    learnt = known.get("learning_patients")
    if learnt is None or source is None:
        return "it does not say what it was trained on"
    if source != table.source:
        return "images of a folder, of whomever" if ANY in (source, table.source) else ""
    seed, own = known.get("split_seed"), data.options.split_seed
    split = table if learnt == learning_patients(table) else _split(data, seed, learnt)
    if split is None:
        return f"other patients, or another split, of {source}"
    learning = split.frame.loc[split.frame["part"] != "test", "patient_id"]
    shared = len({*learning} & {*table.frame.loc[table.part(part), "patient_id"]})
    if not shared:
        return ""
    why = f"it has data.split_seed {seed}, these are of {own}; add --set data.split_seed={seed}"
    if part == "all":
        why = "with --part all these are all patients; leave it out"
    raise UsageError(
        f"{given} learnt from {shared} of the patients whom it would be tested on: {why}, or give "
        "one that learnt from others"
    )


def networks_of(run: Path) -> Iterator[tuple[str, Card]]:
    """The classifier and the verifier in the folder of a run, as far as they are there, in words;
    and their cards. ModelError: one that cannot be read."""
    for kind, file in FILES.items():
        if (run / file).is_file():
            yield f"the {kind} of --run {run}", read_card(run / file)


def _split(data: Dataset, seed: object, learnt: str) -> Table | None:
    """The data in the parts that a network learnt by; None where they cannot be made again."""
    if not isinstance(seed, int):
        return None
    try:
        other = assign(read(data.options), seed=seed)
    except DataError:
        return None
    return other if learnt == learning_patients(other) else None
