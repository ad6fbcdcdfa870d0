"""Ranked lists of `attacks retrieve` and `attacks link`: made, written, told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from anonymize.display import counter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonymize.options import DataOptions
    from attacks.commands.one_attacker import AttackerArguments
    from attacks.evaluation.work import Display
    from attacks.linkage.album import Album
    from attacks.linkage.learnt import Prepared
    from attacks.linkage.ranking import Ranking

TOLD = 20  # probes of which a line is printed


def ranked(
    work: tuple[DataOptions, Display, Callable[[], Prepared]],
    probes: tuple[Any, str],
    gallery: tuple[Any, str],
    *,
    top: int,
    prior: float,
    naming: Callable[[Album, Album], Album] = lambda probes, gallery: probes,
) -> tuple[Ranking, Prepared]:
    """Two collections, each given with the name of its argument, ranked; and the attacker.

    Args:
        work: as `AttackerArguments.at_work` gives it.
        naming: gives the probes their patients.
    """
    from attacks.linkage.album import open_album
    from attacks.linkage.ranking import check_present, rank

    check_present(prior)
    read, shown, prepare = work
    arguments, known = (
        open_album(given, read, argument=name, progress=counter(shown, "reading images"))
        for given, name in (probes, gallery)
    )
    arguments, prepared = naming(arguments, known), prepare()
    found = rank(
        prepared, arguments, known, top=top, present=prior, report=counter(shown, "comparing")
    )
    return found, prepared


def write_ranking(
    name: str,
    ranking: Ranking,
    prepared: Prepared,
    arguments: AttackerArguments,
    figures: dict[str, Any] | None = None,
    *,
    said: Sequence[str] = (),
) -> None:
    """NAME.csv, NAME.json and NAME.png in OUT; a summary without names on standard output."""
    from attacks.linkage.private_files import write_json, write_picture, write_table
    from attacks.linkage.ranking import COLUMNS
    from attacks.reporting.match_sheet import in_words, ranking_sheet

    lines = ranking.lines()
    summary = {
        "probes": len(ranking.probes),
        "gallery": len(ranking.gallery),
        "prior_of_a_pair": ranking.prior,
        "highest_probability": prepared.calibration.highest(ranking.prior),
        "best": ranking.probabilities[:, 0].tolist(),
        **(figures or {}),
        "attacker": prepared.learnt.model_dump(mode="json"),
    }
    write_table(arguments.out / f"{name}.csv", COLUMNS, lines)
    write_json(arguments.out / f"{name}.json", summary | {"ranking": lines})
    write_picture(arguments.out / f"{name}.png", ranking_sheet(ranking))
    if arguments.as_json:
        click.echo(json.dumps(summary, indent=2))
        return
    for row in range(min(len(ranking.probes), TOLD)):
        best = ", ".join(map(in_words, ranking.probabilities[row, :3]))
        click.echo(f"probe {row + 1}: most probable {best}")
    if len(ranking.probes) > TOLD:
        click.echo(f"and {len(ranking.probes) - TOLD:,} more probes")
    click.echo(
        f"prior of a pair {ranking.prior:.2g}; the calibration supports no probability above "
        f"{in_words(prepared.calibration.highest(ranking.prior))}"
    )
    for line in (*said, *prepared.in_words()):
        click.echo(line)
    click.echo(f"written, for you only: {arguments.out}/{name}.csv, {name}.json, {name}.png")
