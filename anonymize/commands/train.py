"""``anonymize train``: an anonymizer, or with a subcommand a classifier or a verifier alone."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import click
from click.core import ParameterSource

from anonymize.commands.common import refuse_missing
from anonymize.commands.run_options import TrainArguments, run_options, started
from anonymize.errors import UsageError, counted


@click.group(
    invoke_without_command=True,
    subcommand_metavar="[classifier|verifier]",
    epilog="Example: anonymize train --mu 0.01 --source chestxray14 --root /data/CXR8 "
    "--set data.size=128 --out runs/cxr8",
)
@click.option(
    "--mu",
    type=click.FloatRange(min=0),
    help="Largest displacement; [-1, 1] spans the image, or as generator.unit says. [0.01]",
)
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
    given = {"classifier": classifier, "verifier": verifier}
    given = {kind: spec for kind, spec in given.items() if spec is not None}
    wanted = TrainArguments(**asked, mu=mu)
    for spec in given.values():
        if not wanted.finished and not spec.startswith("xrv:"):
            refuse_missing(spec, "model file")
    _run(wanted, device, as_json, describe, given)


@command.command(
    epilog="Example: anonymize train classifier --source chestxray14 --root /data/CXR8 "
    "--set classifier.architecture=densenet121 --out runs/chexnet"
)
@run_options
def classifier(device, as_json, **asked) -> None:
    """Train a classifier of findings alone, and test it.

    Mean AUC and the AUC of every finding on the test part, with 95 % intervals by resampling
    patients, in classifier_test.json and .png. The same command again continues.
    """
    _run(TrainArguments(**asked, part="classifier"), device, as_json, describe_classifier)


@command.command(
    epilog="Example: anonymize train verifier --source chestxray14 --root /data/CXR8 "
    "--set data.negatives=fresh --set verifier.architecture=resnet50 --out runs/snn"
)
@run_options
def verifier(device, as_json, **asked) -> None:
    """Train a siamese verifier alone, and test it: do two images show the same patient?

    data.negatives=fixed keeps the training pairs (FTS), fresh draws them again each epoch (RNP).
    AUC with 95 % intervals, accuracy, specificity, recall, precision, F1, ROC and confusion matrix
    on the test pairs, in verifier_test.json and .png. The same command again continues.
    """
    _run(TrainArguments(**asked, part="verifier"), device, as_json, describe_verifier)


def _run(
    asked: TrainArguments,
    device: str,
    as_json: bool,
    describe: Callable[[dict, str], list[str]],
    given: dict[str, str] | None = None,
) -> None:
    begin = time.monotonic()
    with started(asked, device) as (run, options, compute, shown):
        from anonymize.training.part_runs import train_part
        from anonymize.training.run import train

        if asked.part is None:
            summary = train(options, run, compute=compute, given=given or {}, display=shown)
        else:
            summary = train_part(asked.part, options, run, compute=compute, display=shown)
    if not compute.main:
        return
    if as_json:
        click.echo(json.dumps(summary, indent=2))
        return
    done = f"Done in {(time.monotonic() - begin) / 60:.1f} minutes"
    click.echo("\n".join(["", *describe(summary, done)]))


def _refuse_options(context: click.Context) -> None:
    """Options before the part's name would be forgotten."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if source not in (ParameterSource.DEFAULT, None):
            raise UsageError(
                f"{parameter.opts[0]} stands before {context.invoked_subcommand}; options of "
                f"`{context.command_path} {context.invoked_subcommand}` stand after it"
            )


def describe(summary: dict, done: str) -> list[str]:
    """What a run made, how private and how useful it is, and what to type next."""
    run, test = summary["run"], summary["test"]
    moved, does = summary["displacement_px"], "paints each image anew."
    if moved is not None:
        does = (
            f"moves each pixel by {moved['mean']:.2f} px on average, {moved['max']:.2f} px at most."
        )
    return [
        f"{done}: {run}/model.safetensors {does}",
        *_training(summary),
        f"On the test part ({counted(test['images'], 'image')} of "
        f"{counted(test['patients'], 'patient')}):",
        "",
        *summary["hides"]["said"],
        "",
        "Next, with every attacker and what the images teach:",
        f"  attacks evaluate --run {run}",
    ]


def _training(summary: dict) -> list[str]:
    """How far the training went; nothing of runs that did not keep it."""
    said = summary.get("training", {}).get("in_words")
    return [f"Training {said}: {summary['run']}/training.png"] if said else []


def describe_classifier(summary: dict, done: str) -> list[str]:
    """The AUCs on the test part, line by line."""
    test = summary["test"]
    width = max(map(len, test["per_class"]), default=0)
    known = [v for v in test["per_class"].values() if v["auc"] is not None]
    return [
        f"{done}: {summary['model']}",
        f"On the test part ({counted(test['images'], 'image')} of "
        f"{counted(test['patients'], 'patient')}), AUC and its 95 % interval by resampling "
        "patients:",
        "",
        *(
            f"  {name:<{width}}  {_auc(value):<22} {value['positives']:,} of "
            f"{counted(value['known'], 'image')}"
            for name, value in test["per_class"].items()
        ),
        f"  {'mean':<{width}}  {_auc(test):<22} {counted(len(known), 'finding')}",
        *_next_of_part(summary),
    ]


def describe_verifier(summary: dict, done: str) -> list[str]:
    """The figures of the test pairs, line by line."""
    test = summary["test"]
    counts, pairs = test["confusion"], _interval(test["ci95_pairs"])
    called = [
        f"{name.replace('f1', 'F1')} {'undefined' if test[name] is None else f'{test[name]:.3f}'}"
        for name in ("accuracy", "specificity", "recall", "precision", "f1")
    ]
    return [
        f"{done}: {summary['model']}",
        f"On the test part ({counted(test['pairs'], 'pair')} of "
        f"{counted(test['patients'], 'patient')}; trained with {summary['training']}):",
        "",
        f"  AUC {_auc(test)} resampling patients{pairs and f',{pairs} resampling pairs'}",
        f"  threshold {test['threshold']:g}: {', '.join(called)}",
        "",
        f"  {'the pair shows':<18}{'said: the same':>16}{'said: strangers':>17}",
        f"  {'the same patient':<18}{counts['true_positive']:>16}{counts['false_negative']:>17}",
        f"  {'strangers':<18}{counts['false_positive']:>16}{counts['true_negative']:>17}",
        *_advice(test),
        *_next_of_part(summary),
    ]


def _next_of_part(summary: dict) -> list[str]:
    part, run = summary["part"], Path(summary["model"]).parent
    return [
        "",
        f"written: {run}/{part}_test.json, {part}_test.png",
        f"Next: anonymize train --{part} {run}",
    ]


def _advice(test: dict) -> list[str]:
    """Ranking well and yet calling nearly all pairs the same: the scores' scale is another."""
    if test["auc"] < 0.7 or min(test["recall"], test["specificity"]) > 0.2:
        return []
    return [
        "",
        f"  The threshold {test['threshold']:g} does not suit these scores: go by the AUC. "
        "(verifier.objective=batch ranks pairs and leaves their scale alone.)",
    ]


def _auc(value: dict) -> str:
    return "undefined" if value["auc"] is None else f"{value['auc']:.3f}{_interval(value['ci95'])}"


def _interval(ci95: list[float] | None) -> str:
    return "" if ci95 is None else f" ({ci95[0]:.3f}–{ci95[1]:.3f})"
