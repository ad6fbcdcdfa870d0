"""``anonymize train``: an anonymizer, or with a subcommand one of its parts."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click
from click.core import ParameterSource

from anonymize.commands import train_parts
from anonymize.commands.common import refuse_missing
from anonymize.commands.run_options import TrainArguments, run_options, started
from anonymize.errors import UsageError, counted
from anonymize.runs import SUMMARY


@click.group(
    invoke_without_command=True,
    subcommand_metavar="[classifier|verifier]",
    epilog="Example: anonymize train --mu 0.01 --source chestxray14 --root /data/CXR8 "
    "--set data.size=128 --out runs/cxr8",
)
@click.option("--mu", type=float, help="Largest displacement; [-1, 1] spans the image. [0.01]")
@click.option(
    "--classifier",
    metavar="RUN|FILE|xrv:NAME",
    help="Use this, train none; xrv: one of torchxrayvision's, as xrv:densenet121-res224-nih.",
)
@click.option("--verifier", metavar="RUN|FILE", help="Use this, train none.")
@run_options
@click.pass_context
def command(context, mu, classifier, verifier, device, as_json, **asked) -> None:
    """Train an anonymizer: PriCheXy-Net, or another with --set generator.method=NAME.

    Trains a classifier and a verifier on the data set, then the generator against both, and
    tests what came out. The same command again continues a run that was stopped.

    `anonymize train classifier` and `anonymize train verifier` train one of these alone.
    """
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    begin, given = time.monotonic(), {"classifier": classifier, "verifier": verifier}
    given = {kind: spec for kind, spec in given.items() if spec is not None}
    finished = Path(asked["resume"] or asked["out"] or "", SUMMARY).is_file()
    for spec in given.values():
        if not finished and not spec.startswith("xrv:"):
            refuse_missing(spec, "model file")
    with started(TrainArguments(**asked, mu=mu), device) as (run, options, compute, shown):
        from anonymize.training.run import train

        summary = train(options, run, compute=compute, given=given, display=shown)
    if not compute.main:
        return
    if as_json:
        click.echo(json.dumps(summary, indent=2))
    else:
        click.echo(describe(summary, time.monotonic() - begin))


command.add_command(train_parts.classifier)
command.add_command(train_parts.verifier)


def _refuse_options(context: click.Context) -> None:
    """Options before the part's name would be forgotten."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if source not in (ParameterSource.DEFAULT, None):
            raise UsageError(
                f"{parameter.opts[0]} stands before {context.invoked_subcommand}; options of "
                f"`{context.command_path} {context.invoked_subcommand}` stand after it"
            )


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
        f"On the test part ({counted(test['images'], 'image')} of "
        f"{counted(test['patients'], 'patient')}, {counted(test['pairs'], 'pair')} "
        "released-to-real, AUC):",
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
