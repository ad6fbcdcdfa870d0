"""``anonymize model``."""

import json
from pathlib import Path

import click

from anonymize.commands.common import PATH, refuse_missing
from anonymize.errors import UsageError, printable

LONGEST = 2000  # letters of a line; a card may hold anything


@click.group(epilog="Example: anonymize model show runs/quick")
def command() -> None:
    """Show a model file, or convert published weights into one."""


@command.command(epilog="Example: anonymize model show runs/quick/model.safetensors")
@click.argument("file", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def show(file: Path, as_json: bool) -> None:
    """Show what the model file FILE (or the model of a run) says of itself."""
    refuse_missing(file, "model file")
    from anonymize.fingerprint import sha256_file
    from anonymize.model_card import count_values, model_path, read_card

    path = model_path(file)
    card = read_card(path)
    about = {
        "file": str(path),
        "sha256": sha256_file(path),
        "values": count_values(path),
        **card.model_dump(),
    }
    if as_json:
        click.echo(json.dumps(about, indent=2))
    else:
        _print(about)


@command.command(
    epilog="Example: anonymize model convert generator_mu_0.01.pth prichexy.safetensors --mu 0.01"
)
@click.argument("source", metavar="SRC.pth", type=PATH)
@click.argument("out", metavar="DST.safetensors", type=PATH)
@click.option("--mu", type=float, help="Generator: the strength it was trained for, 0 to 1.")
@click.option(
    "--kind",
    type=click.Choice(["auto", "generator", "privacy-net", "verifier", "classifier"]),
    default="auto",
    help="Which network the file holds; auto tells it by the names.",
)
@click.option("--size", type=int, default=256, help="It was trained on size × size images.")
@click.option(
    "--border",
    type=click.Choice(["replicate", "reference"]),
    help="Generator: reference repeats the published program's frame artefact. [replicate]",
)
@click.option(
    "--labels",
    metavar="NAMES|FILE",
    help="Classifier: names of its outputs in their order, separated by commas, or a file with "
    "one a line. [the 14 of ChestX-ray14]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def convert(source, out, mu, kind, size, border, labels, as_json) -> None:
    """Make a model file DST of weights SRC that a published program saved.

    PriCheXy-Net's generators, Privacy-Net's encoder, the siamese verifier (ResNet-50) and
    classifiers (DenseNet-121) are known. Nothing in SRC is executed: it may hold tensors and
    nothing else.
    """
    refuse_missing(source, "weight file")
    from anonymize.convert.architectures import Settings
    from anonymize.convert.published import convert as converted

    settings = Settings(mu=mu, border=border, size=size, labels=_labels(labels))
    card = converted(source, out, kind=kind, settings=settings)
    if as_json:
        click.echo(json.dumps({"file": str(out), **card.model_dump()}, indent=2))
        return
    _print({"file": str(out), **card.model_dump(exclude={"versions"})})
    use = {
        "anonymizer": f"anonymize apply IN OUT --model {out}",
        "classifier": f"anonymize train --classifier {out}",
        "verifier": f"anonymize train --verifier {out}",
    }
    if card.architecture.get("border") == "replicate":
        click.echo(
            f"{'note':>12}  the published program folds a frame of 4 px inwards at every mu; this "
            "model does not (--border reference would)"
        )
    click.echo(f"{'next':>12}  {use[card.kind]}")


def _labels(text: str | None) -> list[str] | None:
    """Names separated by commas, or the lines of a file."""
    if text is None:
        return None
    names = text.split(",")
    if len(names) == 1 and Path(text).is_file():
        try:
            names = Path(text).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            raise UsageError("--labels: the file is no UTF-8 text") from None
    return [name.strip() for name in names if name.strip()]


def _print(about: dict) -> None:
    for key, value in about.items():
        if isinstance(value, dict):
            value = ", ".join(
                f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in value.items()
            )
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        if value not in ("", [], {}):
            click.echo(f"{key:>12}  {printable(str(value), most=LONGEST)}")
