"""``attacks check --known-answers``."""

import json
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from anonymize import whole_file
from anonymize.commands.common import find_compute
from anonymize.commands.group import Failure
from anonymize.display import counter
from attacks.commands import shared

FILE = "known_answers.json"


def answer(
    changes: Mapping[str, Any],
    attackers: str | None,
    out: Path | None,
    *,
    as_json: bool,
    device: str,
) -> None:
    """Evaluates the releases of known privacy, prints the table, and keeps it in ``out``. Raises
    Failure: an evaluation that misleads."""
    from anonymize.configuration import load_options
    from anonymize.data.dataset import Dataset
    from attacks.check.known_answers import ATTACKERS, answers, table
    from attacks.commands.progress import display
    from attacks.evaluation.contents import data_contents
    from attacks.evaluation.processes.claim import claimed, of_options

    options = load_options(Path(str(files("attacks.check") / "known_answers.yaml")), dict(changes))
    compute = find_compute(options, device)
    names = shared.names(attackers) if attackers else ATTACKERS
    with display() as shown, TemporaryDirectory() as temporary:
        folder = out or Path(temporary)
        with claimed(
            folder, Path(FILE).stem, of_options(options) | {"attackers": list(names)}
        ) as holds:
            data = Dataset.open(options.data, counter(shown, "preparing images"))
            holds(data_contents(data))
            found, evaluation = answers(
                options, folder, compute=compute, display=shown, attackers=names
            )
            content = {
                "source": evaluation.results.source.model_dump(
                    include={"name", "images", "patients"}
                ),
                "seed": options.seed,
                "attackers": list(names),
                "changed": {k: str(v) for k, v in changes.items() if k != "data.root"},
                "made": evaluation.results.model_dump(mode="json")["made"],
                "answers": [one.plain() for one in found],
            }
            text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
            whole_file.write(folder / FILE, text)
    click.echo(text if as_json else table(found), nl=False)
    counted: Counter[str] = Counter(one.verdict for one in found)
    verdicts = ("right", "marked", "WRONG")
    click.echo(", ".join(f"{counted[one]} {one}" for one in verdicts), err=as_json)
    if wrong := [one.case for one in found if one.verdict == "WRONG"]:
        raise Failure(f"an evaluation misleads about {', '.join(wrong)}", 1)
