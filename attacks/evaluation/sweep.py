"""The runs of an evaluation: what is missing is trained, what is there is used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from anonymize.configuration import load_options
from anonymize.errors import UsageError
from anonymize.model_file import sha256
from anonymize.options import TrainOptions
from anonymize.runs import CLASSIFIER, METRICS, MODEL, OPTIONS, VERIFIER
from anonymize.training.compute import Compute
from anonymize.training.parts import GivenFile, find_part
from anonymize.training.run import train
from attacks.evaluation.plan import Entrant, training_epochs, training_kind
from attacks.evaluation.work import Piece, Silent, Work

STAGES = ("reconstruction", "adversarial")
# What the weights of a run do not depend on.
ELSEWHERE = {
    "threads": True,
    "samples": True,
    "evaluation": True,
    "accumulation": True,
    "data": {"root", "cache", "workers", "test_pairs", "test_list"},
}
GAME = {"generator", "reconstruction", "adversarial"}


def trained(entrant: Entrant, reference: Path, *, title: str, compute: Compute, work: Work) -> None:
    """Trains the run of ``entrant`` against the classifier and verifier in ``reference``."""
    run, options = Path(entrant.spec), entrant.training
    known = (run / MODEL).is_file()
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
    """The run of ``runs`` that was trained with these options, or one below ``folder``.

    Args:
        parts: classifier and verifier that are given; then no run of ``runs`` fits.
    """
    wanted = _digest(options)
    found = next((run for run in runs if not parts and _digest(run_options(run)) == wanted), None)
    return found or folder / f"{options.generator.method}-{_with(wanted, parts)}"


def reference_of(
    options: TrainOptions, folder: Path, runs: Iterable[Path], parts: Mapping[str, str]
) -> Path:
    """The run whose classifier and verifier were trained with these options, or a folder for them.

    Args:
        parts: as `run_of` takes them.
    """
    wanted = _digest(options, without=GAME)
    fitting = (r for r in runs if not parts and _digest(run_options(r), without=GAME) == wanted)
    return next(fitting, folder / f"reference-{_with(wanted, parts)}")


def same_reference(one: TrainOptions, other: TrainOptions) -> bool:
    """Whether classifier and verifier were trained alike but for the seed."""
    without = GAME | {"seed"}
    return _digest(one, without=without) == _digest(other, without=without)


def run_options(run: Path) -> TrainOptions:
    """The options of a run.

    Raises:
        UsageError: it is no run.
    """
    if not (run / OPTIONS).is_file():
        raise UsageError(f"--run {run} is no run: it has no {OPTIONS}")
    return load_options(run / OPTIONS)


def _digest(options: TrainOptions, *, without: Iterable[str] = ()) -> str:
    """Equal for options that lead to the same networks."""
    values = options.model_dump(mode="json", exclude=ELSEWHERE | dict.fromkeys(without, True))
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def _with(digest: str, parts: Mapping[str, str]) -> str:
    """``digest``, another one for other given parts."""
    if not parts:
        return digest
    whole = hashlib.sha256(digest.encode())
    for kind, spec in sorted(parts.items()):
        given = find_part(spec, kind)
        given.check()
        whole.update(
            f"{kind} {sha256(given.path) if isinstance(given, GivenFile) else spec}".encode()
        )
    return whole.hexdigest()[:8]


def _epochs(metrics: Path) -> int:
    """Finished epochs of the generator."""
    if not metrics.is_file():
        return 0
    lines = metrics.read_text(encoding="utf-8").splitlines()
    return sum(json.loads(line)["stage"] in STAGES for line in lines)
