"""``attacks explain``."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from anonymize.commands.common import PATH, device_option, find_device
from anonymize.commands.progress import progress_bar
from attacks.commands import shared


@click.command(
    epilog="Examples: attacks explain --run runs/quick; attacks explain --verifier runs/snn "
    "--method dp-pix:b=8,epsilon=10 --source covid19 --root /data/covid19 --layers relu,layer2"
)
@click.option("--run", type=PATH, help="A run: data, verifier and method.")
@click.option("--verifier", metavar="RUN|FILE", help="Another verifier than the run's.")
@click.option("--method", help="Releases the probes; identity: they stay real. [the run's]")
@click.option("--source", help="Another data set than the run's, by its reader's name.")
@shared.DATA
@click.option("--part", default="test", help="train, validation, test or all.")
@click.option(
    "--layers",
    default="first,middle,last",
    help="Separated by commas: first, middle, last, or layers of the network by name.",
)
@click.option("--pairs", type=click.IntRange(1, 4), default=2, help="Shown of each kind.")
@click.option(
    "--average", type=click.IntRange(1), default=200, help="Genuine pairs for the mean map."
)
@shared.SETTINGS
@click.option("--out", type=PATH, help="Folder. [RUN/explanation or …]")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@device_option
def command(
    run, verifier, method, part, layers, pairs, average, out, as_json, device, **asked
) -> None:
    """Show what a siamese verifier looks at.

    Heat maps (Grad-CAM of the pair's score) over released and real images: the surest pairs of one
    patient, those it misses, and pairs of two patients that it takes for one; and the mean map over
    many genuine pairs. Needs pip install "anonymize-cxr[explain]". Writes explain.png and
    explain.json; the picture shows real images.
    """
    from attacks.commands import early

    if run is None and verifier is None:
        run = shared.newest("train one (`anonymize train`), or name a --run or a --verifier")
    early.refuse(shared.changes(asked), runs=() if run is None else (run,), methods=(method,))
    import anonymize
    from anonymize.configuration import load_options
    from anonymize.data.dataset import Dataset
    from anonymize.fingerprint import sha256_file
    from anonymize.runs import MODEL
    from anonymize.training.parts import find_part
    from attacks.evaluation.contents import data_contents
    from attacks.evaluation.processes.claim import claimed, of_options
    from attacks.evaluation.sweep import run_options
    from attacks.reporting.kept import keep_private
    from attacks.reporting.pictures.explanation_sheet import explanation_sheet
    from attacks.studies.explanation import ExplanationPlan, explain
    from attacks.studies.heat_maps import library

    library()  # before images are prepared
    changes = shared.changes(asked)
    options = load_options("quick", changes) if run is None else run_options(run, changes)
    given = find_part(verifier or run, "verifier")
    given.check()
    if method is None:
        method = str(run) if run is not None and (run / MODEL).is_file() else "identity"
    chosen = find_device(device)
    model = anonymize.load(method, device=chosen)
    out = out or (run / "explanation" if run is not None else Path("explanation"))
    plan = ExplanationPlan(part, shared.names(layers), pairs, average, options.seed)
    of = {"verifier": str(given.path.resolve()), "method": method} | asdict(plan)
    with claimed(out, "explain", of | of_options(options)) as holds:
        with progress_bar("preparing images") as progress:
            data = Dataset.open(options.data, progress)
        read_by = {"the verifier": sha256_file(given.path), "the model": model.fingerprint}
        holds(data_contents(data) | read_by)
        found = explain(given.path, model, data, plan, device=chosen)
        content = json.dumps(found.plain(), indent=2)
        (out / "explain.json").write_text(content + "\n", encoding="utf-8")
        keep_private(out / "explain.png")
        explanation_sheet(found, out / "explain.png")
    if as_json:
        click.echo(content)
        return
    for title, (height, width) in found.shapes.items():
        click.echo(f"{title}: maps of {height} × {width}")
    click.echo(f"written: {out}/explain.png, explain.json")
