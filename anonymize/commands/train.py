"""``anonymize train``."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from anonymize.commands.common import device_option, find_device, progress_bar
from anonymize.errors import UsageError
from anonymize.runs import OPTIONS, RUNS, SUMMARY


@click.command(
    epilog="Example: anonymize train --mu 0.01 --source chestxray14 --root /data/CXR8 "
    "--set data.size=128 --out runs/cxr8",
)
@click.option("--mu", type=float, help="Largest displacement; [-1, 1] spans the image. [0.01]")
@click.option(
    "--config", default="quick", show_default=True, help="A configuration by name, or a YAML file."
)
@click.option("--source", help="Name of the data set's reader. [phantom]")
@click.option("--root", type=click.Path(path_type=Path), help="Folder of the data set.")
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder. [runs/TIME-…]")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any other option.")
@click.option("--seed", type=int, help="Of every random choice. [0]")
@click.option("--classifier", type=click.Path(path_type=Path), help="Use this; train none.")
@click.option("--verifier", type=click.Path(path_type=Path), help="Use this; train none.")
@click.option("--resume", type=click.Path(path_type=Path), help="Continue this run.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@device_option
def command(
    mu, config, source, root, out, settings, seed, classifier, verifier, resume, as_json, device
) -> None:
    """Train an anonymizer: PriCheXy-Net, or another with --set generator.method=NAME.

    Trains a classifier and a verifier on the data set, then the generator against both, and
    tests what came out. The same command again continues a run that was stopped.
    """
    from anonymize.options import load_options, parse_setting
    from anonymize.training.compute import launched
    from anonymize.training.run import train

    started = time.monotonic()
    chosen = find_device(device)
    if resume is not None:
        if (out, source, root, seed, config) != (None, None, None, None, "quick"):
            raise UsageError("--resume takes all options from the run; give no other ones")
        run, options = resume, _resumed(resume, dict(parse_setting(s) for s in settings), mu)
    else:
        changes = {
            "generator.mu": mu,
            "data.source": source,
            "data.root": None if root is None else str(root.absolute()),
            "seed": seed,
        }
        changes = {k: v for k, v in changes.items() if v is not None}
        options = load_options(config, changes | dict(parse_setting(s) for s in settings))
        run = out or _unfinished(options) or RUNS / _name(options)
        _same_options(run, options)
    compute = launched(chosen, precision=options.precision, accumulation=options.accumulation)
    # Several processes start within one second or two; their folder is the first one's.
    run = compute.agreed(run)
    chosen = compute.device
    if compute.main:
        processes = f", {compute.world} processes" if compute.world > 1 else ""
        click.echo(f"run {run}, on {chosen}{processes}", err=as_json)
    if getattr(options.generator, "mu", None) == 0:
        click.echo("warning: mu is 0, the images will not be deformed at all", err=True)
    with progress_bar("preparing images") as progress:
        summary = train(
            options,
            run,
            device=chosen,
            classifier=classifier,
            verifier=verifier,
            say=lambda line: click.echo(line, err=as_json),
            progress=progress,
            compute=compute,
        )
    if not compute.main:
        return
    if as_json:
        click.echo(json.dumps(summary, indent=2))
    else:
        click.echo(describe(summary, time.monotonic() - started))


def describe(summary: dict, seconds: float) -> str:
    """What a run made, how private and how useful it is, and what to type next."""
    run, test = summary["run"], summary["test"]
    privacy, utility = summary["verification_auc"], summary["classification_auc"]
    moved, does = summary["displacement_px"], "paints each image anew."
    if moved is not None:
        does = (
            f"moves each pixel by {moved['mean']:.2f} px on average, {moved['max']:.2f} px at most."
        )
    lines = [
        "",
        f"Done in {seconds / 60:.1f} minutes: {run}/model.safetensors {does}",
        f"On the test part ({test['images']} images of {test['patients']} patients, "
        f"{test['pairs']} pairs released-to-real, AUC):",
        "",
        "  how private: who is it? (0.5 = the attacker guesses)",
        *(f"    {name:<36} {value:.3f}" for name, value in privacy.items()),
        "  how useful: which findings? (1 = never wrong)",
        *(
            f"    {name:<36} {'undefined' if value is None else f'{value:.3f}'}"
            for name, value in utility.items()
        ),
        "",
        _whom_to_believe(privacy),
        "Next:",
        f"  attacks evaluate --run {run}",
        f"  anonymize apply IN OUT --model {run}",
    ]
    return "\n".join(lines)


def _whom_to_believe(privacy: dict[str, float]) -> str:
    before = privacy["released, pre-trained verifier"]
    again = privacy["released, verifier trained again"]
    if again < before - 0.005:
        return (
            "Do not trust the verifier trained again: it stays below the one it started from, so "
            "it is undertrained. Believe the higher figure, and evaluate."
        )
    if max(privacy.values()) < 0.7:
        return (
            "Do not trust these attackers: an AUC below 0.7 on real images shows a weak attacker, "
            "not privacy. Train the verifier longer or on more pairs, and evaluate."
        )
    return "Believe the strongest attacker, and expect stronger ones to exist."


def _name(options) -> str:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    mu = getattr(options.generator, "mu", None)
    made = options.generator.method if mu is None else f"mu{mu:g}"
    return f"{stamp}-{options.data.source}-{made}"


def _unfinished(options) -> Path | None:
    """The newest stopped run under ``runs/`` with exactly these options."""
    for path in sorted(RUNS.glob(f"*/{OPTIONS}"), reverse=True):
        if not (path.parent / SUMMARY).exists() and _read(path) == options:
            return path.parent
    return None


def _same_options(run: Path, options) -> None:
    if (run / OPTIONS).is_file() and _read(run / OPTIONS) != options:
        raise UsageError(f"{run} is a run with other options; choose another --out")


def _resumed(run: Path, changes: dict, mu: float | None):
    if not (run / OPTIONS).is_file():
        raise UsageError(f"--resume {run} is no run: it has no {OPTIONS}")
    options = _read(run / OPTIONS)
    if changes or (mu is not None and mu != getattr(options.generator, "mu", None)):
        raise UsageError("--resume continues with the run's own options; leave --mu and --set out")
    return options


def _read(path: Path):
    from anonymize.options import load_options

    return load_options(path)
