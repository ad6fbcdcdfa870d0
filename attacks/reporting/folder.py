"""The folder of an evaluation: results, tables, pictures and the report."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from anonymize.fingerprint import sha256_file
from attacks.evaluation.evaluate import Evaluation
from attacks.reporting import readings
from attacks.reporting.attacker_table import attacker_table
from attacks.reporting.comparison import VERIFICATION, notes, table_1, write_table_1
from attacks.reporting.figure_rows import COLUMNS, figure_rows, write_csv
from attacks.reporting.generator_table import NOTE, generator_table
from attacks.reporting.kept import harmless_evaluation, keep_private, write_kept
from attacks.reporting.pictures.examples import crops, differences, examples
from attacks.reporting.pictures.paper_figures import figure_2
from attacks.reporting.pictures.roc import has_roc, roc
from attacks.reporting.pictures.tradeoff import tradeoff
from attacks.reporting.pictures.world_curve import has_world, world_curve
from attacks.reporting.policy_tables import world_page
from attacks.reporting.report import Beside, is_private, write_report
from attacks.reporting.tables import floor_table, not_repeated, table, text, trainings
from attacks.results import Results

PAGE, PUBLIC_PAGE = "report.html", "report-public.html"
FORMATS = (".png", ".svg", ".pdf")  # of the figures for papers


def write_evaluation(
    evaluation: Evaluation, out: Path, *, published: bool = False, beside: Beside | None = None
) -> list[str]:
    """Writes everything and returns the names of the files.

    results.json, what :func:`write_pages` writes, and what `attacks report` makes that of again:
    pictures.npz and draws.npz.

    Args:
        published: whether the paper's figures belong beside ours.
        beside: what else the report shows.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    evaluation.results.write(out / "results.json")
    kept = write_kept(evaluation, out)
    beside = replace(beside or Beside(), digest=sha256_file(out / "results.json"))
    written = write_pages(evaluation, out, published=published, beside=beside)
    return ["results.json", *kept, *written]


def write_pages(
    evaluation: Evaluation, out: Path, *, beside: Beside, published: bool = False
) -> list[str]:
    """Writes what people read, and returns the names of the files.

    table.csv, table.md, attackers.md, floors.md and world.md; tradeoff, roc and world as .png, .svg
    and .pdf; examples.png, report.html, report-public.html; and if ``published`` table1.md and
    .csv, figure2.png, figure3.png and differences.png too.
    Files with pictures of people have mode 0600.
    """
    given, evaluation = evaluation, harmless_evaluation(evaluation)
    results = evaluation.results
    write_csv(out / "table.csv", COLUMNS, figure_rows(results))
    names = ["table.csv"]
    for name, shown in pages(results).items():
        (out / name).write_text(shown, encoding="utf-8")
        names.append(name)
    if published:
        write_table_1(results, out)
        names += ["table1.md", "table1.csv"]
    for files, draw, shows_people in _pictures(evaluation, published):
        if shows_people and is_private(evaluation):
            for file in files:
                keep_private(out / file)
        draw(*(out / file for file in files))
        names += files
    if published:
        beside = replace(beside, published=(table_1(results), notes(results)))
    write_report(given, out / PUBLIC_PAGE, beside, public=True)
    write_report(given, out / PAGE, beside)
    return [*names, PUBLIC_PAGE, PAGE]


def _pictures(
    evaluation: Evaluation, published: bool
) -> Iterator[tuple[list[str], Callable[..., None], bool]]:
    """Files, how they are drawn, and whether they show images, of each that there is something
    for."""
    results, images = evaluation.results, evaluation.images
    yield _formats("tradeoff"), partial(tradeoff, results), False
    if has_roc(results):
        yield _formats("roc"), partial(roc, results), False
    if has_world(results):
        yield _formats("world"), partial(world_curve, results), False
    if images:
        yield ["examples.png"], lambda path: examples(images, path, evaluation.displacements), True
    if not published:
        return
    listed = (readings.auc(m.privacy.get(VERIFICATION), readings.LISTED) for m in results.methods)
    attacked = any(found is not None for found in listed)
    if attacked and any(m.utility.frozen is not None for m in results.methods):
        yield ["figure2.png"], lambda path: figure_2(results, path), False
    if images:
        yield ["figure3.png"], lambda path: crops(images, path), True
    if len(images) > 1:
        yield ["differences.png"], lambda path: differences(images, path), True


def _formats(name: str) -> list[str]:
    return [f"{name}{kind}" for kind in FORMATS]


def pages(results: Results) -> dict[str, str]:
    """The tables for readers, by the names of their files."""
    notes = [readings.explained(results), *readings.floors(results)]
    several = generator_table(results)
    together = f"\n{text(several, [NOTE])}" if several[1] else ""
    found = {
        "table.md": text(
            table(results), [*notes, *readings.of_others(results), *not_repeated(results)]
        )
        + together,
        "attackers.md": text(attacker_table(results), notes + trainings(results)),
    }
    found |= {"floors.md": text(floor_table(results))} if results.floors else {}
    return found | ({"world.md": world_page(results)} if has_world(results) else {})
