"""Whether the commands printed beside committed results still give the options of these results.

A command stands in backticks on docs/results.md, in the section that shows its table; what a
section does not have is the ``command`` in results.json. Both are read by the command line's own
parser. The options are those in results.json or, of older ones, in ``options.yaml`` beside it.
"""

import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from anonymize.commands.run_options import TrainArguments
from anonymize.commands.train import command as train_command
from anonymize.configuration import load_options, write_options
from anonymize.errors import UsageError
from anonymize.options import TrainOptions
from anonymize.runs import OPTIONS
from attacks.commands.evaluate import choices_of, options_of
from attacks.commands.evaluate import command as evaluate_command
from attacks.evaluation.pinned import pinned, training_of
from attacks.evaluation.plan import Entrant
from attacks.evaluation.protocol import entrants, is_protocol, read_protocol
from attacks.results import Results

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
COMMAND = re.compile(r"`((?:anonymize train|attacks evaluate) [^`]+)`")
UNKNOWN = "the options were not kept"


def evaluations() -> list[str]:
    """Every committed evaluation, its folder below docs/results."""
    return sorted(p.parent.relative_to(RESULTS).as_posix() for p in RESULTS.rglob("results.json"))


def documented(key: str, page: str) -> tuple[str, dict[str, str]]:
    """The command of an evaluation, and the trainings of the page by the run that they make."""
    calls = [" ".join(call.split()) for call in COMMAND.findall(page)]
    trainings = {}
    for call in calls:
        if call.startswith("anonymize train"):
            words = shlex.split(call)
            if "--out" in words:
                trainings[words[words.index("--out") + 1]] = call
    for section in re.split(r"^## ", page, flags=re.MULTILINE):
        if f"<!-- table: docs/results/{key}/table" in section:
            own = COMMAND.findall(section)
            for call in own:
                if call.startswith("attacks evaluate"):
                    return " ".join(call.split()), trainings
    return Results.read(RESULTS / key / "results.json").command, trainings


def trained_options(call: str) -> TrainOptions:
    """The options of ``anonymize train …``."""
    asked = train_command.make_context("train", shlex.split(call)[2:]).params
    names = TrainArguments.__dataclass_fields__
    wanted = TrainArguments(**{k: v for k, v in asked.items() if k in names})
    return load_options(wanted.config, wanted.changes)


def asked(call: str, trainings: Mapping[str, str]) -> tuple[dict, list[dict]]:
    """The options of ``attacks evaluate …``, and those of each training of its methods.

    Raises:
        UsageError: an option that the command does not have, or a run that no command makes.
    """
    values = evaluate_command.make_context("evaluate", shlex.split(call)[2:]).params
    choices, config = choices_of(values), values["config"]
    with _runs(choices.runs, trainings):
        config = str(ROOT / config) if config and (ROOT / config).is_file() else config
        options = options_of(choices, config)
        found = [Entrant(str(run)) for run in choices.runs]
        if config and is_protocol(config):
            found += entrants(read_protocol(config), Path("runs"), choices)
        return pinned(options), [kept for e in found if (kept := training_of(e))]


def kept(key: str) -> tuple[dict, list[dict]]:
    """What :func:`asked` should give: of the results themselves; empty where it was not kept."""
    results = Results.read(RESULTS / key / "results.json")
    if results.options:
        return results.options, [m.training for m in results.methods if m.training]
    if (file := RESULTS / key / OPTIONS).is_file():
        run = Entrant(str(file.parent))
        return pinned(load_options(file)), [training_of(run)]
    return {}, []


def differences(key: str, page: str) -> list[str]:
    """Options that the documented command gives otherwise: "classifier.epochs 12, now 10"."""
    own, own_trainings = kept(key)
    if not own:
        return [UNKNOWN]
    try:
        now, now_trainings = asked(*documented(key, page))
    except UsageError as error:
        return [str(error)]
    found = list(_unequal(own, now))
    for training in own_trainings:
        least = (list(_unequal(training, other)) for other in now_trainings)
        found += min(least, key=len, default=["the training of a method"])
    return found


def _unequal(one: Mapping[str, Any], other: Mapping[str, Any], at: str = "") -> Iterator[str]:
    for name in dict.fromkeys((*one, *other)):
        a, b = one.get(name), other.get(name)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _unequal(a, b, f"{at}{name}.")
        elif a != b:
            yield f"{at}{name} {a}, now {b}"


@cache
def _options(call: str) -> TrainOptions:
    return trained_options(call)


@contextmanager
def _runs(runs: tuple[Path, ...], trainings: Mapping[str, str]) -> Iterator[None]:
    """The working folder holds the runs that commands name, with their options alone."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for run in runs:
                if str(run) not in trainings:
                    raise UsageError(f"no documented command trains {run}")
                run.mkdir(parents=True)
                write_options(_options(trainings[str(run)]), run / OPTIONS)
            yield
        finally:
            os.chdir(before)
