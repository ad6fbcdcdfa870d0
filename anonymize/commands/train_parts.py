"""``anonymize train classifier`` and ``anonymize train verifier``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import click

from anonymize.commands.run_options import Part, TrainArguments, run_options, started
from anonymize.errors import counted


@click.command(
    epilog="Example: anonymize train classifier --source chestxray14 --root /data/CXR8 "
    "--set classifier.architecture=densenet121 --out runs/chexnet"
)
@run_options
def classifier(device, as_json, **asked) -> None:
    """Train a classifier of findings alone, and test it.

    Mean AUC and the AUC of every finding on the test part, with 95 % intervals by resampling
    patients, in classifier_test.json and .png. The same command again continues.
    """
    _run("classifier", asked, describe_classifier, device, as_json)


@click.command(
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
    _run("verifier", asked, describe_verifier, device, as_json)


def _run(kind: Part, asked: dict, describe: Callable, device: str, as_json: bool) -> None:
    begin = time.monotonic()
    with started(TrainArguments(**asked, part=kind), device) as (run, options, compute, shown):
        from anonymize.training.part_runs import train_part

        summary = train_part(kind, options, run, compute=compute, display=shown)
    if not compute.main:
        return
    if as_json:
        click.echo(json.dumps(summary, indent=2))
        return
    part = summary["part"]
    lines = [
        "",
        f"Done in {(time.monotonic() - begin) / 60:.1f} minutes: {summary['model']}",
        *describe(summary),
        "",
        f"written: {run}/{part}_test.json, {part}_test.png",
        f"Next: anonymize train --{part} {run}",
    ]
    click.echo("\n".join(lines))


def describe_classifier(summary: dict) -> list[str]:
    """The AUCs on the test part, line by line."""
    test = summary["test"]
    width = max(map(len, test["per_class"]), default=0)
    known = [v for v in test["per_class"].values() if v["auc"] is not None]
    return [
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
    ]


def describe_verifier(summary: dict) -> list[str]:
    """The figures of the test pairs, line by line."""
    test = summary["test"]
    counts, pairs = test["confusion"], _interval(test["ci95_pairs"])
    called = [
        f"{name.replace('f1', 'F1')} {'undefined' if test[name] is None else f'{test[name]:.3f}'}"
        for name in ("accuracy", "specificity", "recall", "precision", "f1")
    ]
    return [
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
