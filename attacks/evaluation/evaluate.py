"""Methods × attackers × repeats on one data set → one results.json. Reads top to bottom."""

from __future__ import annotations

import platform
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from torch import Tensor

from anonymize.data.dataset import Dataset
from anonymize.data.table import PARTS
from anonymize.display import counter
from anonymize.model_file import versions
from anonymize.statistics import Measured
from anonymize.training.compute import Compute
from attacks.evaluation.check_record import tested
from attacks.evaluation.checks import run_checks
from attacks.evaluation.differences import (
    Compared,
    control_for,
    over_generators,
    with_differences,
)
from attacks.evaluation.evaluator import MeasuredMethod, MethodEvaluator
from attacks.evaluation.floors import Floors
from attacks.evaluation.notes import say_outdated
from attacks.evaluation.pinned import course_of, pinned, training_of
from attacks.evaluation.plan import Entrant, Plan, possible
from attacks.evaluation.provenance import provenance
from attacks.evaluation.recorded import Recorded
from attacks.evaluation.reference import Reference
from attacks.evaluation.sweep import reference_of, train_entrant
from attacks.evaluation.utility_checks import marked, nothing_is_held_back
from attacks.evaluation.work import Display, Silent, Work
from attacks.measuring.estimates import Floor
from attacks.measuring.extremes import PairPictures
from attacks.measuring.matching import matched_by
from attacks.measuring.small_groups import small_groups
from attacks.results import Check, Made, Results, Source

Runs = Mapping[str, Sequence[Mapping[str, Measured]]]


@dataclass(frozen=True)
class Evaluation:
    """Results, and by title of a method a few released images (N, 1, H, W) of one patient each,
    their displacements (N, 2, H, W) in pixels where the method deforms, pairs of its strongest
    attacker, and the figures of every run by attacker (of kept ones, the AUCs alone). Images are
    NaN where nothing was released of a patient."""

    results: Results
    images: dict[str, Tensor] = field(default_factory=dict)
    displacements: dict[str, Tensor] = field(default_factory=dict)
    pairs: dict[str, PairPictures] = field(default_factory=dict)
    runs: dict[str, Runs] = field(default_factory=dict)


def evaluate(
    plan: Plan,
    out: Path,
    *,
    compute: Compute,
    display: Display | None = None,
) -> Evaluation:
    """Trains what is missing and measures every method.

    Stopped, the same call goes on at the epoch where it was.

    Args:
        compute: what trains and runs networks, as the plan's options say.
        out: folder of what was measured, and of a reference that the plan does not name.
        display: shows the pieces of work and when they will be done.
    """
    display = Recorded(display or Silent(), out)
    data = Dataset.open(plan.options.data, counter(display, "preparing images"))
    plan, left_out = possible(plan, data)
    for reason in left_out:
        display.say(reason)
    origin = provenance(plan, data)
    work = Work(plan.work(), durations=out / "durations.json", display=display)
    folder = plan.reference or reference_of(
        plan.options, out, (), plan.parts, images=data.table.fingerprint
    )
    say_outdated([folder], display.say, file="/*.safetensors")
    reference = Reference(folder, plan.parts, plan.options, data, compute, work)
    reference.prepare(classifier=plan.needs_classifier, verifier=plan.needs_verifier)
    readers = _readers(plan, data, out, reference)
    evaluator = MethodEvaluator(plan, data, reference, readers, compute, out / "notes", work)
    measured: list[MeasuredMethod] = []
    left = deque(plan.entrants)
    while left:
        entrant = left.popleft()
        title = entrant.title
        if entrant.training is not None:
            train_entrant(entrant, folder, title=title, compute=compute, work=work)
        model = entrant.model(compute.device)
        found = evaluator.measure(model, entrant.varied, title)
        kept = {
            "seed": entrant.seed(model),
            "training": training_of(entrant),
            "fingerprint": model.fingerprint,
            **course_of(model),
        }
        measured.append(replace(found, method=found.method.model_copy(update=kept)))
        if entrant.control:
            left.appendleft(Entrant(control_for(found.method, data.images.size)))
    reads = readers[0] if readers else reference
    owners, read = evaluator.attacks.real.owners, evaluator.on_real_images
    floors = Floors(plan, data, owners, reads, compute, read)
    others = [check for check in (origin, tested(a.key for a in plan.chosen)) if check is not None]
    linked = floors.measured(m.method for m in measured)
    return _evaluation(plan, data, measured, linked, left_out, others)


def _readers(plan: Plan, data: Dataset, out: Path, reference: Reference) -> list[Reference]:
    """Those with the frozen classifiers, trained where they are not; none without utility."""
    if not plan.measures_utility:
        return []
    found = []
    for n, options in enumerate(plan.readers):
        if n == 0 and not plan.options.data.holds_back:
            found.append(reference)
            continue
        folder = reference_of(options, out, (), {}, images=data.table.fingerprint)
        every = replace(data, options=options.data)
        own = Reference(folder, {}, options, every, reference.compute, reference.work)
        own.prepare(classifier=True, verifier=False, which=f" {n + 1}/{len(plan.readers)}")
        found.append(own)
    return found


def _made() -> Made:
    """Now, and by what is installed."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Made(date=now, versions={"python": platform.python_version(), **versions()})


def _evaluation(
    plan: Plan,
    data: Dataset,
    measured: list[MeasuredMethod],
    floors: tuple[Floor, ...],
    left_out: tuple[str, ...],
    others: list[Check],
) -> Evaluation:
    table, rows = data.table, data.table.part(plan.part)
    results = Results(
        source=Source(
            name=table.source,
            images=len(rows),
            patients=int(table.frame.loc[rows, "patient_id"].nunique()),
            split={p: len(table.part(p)) for p in PARTS},
            part=plan.part,
            size=plan.options.data.size,
            labels=list(table.labels),
            held_back=list(data.held_back),
            unidentified=int((~table.frame.loc[rows, "identified"].astype(bool)).sum()),
            fingerprint=table.fingerprint,
        ),
        seed=plan.options.seed,
        command=plan.command,
        made=_made(),
        options=pinned(plan.options),
        matched_by=matched_by(table),
        groups=small_groups(table, rows),
        methods=[m.method for m in measured],
        floors=floors,
    )
    compared = [
        Compared(title, m.method, m.runs)
        for title, m in zip(results.titles(), measured, strict=True)
    ]
    together = {"methods": with_differences(compared), "generators": over_generators(compared)}
    results = marked(results.model_copy(update=together))
    if plan.options.data.holds_back and not data.held_back:
        others = [*others, nothing_is_held_back(table.labels)]
    checks = run_checks(results, left_out, others=others)
    results = results.model_copy(update={"checks": checks})
    by_title = dict(zip(results.titles(), measured, strict=True))
    return Evaluation(
        results,
        {title: m.images for title, m in by_title.items()},
        {title: m.displacement for title, m in by_title.items() if m.displacement is not None},
        {title: m.pairs for title, m in by_title.items() if m.pairs is not None},
        {title: m.runs for title, m in by_title.items()},
    )
