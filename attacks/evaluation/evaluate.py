"""Methods × attackers × repeats on one data set → one results.json. Reads top to bottom."""

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
from anonymize.statistics import FORMULA, Measured
from anonymize.training.compute import Compute
from attacks.evaluation.checks.check_record import tested
from attacks.evaluation.checks.checks import run_checks
from attacks.evaluation.checks.utility_checks import marked, nothing_is_held_back
from attacks.evaluation.contents import contents_of
from attacks.evaluation.differences import Compared, control_for, with_differences, with_margins
from attacks.evaluation.evaluator import MeasuredMethod
from attacks.evaluation.floors import Floors
from attacks.evaluation.pinned import course_of, pinned, training_of
from attacks.evaluation.plan import Entrant, Plan, possible
from attacks.evaluation.processes.claim import Holds, unknown
from attacks.evaluation.processes.crew import Crew
from attacks.evaluation.processes.recorded import Recorded
from attacks.evaluation.processes.session import Session
from attacks.evaluation.processes.work import Display, Silent, Work
from attacks.evaluation.provenance import provenance
from attacks.evaluation.several_generators import over_generators
from attacks.measuring.covariates import matched_by
from attacks.measuring.estimates import Floor
from attacks.measuring.extremes import PairPictures
from attacks.measuring.small_groups import small_groups
from attacks.registry import DONORS
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
    crew: Crew | None = None,
    holds: Holds = unknown,
) -> Evaluation:
    """Trains what is missing and measures every method.

    Stopped, the same call goes on at the epoch where it was.

    Args:
        out: folder of what was measured, and of a reference that the plan does not name.
        crew: the processes that share it out; None: this one alone.
        holds: of the claim of ``out`` (`processes.claim`): told what the inputs hold.
    """
    crew = crew or Crew()
    display = Recorded(display or Silent(), out)
    data = Dataset.open(plan.options.data, counter(display, "preparing images"))
    holds(contents_of(plan, data, out))
    plan, left_out = possible(plan, data)
    for reason in left_out:
        display.say(reason)
    origin = provenance(plan, data)
    setup = crew.setup(plan, out, compute.device, len(data.table))
    work = Work(plan.work(), durations=out / "durations.json", display=display)
    shared = crew.work(setup, len(data.table), work)
    if shared:  # everything is measured, and was shown
        work = Work(plan.work(), display=Silent())
    with setup.limited():
        session = Session(plan, out, data, compute, work, shared)
        found = _walk(session, left_out, origin)
    session.clean()
    return found


def _walk(session: Session, left_out: tuple[str, ...], origin: Check | None) -> Evaluation:
    """Every method, one after another."""
    plan, data, compute = session.plan, session.data, session.compute
    session.prepare()
    evaluator = session.evaluator
    measured: list[MeasuredMethod] = []
    left, known = deque(plan.entrants), {entrant.spec for entrant in plan.entrants}
    while left:
        entrant = left.popleft()
        if entrant.training is not None:
            session.train(entrant)
        model = session.model(entrant)
        target = evaluator.target(model, entrant.title, again=bool(measured))
        found = evaluator.measure(target, entrant.varied)
        kept = {
            "seed": entrant.seed(model),
            "training": training_of(entrant),
            "fingerprint": model.fingerprint,
            **course_of(model),
        }
        measured.append(replace(found, method=found.method.model_copy(update=kept)))
        if entrant.control:
            control = Entrant(control_for(found.method, data.images.size))
            if control.spec in known:
                session.work.less(plan.work_of_one(again=True), control.title)
            else:
                left.appendleft(control)
            known.add(control.spec)
    reads = (session.readers or [session.reference])[0]
    owners, read = evaluator.attacks.real.owners, evaluator.on_real_images
    floors = Floors(plan, data, owners, reads, compute, read)
    keys = [attacker.key for attacker in plan.chosen]
    keys += [DONORS] * any(m.method.image.donors is not None for m in measured)
    others = [check for check in (origin, tested(keys)) if check is not None]
    linked = floors.measured(m.method for m in measured)
    return _evaluation(plan, data, measured, linked, left_out, others)


def _made() -> Made:
    """Now, and by what is installed."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    known = {"python": platform.python_version(), **versions()}
    return Made(date=now, versions=known, intervals=FORMULA)


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
        Compared(title, m.method, m.runs, m.read)
        for title, m in zip(results.titles(), measured, strict=True)
    ]
    methods = with_margins(with_differences(compared))
    together = {"methods": methods, "generators": over_generators(compared)}
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
