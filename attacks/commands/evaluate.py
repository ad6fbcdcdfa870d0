"""``attacks evaluate``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from anonymize import ray_cluster
from anonymize.commands.common import PATH, device_option, find_compute
from anonymize.errors import UsageError
from anonymize.key_files import without_key_files
from attacks.commands import shared
from attacks.commands.judgement import Judge, Told, policy_of, policy_options, said, status

if TYPE_CHECKING:
    from anonymize.options import TrainOptions
    from attacks.evaluation.plan import Plan
    from attacks.evaluation.protocol import Choices, Protocol
    from attacks.results import Results

DEFAULT_METHOD = "dp-pix:b=8,epsilon=0.1,seed=0"


@click.command(
    epilog="Examples: attacks evaluate --run runs/quick --method dp-pix:b=2,epsilon=0.1 "
    "--repeats 3; attacks evaluate --config evaluate_paper --source chestxray14 --root /data/CXR8 "
    "--out paper; attacks evaluate --source folder --root DATA --method mosaic:g=4,m=4 "
    "--policy public; attacks evaluate --workers 8; attacks evaluate --engine ray --address "
    "10.0.0.1:6379"
)
@click.option("--run", "runs", multiple=True, type=PATH, help="A run.")
@click.option("--method", "methods", multiple=True, help="A method, for instance dp-pix:b=8.")
@click.option("--source", help="Another data set than the run's, by its reader's name.")
@shared.DATA
@click.option(
    "--config",
    help="An evaluation with all that it trains (evaluate_paper, evaluate_reduced, a YAML file); "
    "or training options, where no run gives them. [quick]",
)
@click.option("--part", type=click.Choice(["test", "all"]), default="test")
@click.option(
    "--classifier",
    metavar="RUN|FILE|xrv:NAME",
    help="Reads the findings and judges the generators; none is trained then.",
)
@click.option(
    "--verifier", metavar="RUN|FILE", help="Of real images, to start from; none is trained then."
)
@click.option(
    "--attackers",
    help="Names, separated by commas; NAME:KNOWLEDGE for another level. "
    "[verification,histogram-metric,training-free]",
)
@click.option("--repeats", type=int, help="Independent trainings of a trained attacker.")
@shared.SETTINGS
@click.option("--seed", type=int, help="Of every random choice. [the run's]")
@policy_options
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    help="Processes, one a GPU where there are several; the figures are the same for any number "
    "where the option threads is set. [at most 4, as many as the machine has room for]",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Where processes run; ray needs the extra ray.",
)
@click.option("--address", help="Of a Ray cluster that sees the same files. [one on this machine]")
@click.option("--out", type=PATH, help="Folder. [evaluation or RUN/…]")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@device_option
def command(
    config, part, out, as_json, device, policy, release, answers, workers, engine, address, **asked
) -> None:
    """Attack released images, and measure what they are still good for.

    Real images, runs and methods are compared on one data set. Probes are released images, the
    gallery holds real ones, an image is never compared with itself. Stopped, the same command
    continues where it was.

    With --policy, every run and method that was asked for is judged, a line a demand, and the exit
    status is 5 unless all are passed; what is finished is judged without being measured anew.
    """
    from attacks.commands import early

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("attacks evaluate is one process; train with many, then give it --run")
    policy_of(policy, release, answers)
    _refuse_address(engine, address)
    asked["runs"] = _runs(asked, config)
    early.refuse(
        shared.changes(asked),
        config=config,
        runs=asked["runs"],
        methods=asked["methods"],
        attackers=shared.names(asked["attackers"]) if asked["attackers"] else (),
    )
    from attacks.commands.progress import display
    from attacks.evaluation.evaluate import evaluate
    from attacks.evaluation.processes.claim import claimed
    from attacks.evaluation.processes.crew import Crew
    from attacks.reporting.folder import write_evaluation
    from attacks.reporting.report import Beside

    choices = choices_of(asked, shlex.join(["attacks", *map(without_key_files, sys.argv[1:])]))
    protocol, plan, out = _planned(choices, config, part, out)
    judge = Judge.of(policy, release, answers, out)
    places = _asked_for(plan, asked) if protocol is None else None
    if judge is not None and (known := _finished(plan, out)) is not None:
        _end(judge, judge.tell(known, out, _titles(known, places)), known, as_json)
    compute = find_compute(plan.options, device)
    for entrant in (e for e in plan.entrants if e.training is None):
        entrant.model()
    with claimed(out, "results", plan.subject) as holds:
        with display() as shown:
            crew = Crew(workers, engine, address)
            found = evaluate(plan, out, compute=compute, display=shown, crew=crew, holds=holds)
        results = found.results
        told = None if judge is None else judge.tell(results, out, _titles(results, places))
        beside = Beside(verdicts=told[0] if told else ())
        published = protocol is not None and protocol.published
        names = write_evaluation(found, out, published=published, beside=beside)
    if told is None or not as_json:
        _tell(results, out, names, as_json)
    if judge is not None and told is not None:
        _end(judge, told, results, as_json)


def _finished(plan: Plan, out: Path) -> Results | None:
    """The results of this very evaluation, of these images and models, and of as many runs."""
    from anonymize.data.dataset import Dataset
    from attacks.evaluation.contents import contents_of
    from attacks.evaluation.pinned import as_often
    from attacks.evaluation.processes.claim import finished
    from attacks.results import Results

    def contents() -> Mapping[str, str]:
        return contents_of(plan, Dataset.open(plan.options.data), out)

    held = finished(out, "results", plan.subject, contents)
    known = None if held is None else Results.read(held)
    return known if known is not None and as_often(known, plan.options) else None


def _asked_for(plan: Plan, asked: Mapping[str, Any]) -> list[int] | None:
    """Places of the runs and methods that the user named, among all; None where none was."""
    named = {*map(str, asked["runs"]), *asked["methods"]}
    return [n for n, e in enumerate(plan.entrants) if str(e.spec) in named] or None


def _titles(results: Results, places: list[int] | None) -> list[str] | None:
    return None if places is None else [results.titles()[n] for n in places]


def _end(judge: Judge, told: Told, results: Results, as_json: bool) -> NoReturn:
    """The verdicts, on standard output; the exit status says whether all are passed."""
    verdicts, content = told
    if as_json:
        plain = results.model_dump(mode="json", by_alias=True)
        click.echo(json.dumps(plain | content, indent=2))
    else:
        click.echo("\n".join(said(verdicts)))
        click.echo(f"written: verdict.md; answers to the guidelines: {judge.file}")
    raise SystemExit(status(verdicts))


def _runs(asked: Mapping[str, Any], config: str | None) -> tuple[Path, ...]:
    """Those that are named; the newest one where nothing else is."""
    changes = shared.changes(asked)
    if asked["runs"] or asked["methods"] or "data.source" in changes or config is not None:
        return asked["runs"]
    advice = "or name a --run, a --method, a --source or a --config"
    return (shared.newest(f"train one (`anonymize train --mu 0.01`), {advice}"),)


def choices_of(asked: Mapping[str, Any], command: str = "") -> Choices:
    """What the command line chooses, of its values by their names; others are passed over."""
    from attacks.evaluation.protocol import Choices

    return Choices(
        changes=shared.changes(asked),
        runs=asked["runs"],
        methods=asked["methods"],
        attackers=_named(asked["attackers"]),
        parts={k: asked[k] for k in ("classifier", "verifier") if asked[k] is not None},
        command=command,
    )


def options_of(choices: Choices, config: str | None) -> TrainOptions:
    """The options of the evaluation: of the configuration, else of the first run."""
    from anonymize.configuration import load_options
    from attacks.evaluation.protocol import is_protocol, protocol_options, read_protocol
    from attacks.evaluation.sweep import run_options

    if config is not None and is_protocol(config):
        return protocol_options(read_protocol(config), choices.changes)
    if config is not None or not choices.runs:
        return load_options(config or "quick", choices.changes)
    return run_options(choices.runs[0], choices.changes)


def _named(attackers: str | None) -> list[str] | None:
    """Their names; a broken one is refused here, before the options would speak of it, too."""
    from attacks.registry import choose

    names = shared.names(attackers) if attackers else None
    for name in names or ():
        choose(name)
    return names


def _tell(results: Results, out: Path, names: list[str], as_json: bool) -> None:
    """Tables, checks that failed, and the files, on standard output."""
    from attacks.reporting.harmless import TEXT, harmless
    from attacks.reporting.tables import MAX_ATTACKER_COLUMNS

    if as_json:
        click.echo(json.dumps(results.model_dump(mode="json", by_alias=True), indent=2))
        return
    click.echo((out / "table.md").read_text(encoding="utf-8"))
    if len(results.attackers) > MAX_ATTACKER_COLUMNS:
        click.echo((out / "attackers.md").read_text(encoding="utf-8"))
    for check in results.checks:
        if not check.passed:
            message = harmless(check.message, TEXT)
            click.echo(f"{'note' if check.informative else 'do not trust'}: {message}")
    click.echo(f"written: {out}/{names[-1]}, {', '.join(names[:-1])}")


def _refuse_address(engine: str, address: str | None) -> None:
    """Of a cluster that is not asked for, or that nobody answers at."""
    if engine == "ray":
        ray_cluster.require(address)
    elif address is not None:
        raise UsageError("--address is of a Ray cluster; add --engine ray, or leave it out")


def _planned(
    choices: Choices, config: str | None, part: str, out: Path | None
) -> tuple[Protocol | None, Plan, Path]:
    """What is evaluated and in which folder; the evaluation file, where ``config`` names one."""
    from attacks.evaluation.protocol import is_protocol, plan_of, read_protocol

    if config is None or not is_protocol(config):
        return None, *_plan(choices, config, part, out)
    if part != "test":
        raise UsageError(f"--config {config} trains, so --part {part} would test on that")
    protocol, out = read_protocol(config), out or Path("evaluation")
    return protocol, plan_of(protocol, out, choices), out


def _plan(choices: Choices, config: str | None, part: str, out: Path | None) -> tuple[Plan, Path]:
    """The plan without an evaluation file: what the options name, and the folder for it."""
    from attacks.evaluation.plan import Entrant, Plan
    from attacks.evaluation.sweep import reference_of, run_options, same_reference
    from attacks.registry import DEFAULT
    from attacks.results import REAL

    runs = choices.runs
    out = out or (runs[0] / "evaluation" if runs else Path("evaluation"))
    options, reference = options_of(choices, config), None
    if config is None and runs and same_reference(run_options(runs[0]), options):
        reference = runs[0]
    specs = dict.fromkeys([REAL, *map(str, runs), *(choices.methods or (DEFAULT_METHOD,))])
    plan = Plan(
        entrants=[Entrant(spec) for spec in specs],
        options=options,
        attackers=choices.attackers or DEFAULT,
        part=part,
        reference=reference_of(options, out, (), choices.parts) if choices.parts else reference,
        parts=choices.parts,
        command=choices.command,
    )
    return plan, out
