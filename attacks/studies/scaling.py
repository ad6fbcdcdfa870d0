"""How good a verifier becomes with the pairs that it learns from (Packhäuser et al. 2022).

FTS (``fixed``): the training pairs are drawn once. RNP (``fresh``): the impostor pairs are drawn
again each epoch, the genuine ones stay, so that the size of the training set means the same in
both. Smaller training sets lie within larger ones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from anonymize.data.dataset import Dataset
from anonymize.data.pairs import Pairs
from anonymize.display import counter
from anonymize.errors import UsageError
from anonymize.fingerprint import fingerprint, sha256_file, sources
from anonymize.model_card import Card, read_card
from anonymize.model_file import load_weights, save_model, versions
from anonymize.networks.build import build_verifier
from anonymize.options import TrainOptions
from anonymize.seeds import derive_seed
from anonymize.statistics import Measured
from anonymize.training.compute import Compute
from anonymize.training.learnt_from import refuse_a_leak
from anonymize.training.loop import fit
from anonymize.training.stages import Paired, VerifierStage, match
from attacks.attackers.training_free import TrainingFree
from attacks.evaluation.contents import data_contents, known_by
from attacks.evaluation.made_by import attack_options
from attacks.evaluation.processes.claim import Holds, of_options, unknown
from attacks.evaluation.processes.notes import Note, Notes, say_outdated
from attacks.evaluation.processes.work import Display, Piece, Work
from attacks.measuring.covariates import matched_by
from attacks.measuring.estimates import Estimate
from attacks.measuring.reading_names import LISTED
from attacks.measuring.reading_names import NAMES as READINGS
from attacks.measuring.similarity import centred, unit
from attacks.measuring.statistics import summary
from attacks.studies.listed_pairs import AUC, MATCHED_AUC, ListedPairs
from attacks.studies.scaling_results import Point, Scaling
from attacks.studies.training_sets import repeated, training_pairs

Negatives = Literal["fixed", "fresh"]
NAMES: Mapping[str, str] = {"fixed": "FTS", "fresh": "RNP"}
Key = tuple[Negatives, int, int]


@dataclass(frozen=True)
class ScalingPlan:
    """What is trained.

    Attributes:
        pairs: sizes of the training set, half of it genuine.
        negatives: how impostor pairs are drawn.
        epoch_pairs: pairs shown in an epoch whatever the size of the training set, so that the
            number of pairs and not of steps is compared; None: each once, as published.
        start: model file of a verifier from which the smallest training set goes on, and every
            other one too without ``chained``; None: from scratch, or from ``verifier.weights``.
        chained: each size goes on from the verifier of the size before.

    Raises:
        UsageError: sizes that are odd or occur twice, unknown negatives, an objective that does
            not use listed impostor pairs.
    """

    options: TrainOptions
    pairs: Sequence[int]
    negatives: Sequence[Negatives] = ("fixed", "fresh")
    epoch_pairs: int | None = None
    start: Path | None = None
    chained: bool = False
    command: str = ""

    def __post_init__(self) -> None:
        sizes, kinds = list(self.pairs), list(self.negatives)
        if not sizes or len(set(sizes)) < len(sizes) or any(n < 2 or n % 2 for n in sizes):
            raise UsageError(
                "--pairs must be even numbers from 2, each once, since half of the pairs are "
                f"genuine; got {','.join(map(str, sizes)) or 'none'}"
            )
        if not kinds or len(set(kinds)) < len(kinds) or not set(kinds) <= set(NAMES):
            raise UsageError(
                "--negatives must be fixed (FTS), fresh (RNP) or both, separated by a comma; got "
                f"{','.join(kinds) or 'none'}"
            )
        if self.epoch_pairs is not None and self.epoch_pairs < 2:
            raise UsageError(f"--epoch-pairs must be at least 2, got {self.epoch_pairs}")
        if self.options.verifier.objective != "pairs":
            raise UsageError(
                "verifier.objective=batch takes its impostors from the batch, not from the listed "
                "pairs, so their number and kind would mean nothing; leave it at pairs"
            )

    @property
    def subject(self) -> dict[str, Any]:
        """What the curve is of, for the claim of its folder; sizes and kinds may be added to."""
        return {
            "pairs": list(self.pairs),
            "negatives": list(self.negatives),
            "epoch_pairs": self.epoch_pairs,
            "verifier": self.start and str(self.start.resolve()),
            "warm_start": self.chained,
        } | of_options(self.options)

    @property
    def keys(self) -> Iterator[Key]:
        """Every training: negatives, pairs, repeat; small ones before large ones."""
        for kind in self.negatives:
            for repeat in range(self.options.evaluation.repeats):
                yield from ((kind, pairs, repeat) for pairs in sorted(self.pairs))


class ScalingStudy:
    """Trains and tests; what was done before a stop is not done again."""

    def __init__(
        self, plan: ScalingPlan, data: Dataset, *, compute: Compute, folder: Path, work: Work
    ) -> None:
        self.plan, self.data, self.compute, self.work = plan, data, compute, work
        self.options = plan.options
        self.notes = Notes(folder, known_by(data))
        self.made_by = fingerprint(
            attack_options(self.options, to="figures"),
            plan.epoch_pairs,
            sorted(plan.pairs) if plan.chained else None,
            plan.start,
            sources(__name__),
        )
        say_outdated((self._note(key).folder for key in plan.keys), work.say, file=".json")
        for pairs in plan.pairs:  # too many are refused before anything is trained
            self._pairs(("fixed", pairs, 0))

    def measure(self) -> Scaling:
        """Every point of the curve, and the floor."""
        found = {key: self._point(key) for key in self.plan.keys}
        points = []
        for kind in self.plan.negatives:
            for pairs in sorted(self.plan.pairs):
                runs = [run for (k, n, _), run in found.items() if (k, n) == (kind, pairs)]
                points.append(
                    Point(
                        negatives=kind,
                        pairs=pairs,
                        **_summaries(runs),
                        epochs=[round(run["epochs"].value) for run in runs],
                    )
                )
        table, floor = self.data.table, _summaries([self._floor()])
        return Scaling(
            source=table.source,
            size=self.options.data.size,
            fingerprint=table.fingerprint,
            seed=self.options.seed,
            command=self.plan.command,
            start="given" if self.plan.start else "scratch",
            chained=self.plan.chained,
            epoch_pairs=self.plan.epoch_pairs,
            training_patients=int(table.frame.loc[table.part("train"), "patient_id"].nunique()),
            test_pairs=len(self._test.pairs),
            test_patients=len(np.unique(self._test.patients)),
            matched_by=matched_by(table),
            matched_pairs=self._test.matched,
            floor=floor["auc"],
            floor_matched=floor["matched"],
            points=points,
        )

    def _point(self, key: Key) -> dict[str, Measured]:
        kind, pairs, repeat = key
        note = self._note(key)
        checkpoint = note.folder / "verifier.safetensors"
        known = note.known
        with self.work.piece(
            f"{kind} {pairs}",
            f"{NAMES[kind]}, {pairs} pairs, repeat {repeat + 1}",
            epochs=self.options.verifier.epochs,
            resumed=known or checkpoint.is_file(),
        ) as piece:
            if not known:
                note.keep_figures(self._trained(key, checkpoint, piece))
            found = note.figures
            piece.result = f"AUC {found[AUC].value:.3f}, {READINGS[LISTED]}"
        return found

    def _trained(self, key: Key, checkpoint: Path, piece: Piece) -> dict[str, Measured]:
        data, options = self.data, self.options.verifier
        seed = derive_seed(self.options.seed, "scaling", key[2])
        torch.manual_seed(derive_seed(seed, "verifier"))
        network = build_verifier(options)
        start = self._start(key)
        if start is not None:
            load_weights(network, start)
        stage = VerifierStage(
            network,
            options,
            Paired(
                data.images,
                data.images,
                data.patients,
                self._pairs(key),
                data.fixed_pairs("validation"),
            ),
            compute=self.compute,
            name="scaling",
        )
        epochs: list[int] = []

        def report(history: list) -> None:
            epochs[:] = [len(history)]
            piece.epoch(len(history))

        fit(stage, seed=seed, checkpoint=checkpoint, report=report)
        if self.plan.chained:
            card = Card(
                kind="verifier",
                architecture=options.model_dump(),
                size=self.options.data.size,
                versions=versions(),
            )
            save_model(network, card, self._file(key))
        scores = match(network, data.images, data.images, self._test.pairs, self.compute.device)
        return self._test.figures(scores) | {"epochs": Measured(epochs[0], np.zeros(0))}

    def _start(self, key: Key) -> Path | None:
        """The model file that a training goes on from."""
        kind, pairs, repeat = key
        smaller = [n for n in self.plan.pairs if n < pairs]
        if self.plan.chained and smaller:
            return self._file((kind, max(smaller), repeat))
        return self.plan.start

    def _note(self, key: Key) -> Note:
        return self.notes.note(*key, made_by=self.made_by)

    def _file(self, key: Key) -> Path:
        """The verifier of a training that others go on from."""
        return self.notes.root / "verifiers" / f"{self._note(key).folder.name}.safetensors"

    def _pairs(self, key: Key) -> Callable[[int], Pairs]:
        kind, pairs, repeat = key
        table, count = self.data.table, self.plan.epoch_pairs
        seed = derive_seed(self.options.data.split_seed, "scaling", repeat)
        drawn = training_pairs(table, table.part("train"), pairs=pairs, negatives=kind, seed=seed)
        if count is None:
            return drawn
        return lambda epoch_seed: repeated(drawn(epoch_seed), count, epoch_seed)

    def _floor(self) -> dict[str, Measured]:
        """Gradient histograms on the same pairs: what needs no training pair at all."""
        pairs = self._test.pairs
        rows = np.unique(np.concatenate((pairs.first, pairs.second)))
        features = TrainingFree().features(self.data.images.batch(rows))
        features = unit(centred(features, features)[0])
        first, second = (np.searchsorted(rows, n) for n in (pairs.first, pairs.second))
        return self._test.figures((features[first] * features[second]).sum(axis=1))

    @cached_property
    def _test(self) -> ListedPairs:
        return ListedPairs(self.data, self.options)


def _summaries(runs: Sequence[Mapping[str, Measured]]) -> dict[str, Estimate | None]:
    """Both AUCs of a :class:`Point`."""
    return {
        name: summary([run[name] for run in runs]) if name in runs[0] else None
        for name in (AUC, MATCHED_AUC)
    }


def scale(
    plan: ScalingPlan, out: Path, *, compute: Compute, display: Display, holds: Holds = unknown
) -> Scaling:
    """Trains a verifier on each number of pairs and tests it; stopped, the same call goes on.

    Raises UsageError: a verifier to go on from that learnt from patients of the test part."""
    data = Dataset.open(plan.options.data, counter(display, "preparing images"))
    given = {} if plan.start is None else {"the verifier": sha256_file(plan.start)}
    holds(data_contents(data) | given)
    epochs = plan.options.verifier.epochs
    kinds = [(f"{kind} {pairs}", epochs) for kind, pairs, _ in plan.keys]
    if plan.start is not None:
        named = f"--verifier {plan.start}"
        if doubt := refuse_a_leak(named, read_card(plan.start), data):
            display.say(f"note: it is not known whom {named} learnt from: {doubt}")
    work = Work(kinds, durations=out / "durations.json", display=display)
    return ScalingStudy(plan, data, compute=compute, folder=out / "notes", work=work).measure()
