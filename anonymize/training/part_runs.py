"""A classifier or a verifier alone: trained as in a run, and measured on the test part.

The folder is a run's: the same command without the part goes on from there to an anonymizer.
"""

import json
from pathlib import Path
from typing import Any, Literal

import torch

from anonymize.data.dataset import Dataset
from anonymize.display import Display, Silent
from anonymize.networks.chexnet import Classifier
from anonymize.networks.siamese import Siamese
from anonymize.options import DataOptions, TrainOptions
from anonymize.runs import CLASSIFIER_TEST, VERIFIER_TEST
from anonymize.training.compute import Compute
from anonymize.training.folder import refuse_other_options, working, write_json
from anonymize.training.measures import measure_classifier, measure_verifier
from anonymize.training.part_figures import draw_classifier, draw_verifier
from anonymize.training.parts import FILES
from anonymize.training.stages import match, predict
from anonymize.training.steps import Steps


def train_part(
    kind: Literal["classifier", "verifier"],
    options: TrainOptions,
    run: Path,
    *,
    compute: Compute | None = None,
    display: Display | None = None,
) -> dict[str, Any]:
    """Trains that part of ``options`` in ``run`` as :func:`run.train` does; what it is worth, empty
    in processes that do not write."""
    compute, display = compute or Compute.of(options), display or Silent()
    finished = run / {"classifier": CLASSIFIER_TEST, "verifier": VERIFIER_TEST}[kind]
    refuse_other_options(run, options)
    if compute.broadcast(finished.is_file()):
        return json.loads(finished.read_text(encoding="utf-8"))
    summary: dict[str, Any] = {}
    with working(options, run, compute=compute, display=display) as steps:
        measure = _classifier if kind == "classifier" else _verifier
        network = (steps.classifier if kind == "classifier" else steps.verifier)(None)
        if compute.main:
            summary = {
                "part": kind,
                "model": str(run / FILES[kind]),
                "source": steps.data.table.source,
                "seed": options.seed,
                **measure(network, steps, finished.with_suffix(".png")),
            }
            write_json(summary, finished)
        compute.broadcast(None)
    return summary


def _classifier(network: Classifier, steps: Steps, picture: Path) -> dict[str, Any]:
    data, options = steps.data, steps.options
    rows = data.table.part("test")
    test = measure_classifier(
        predict(network, data.images, rows, steps.device),
        data.targets[rows],
        data.patients[rows],
        data.table.labels,
        resamplings=options.evaluation.resamplings,
        seed=options.seed,
    )
    draw_classifier(test, picture, title=_title("Classifier", options.classifier, data))
    return {"test": test}


def _verifier(network: Siamese, steps: Steps, picture: Path) -> dict[str, Any]:
    data, options = steps.data, steps.options
    pairs = data.fixed_pairs("test")
    logits = match(network, data.images, data.images, pairs, steps.device)
    test = measure_verifier(
        torch.sigmoid(torch.from_numpy(logits).double()).numpy(),
        pairs.same,
        data.patients[pairs.first],
        resamplings=options.evaluation.resamplings,
        seed=options.seed,
    )
    draw_verifier(test, picture, title=_title("Verifier", options.verifier, data))
    return {"test": test, "training": handling(options)}


def handling(options: TrainOptions) -> str:
    """How training pairs were made, in the words of Packhäuser et al. 2022."""
    data: DataOptions = options.data
    if data.pair_list is not None:
        pairs = "FTS: a given list of pairs"
    elif data.negatives == "fixed":
        pairs = "FTS: fixed pairs"
    else:
        pairs = "RNP: pairs drawn again each epoch"
    whole = "; in whole batches, every image against every other"
    return pairs + (whole if options.verifier.objective == "batch" else "")


def _title(part: str, options: Any, data: Dataset) -> str:
    size = data.options.size
    return f"{part} ({options.architecture}) on the test part of {data.table.source}, {size} px"
