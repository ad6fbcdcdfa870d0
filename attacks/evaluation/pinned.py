"""What results keep of how a method was made: options, so that it shows whether a command still
gives them, and how far its training came."""

import json
from pathlib import Path
from typing import Any

from anonymize.anonymizer import Anonymizer
from anonymize.options import TrainOptions
from anonymize.runs import OPTIONS
from anonymize.trained import TrainedAnonymizer
from anonymize.training import course
from attacks.evaluation.plan import Entrant
from attacks.evaluation.protocol import OWN
from attacks.evaluation.sweep import run_options
from attacks.results import Results

MEASURING = ("repeats", "utility")  # they change no figure, but how many there are


def pinned(options: TrainOptions) -> dict[str, Any]:
    """All options that change a figure, by section, as JSON has them; of a file its name alone."""
    found = options.that_matter()
    for section in OWN:
        del found[section]
    found["evaluation"] |= {name: getattr(options.evaluation, name) for name in MEASURING}
    return _plain(found)


def as_often(results: Results, options: TrainOptions) -> bool:
    """Whether results hold as many trainings as is asked for, and utility where it is: of what
    changes no figure no claim knows."""
    held, asked = results.options.get("evaluation", {}), options.evaluation
    reads = asked.utility and bool((results.source.model_extra or {}).get("labels"))
    read = [m.utility.retrained.auc for m in results.methods if m.utility.retrained]
    return (
        held.get("repeats") == asked.repeats
        and held.get("utility") in (asked.utility, reads)
        and all(len(auc.runs) == asked.utility_repeats for auc in read if auc.mean is not None)
    )


def pinned_training(options: TrainOptions) -> dict[str, Any]:
    """The options of a trained method that :func:`pinned` leaves out."""
    found = options.that_matter("model")
    return _plain({section: found[section] for section in OWN})


def training_of(entrant: Entrant) -> dict[str, Any]:
    """:func:`pinned_training` of a method that takes part; empty where it was no run."""
    if entrant.training is not None:
        return pinned_training(entrant.training)
    is_run = isinstance(entrant.spec, str) and (Path(entrant.spec) / OPTIONS).is_file()
    return pinned_training(run_options(Path(str(entrant.spec)))) if is_run else {}


def course_of(model: Anonymizer) -> dict[str, Any]:
    """ "steps" and "converged" of a trained generator, where its file says so."""
    card = model.origin if isinstance(model, TrainedAnonymizer) else None
    known = course.course_of(card.figures if card is not None else {})
    return {name: known[name] for name in ("steps", "converged") if name in known}


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(found, default=lambda path: Path(path).name))
