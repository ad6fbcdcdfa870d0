"""Ranked lists of `attacks retrieve` and `attacks link`: made, written, told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonymize.display import counter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonymize.options import DataOptions
    from attacks.commands.one_attacker import AttackerArguments
    from attacks.evaluation.processes.work import Display
    from attacks.linkage.album import Album
    from attacks.linkage.learnt import Prepared
    from attacks.linkage.ranking import Ranking

TOLD = 20  # probes of which a line is printed


def ranked(
    work: tuple[DataOptions, Display, Callable[[Album], Prepared]],
    given: Mapping[str, str | Sequence[str]],
    *,
    top: int,
    prior: float,
    naming: Callable[[Album, Album], Album] = lambda probes, gallery: probes,
) -> tuple[Ranking, Prepared]:
    """Probes and a gallery, ranked; and the attacker.

    Args:
        work: as `AttackerArguments.at_work` gives it.
        given: both, by the names of their arguments.
        naming: gives the probes their patients.
    """
    from attacks.linkage.album import open_both
    from attacks.linkage.ranking import check_present, rank

    check_present(prior)
    read, shown, prepare = work
    probes, gallery = open_both(given, read, counter(shown, "reading images"))
    probes = naming(probes, gallery)
    prepared = prepare(probes)
    report = counter(shown, "comparing")
    return rank(prepared, probes, gallery, top=top, present=prior, report=report), prepared


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
    from attacks.linkage.private_files import three_files
    from attacks.reporting.pictures.match_sheet import in_words, ranking_sheet

    highest = prepared.learnt.calibration.highest(ranking.prior)
    summary = {
        "probes": len(ranking.probes),
        "gallery": len(ranking.gallery),
        "prior_of_a_pair": ranking.prior,
        "highest_probability": highest,
        "best": ranking.probabilities[:, 0].tolist(),
        **(figures or {}),
    }
    best = (", ".join(map(in_words, row[:3])) for row in ranking.probabilities[:TOLD])
    told = [f"probe {row}: most probable {words}" for row, words in enumerate(best, start=1)]
    if len(ranking.probes) > TOLD:
        told.append(f"and {len(ranking.probes) - TOLD:,} more probes")
    told.append(
        f"prior of a pair {ranking.prior:.2g}; the calibration supports no probability above "
        f"{in_words(highest)}"
    )
    summary["attacker"] = prepared.learnt.model_dump(mode="json")
    lines = ranking.lines()
    files = three_files(name, lines, summary | {"ranking": lines}, ranking_sheet(ranking))
    arguments.report(
        files, summary, [*prepared.learnt.first(), *told, *said, *prepared.learnt.in_words()]
    )
