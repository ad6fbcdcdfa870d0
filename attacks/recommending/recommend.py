"""Which method for these data: reads, searches, chooses. Reads top to bottom."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from anonymize.data.dataset import Dataset
from anonymize.display import counter
from anonymize.errors import UsageError, counted
from anonymize.options import TrainOptions
from anonymize.training.compute import Compute
from attacks.evaluation.contents import contents_of
from attacks.evaluation.evaluate import Evaluation
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.claim import claimed
from attacks.evaluation.processes.work import Display, Silent, in_words
from attacks.recommending.candidates import ATTACKERS, candidates
from attacks.recommending.choice import Choice, Evidence, Wish, choose, too_few
from attacks.recommending.command_line import command_line, has_files
from attacks.recommending.evidence import bearing, evidence_of
from attacks.recommending.measuring import Measuring
from attacks.recommending.search import Deadline
from attacks.results import REAL


@dataclass(frozen=True)
class Asked:
    """What somebody wants.

    Attributes:
        keep: findings that a classifier must still read; (): all.
        wish: what a release may be.
        seconds: after which no further candidate is begun.
    """

    options: TrainOptions
    keep: tuple[str, ...] = ()
    wish: Wish = field(default_factory=Wish)
    seconds: float = 20 * 60.0
    command: str = ""


@dataclass(frozen=True)
class Recommendation:
    """What came out.

    Attributes:
        evidence: what it is made from; no points where nothing was measured to the end.
        left_out: why some candidates were not measured, in words.
        evaluation: all that was measured; None: nothing to the end.
        apply: the call that releases the data as recommended; "" where nothing is, or where the
            data are drawn.
    """

    asked: Asked
    choice: Choice
    evidence: Evidence
    left_out: dict[str, str] = field(default_factory=dict)
    evaluation: Evaluation | None = None
    apply: str = ""


def recommend(
    asked: Asked, out: Path, *, compute: Compute, display: Display | None = None
) -> Recommendation:
    """Measures as many candidates as the time allows and chooses among them.

    Called again with the same ``out``, it goes on where it was.

    Raises:
        UsageError: findings that the data set does not have, or a folder of something else.
        DataError: data that cannot be read, or no patient with several images in a part.
    """
    display, deadline = display or Silent(), Deadline(asked.seconds)
    data = Dataset.open(asked.options.data, counter(display, "preparing images"))
    options = _keeping(asked.options, asked.keep, data)
    data = replace(data, options=options.data)
    patients = bearing(data)
    if too_few(patients):
        evidence = Evidence(None, (), patients=patients)
        return Recommendation(asked, choose(evidence, asked.wish), evidence)
    specs = candidates(options.data.size)
    display.say(
        f"up to {len(specs)} releases of {counted(len(data.table), 'image')} at "
        f"{options.data.size} px, one after the other for {in_words(asked.seconds)}; how many that "
        "allows is known after the first. Stopped, the same command goes on."
    )
    # With a seed the same lot can be drawn again.
    entrants = {spec: Entrant(f"{spec},seed={options.seed}") for spec in specs}
    plan = Plan([Entrant(REAL), *entrants.values()], options, ATTACKERS, command=asked.command)
    with claimed(out, "results", plan.subject) as holds:
        holds(contents_of(plan, data, out))
        found = Measuring(plan, entrants, out, compute).search(display, deadline)
        if found.found is None:
            return Recommendation(asked, Choice("not measured"), Evidence(None, ()))
        results = found.found.results
        evidence = evidence_of(results, found.done, patients=patients, kept=asked.keep)
        choice = choose(evidence, asked.wish)
        typed = ""
        if choice.outcome == "recommended" and choice.point is not None and has_files(data):
            typed = command_line(choice.point.spec, data, out)
    return Recommendation(asked, choice, evidence, found.left_out, found.found, typed)


def _keeping(options: TrainOptions, keep: Sequence[str], data: Dataset) -> TrainOptions:
    """Options in which methods are told of the findings to ``keep`` alone."""
    if not keep:
        return options
    labels = data.table.labels
    if unknown := [name for name in keep if name not in labels]:
        raise UsageError(
            f"--keep must name findings of source {data.table.source} "
            f"({', '.join(labels) or 'it has none'}), or looks; got {', '.join(unknown)}"
        )
    if options.data.holds_back:
        raise UsageError("--keep says what is held back; leave data.held_back out of --set")
    others = tuple(name for name in labels if name not in keep)
    told = options.data.model_copy(update={"held_back": others})
    return options.model_copy(update={"data": told})
