"""``attacks evaluate``."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import click

from anonymize.commands.common import device_option, find_device, progress_bar
from anonymize.errors import UsageError, make_folder
from anonymize.key_files import without_key_files

DEFAULT_METHOD = "dp-pix:b=8,epsilon=0.1,seed=0"


@click.command(
    epilog="Example: attacks evaluate --run runs/quick --method dp-pix:b=2,epsilon=0.1 "
    "--repeats 3 --out evaluation"
)
@click.option("--run", "runs", multiple=True, type=click.Path(path_type=Path), help="A run.")
@click.option("--method", "methods", multiple=True, help="A method, for instance dp-pix:b=8.")
@click.option("--source", help="Another data set than the run's, by its reader's name.")
@click.option("--root", type=click.Path(path_type=Path), help="Folder of the data set.")
@click.option("--config", help="Options, where no run gives them. [quick]")
@click.option("--part", type=click.Choice(["test", "all"]), default="test", show_default=True)
@click.option("--attackers", help="Names, separated by commas. [all]")
@click.option("--repeats", type=int, help="Independent trainings of a trained attacker.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any other option.")
@click.option("--seed", type=int, help="Of every random choice. [the run's]")
@click.option("--out", type=click.Path(path_type=Path), help="Folder. [evaluation or RUN/…]")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@device_option
def command(
    runs,
    methods,
    source,
    root,
    config,
    part,
    attackers,
    repeats,
    settings,
    seed,
    out,
    as_json,
    device,
) -> None:
    """Attack released images, and measure what they are still good for.

    Real images, runs and methods are compared on one data set. Probes are released images, the
    gallery holds real ones, an image is never compared with itself. Stopped, the same command
    continues where it was.
    """
    import anonymize
    from anonymize.options import parse_setting
    from anonymize.runs import newest_run
    from attacks.report import write_evaluation
    from attacks.tradeoff import ATTACKERS, Plan, evaluate

    if not runs and not methods and source is None and config is None:
        if newest_run() is None:
            raise UsageError(
                "there is no finished run under ./runs; train one (`anonymize train --mu 0.01`), "
                "or name a --run, a --method, a --source or a --config"
            )
        runs = (newest_run(),)
    options, reference = _options(
        runs,
        config,
        {
            "data.source": source,
            "data.root": None if root is None else str(root.absolute()),
            "seed": seed,
            "evaluation.repeats": repeats,
        },
        dict(parse_setting(s) for s in settings),
    )
    specs = ["identity", *map(str, runs), *(methods or (DEFAULT_METHOD,))]
    chosen = find_device(device)
    models = [anonymize.load(spec, device=chosen) for spec in dict.fromkeys(specs)]
    plan = Plan(
        models=models,
        options=options,
        attackers=tuple(a.strip() for a in attackers.split(",")) if attackers else tuple(ATTACKERS),
        part=part,
        reference=reference,
        command=shlex.join(["attacks", *map(without_key_files, sys.argv[1:])]),
    )
    out = out or (runs[0] / "evaluation" if runs else Path("evaluation"))
    make_folder(out, "--out")
    with progress_bar("preparing images") as progress:
        evaluation = evaluate(
            plan,
            out,
            device=chosen,
            say=lambda line: click.echo(line, err=as_json),
            progress=progress,
        )
    results = evaluation.results
    write_evaluation(results, out, images=evaluation.images, displacements=evaluation.displacements)
    if as_json:
        click.echo(json.dumps(results.model_dump(mode="json", by_alias=True), indent=2))
        return
    click.echo((out / "table.md").read_text(encoding="utf-8"))
    for check in results.checks:
        if not check.passed:
            click.echo(f"do not trust: {check.message}")
    click.echo(f"written: {out}/report.html, results.json, table.csv, table.md, tradeoff.png/svg")


def _options(runs, config, changes: dict, settings: dict):
    """Options of the evaluation, and the run whose classifier and verifier serve it."""
    from anonymize.options import load_options
    from anonymize.runs import OPTIONS

    changes = {k: v for k, v in changes.items() if v is not None} | settings
    if config is not None or not runs:
        return load_options(config or "quick", changes), None
    path = runs[0] / OPTIONS
    if not path.is_file():
        raise UsageError(f"--run {runs[0]} is no run: it has no {OPTIONS}")
    own, options = load_options(path), load_options(path, changes)
    same = own.data == options.data and own.classifier == options.classifier
    return options, runs[0] if same and own.verifier == options.verifier else None
