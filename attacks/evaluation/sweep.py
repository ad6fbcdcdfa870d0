"""The runs of an evaluation: what is missing is trained, what is there is used."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from anonymize.configuration import load_options
from anonymize.fingerprint import fingerprint, sources
from anonymize.options import TrainOptions
from anonymize.runs import CLASSIFIER, METRICS, MODEL, OPTIONS, VERIFIER, options_file
from anonymize.section import Product
from anonymize.trained import trained_method
from anonymize.training.compute import Compute
from anonymize.training.parts import GivenFile, find_part
from anonymize.training.run import train
from attacks.evaluation.made_by import who_is_tested
from attacks.evaluation.plan import Entrant, training_epochs, training_kind
from attacks.evaluation.processes.notes import kept_at, say_outdated
from attacks.evaluation.processes.work import Piece, Silent, Work

STAGES = ("reconstruction", "adversarial")
TRAINER, JUDGE = "anonymize.training.run", "anonymize.training.measures"


def train_entrant(
    entrant: Entrant, reference: Path, *, title: str, compute: Compute, work: Work
) -> None:
    """Trains the run of ``entrant`` against the classifier and verifier in ``reference``."""
    assert isinstance(entrant.spec, str)
    assert entrant.training is not None
    run, options = Path(entrant.spec), entrant.training
    known = (run / MODEL).is_file()
    say_outdated([run], work.say, file=f"/{MODEL}")
    with work.piece(
        training_kind(options),
        f"{title}: training",
        epochs=training_epochs(options),
        resumed=(run / OPTIONS).is_file(),
    ) as piece:
        if not known:
            train(
                options,
                run,
                compute=Compute.of(options, compute.device),
                given={"classifier": reference / CLASSIFIER, "verifier": reference / VERIFIER},
                display=_Epochs(work, piece, run / METRICS),
                test=False,
            )
        piece.result = "trained before" if known else "trained"


class _Epochs(Silent):
    """Tells the piece of work which epochs of a training are finished."""

    def __init__(self, work: Work, piece: Piece, metrics: Path) -> None:
        self._work, self._piece, self._metrics = work, piece, metrics

    def say(self, line: str) -> None:
        self._work.say(line)
        if (done := _epochs(self._metrics)) > 0:
            self._piece.epoch(done)


def run_of(
    options: TrainOptions, folder: Path, runs: Iterable[Path], parts: Mapping[str, str]
) -> Path:
    """The run of ``runs`` that was trained with these options, or one below ``folder``, where the
    same code trained it.

    Args:
        parts: classifier and verifier that are given; then no run of ``runs`` fits.
    """
    wanted = _made_with(options, "model")
    for run in runs:
        if not parts and _made_with(run_options(run), "model") == wanted:
            return run
    method, asked = options.generator.method, (wanted, str(options.data.root), _given(parts))
    return _below(folder, method, asked, trained_method(method))


def reference_of(
    options: TrainOptions,
    folder: Path,
    runs: Iterable[Path],
    parts: Mapping[str, str],
    *,
    images: str = "",
) -> Path:
    """The run whose classifier and verifier were trained with these options, or a folder for them.

    Args:
        parts: as `run_of` takes them.
        images: fingerprint of the data set, where it was opened; else its root tells it apart.
    """
    wanted = _made_with(options, "reference")
    for run in runs:
        if not parts and _made_with(run_options(run), "reference") == wanted:
            return run
    where = images or str(options.data.root)
    return _below(folder, "reference", (wanted, where, _given(parts)))


def same_reference(one: TrainOptions, other: TrainOptions) -> bool:
    """Whether classifier and verifier were trained alike but for the seed."""
    without = {"seed": None}
    return _made_with(one, "reference") | without == _made_with(other, "reference") | without


def _made_with(options: TrainOptions, product: Product) -> dict[str, Any]:
    """The options that networks depend on."""
    return options.that_matter(product) | who_is_tested(options)


def run_options(run: Path, changes: dict[str, Any] | None = None) -> TrainOptions:
    """The options of a run, changed as `load_options` does. Raises UsageError: it is no run."""
    return load_options(options_file(run), changes)


def _below(folder: Path, name: str, asked: Sequence[Any], *makers: Any) -> Path:
    """A folder for what is asked for as the present code trains it."""
    made_by = sources(TRAINER, *makers, without=[JUDGE])  # which changes no network
    return kept_at(folder, f"{name}-{fingerprint(*asked)[:8]}", made_by)


def _given(parts: Mapping[str, str]) -> dict[str, Any]:
    """The parts that are given, by what they hold."""
    found: dict[str, Any] = {}
    for kind, spec in parts.items():
        given = find_part(spec, kind)
        given.check()
        found[kind] = given.path if isinstance(given, GivenFile) else spec
    return found


def _epochs(metrics: Path) -> int:
    """Finished epochs of the generator."""
    if not metrics.is_file():
        return 0
    lines = metrics.read_text(encoding="utf-8").splitlines()
    return sum(json.loads(line)["stage"] in STAGES for line in lines)
