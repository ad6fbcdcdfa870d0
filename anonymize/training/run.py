"""A run: data, classifier, verifier, generator, game, test. Reads top to bottom.

Every step leaves its result in the run's folder before the next one starts; a run that was
stopped continues at the epoch where it was.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anonymize.display import Display, Silent
from anonymize.options import TrainOptions
from anonymize.plugins import plugin
from anonymize.runs import SUMMARY
from anonymize.section import Product
from anonymize.training.compute import Compute
from anonymize.training.folder import (
    refuse_other_options,
    refuse_other_parts,
    working,
    write_json,
)
from anonymize.training.parts import find_part

FIRST_LOOK = ("anonymize.first_look", "hides")  # of the package that attacks


def train(
    options: TrainOptions,
    run: Path,
    *,
    compute: Compute | None = None,
    given: Mapping[str, str | Path] | None = None,
    display: Display | None = None,
    test: bool = True,
) -> dict[str, Any]:
    """Trains an anonymizer in the folder ``run``, or continues there, and returns its summary.

    Args:
        compute: what trains it, as the options say; None: they, on the CPU.
        given: "classifier" and "verifier" that are used instead of training one, as `find_part` has
            it.
        test: measures the model at the end; without, the summary is empty and the run is left
            without one, so that the same call with ``test`` completes it.

    Raises:
        UsageError: the folder holds something else, or a run with other options or networks.
    """
    compute, display = compute or Compute.of(options), display or Silent()
    finished = run / SUMMARY
    to: Product | None = None if test else "model"
    parts = {kind: find_part(spec, kind) for kind, spec in (given or {}).items()}
    refuse_other_options(run, options, to)
    refuse_other_parts(run, parts.values())
    if compute.broadcast(finished.is_file()):
        return json.loads(finished.read_text(encoding="utf-8"))
    with working(options, run, parts.values(), compute=compute, display=display, to=to) as steps:
        if "verifier" in parts:  # or a run that is stopped would train one when it goes on
            steps.verifier_file(parts["verifier"])
        auxiliary = steps.classifier(parts.get("classifier"))
        opponent = steps.verifier(parts.get("verifier"))
        generator = steps.pretrained_generator()
        model = steps.game(generator, opponent, auxiliary)
        if not test:
            return {}
        if compute.main:
            summary = steps.measured(model)
            look = plugin(*FIRST_LOOK)
            summary["hides"] = look(run, options, compute=compute.alone, display=display)
            write_json(summary, finished)
        compute.broadcast(None)
        return json.loads(finished.read_text(encoding="utf-8"))
