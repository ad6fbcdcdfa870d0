"""The folder of an evaluation: results, tables, pictures and the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from attacks.evaluation.evaluate import Evaluation
from attacks.reporting import readings
from attacks.reporting.attacker_table import attacker_table
from attacks.reporting.comparison import VERIFICATION, notes, table_1, write_table_1
from attacks.reporting.examples import crops, differences, examples
from attacks.reporting.kept import write_kept
from attacks.reporting.pair_sheet import pair_sheet
from attacks.reporting.paper_figures import figure_2, findings, repeats
from attacks.reporting.report import Picture, write_report
from attacks.reporting.roc import has_roc, roc
from attacks.reporting.tables import (
    COLUMNS,
    figure_rows,
    floor_table,
    not_repeated,
    table,
    text,
    trainings,
    write_csv,
)
from attacks.reporting.tradeoff import tradeoff
from attacks.results import Results


def write_evaluation(evaluation: Evaluation, out: Path, *, published: bool = False) -> list[str]:
    """Writes everything and returns the names of the files.

    results.json, table.csv, table.md, attackers.md, floors.md, tradeoff.png and .svg, roc.png and
    .svg, examples.png, pairs.png and report.html; with ``published`` the paper's table1.md and
    .csv, figure2.png, figure3.png, differences.png, repeats.png and findings.png too.

    Args:
        evaluation: results with their checks; without images no pictures of them.
        out: folder; made where it is missing.
        published: whether the paper's figures belong beside ours.
    """
    results, images, pairs = evaluation.results, evaluation.images, evaluation.pairs
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    results.write(out / "results.json")
    kept = write_kept(evaluation, out)
    write_csv(out / "table.csv", COLUMNS, figure_rows(results))
    for name, shown in pages(results).items():
        (out / name).write_text(shown, encoding="utf-8")
    tradeoff(results, out / "tradeoff.svg")
    names = ["results.json", *kept, "table.csv", *pages(results), TRADEOFF.file, "tradeoff.svg"]
    curves = has_roc(results)
    if curves:
        roc(results, out / "roc.svg")
        names.append("roc.svg")
    if published:
        write_table_1(results, out)
        names += ["table1.md", "table1.csv"]
    listed = (readings.auc(m.privacy.get(VERIFICATION), readings.LISTED) for m in results.methods)
    attacked = published and any(found is not None for found in listed)
    read = published and any(m.utility.frozen is not None for m in results.methods)
    possible: list[tuple[Picture, Any, Callable[[Path], None]]] = [
        (TRADEOFF, True, lambda path: tradeoff(results, path)),
        (ROC, curves, lambda path: roc(results, path)),
        (EXAMPLES, images, lambda path: examples(images, path, evaluation.displacements)),
        (PAIRS, pairs, lambda path: pair_sheet(pairs, path)),
        (FIGURE_2, attacked and read, lambda path: figure_2(results, path)),
        (FIGURE_3, published and images, lambda path: crops(images, path)),
        (DIFFERENCES, published and len(images) > 1, lambda path: differences(images, path)),
        (REPEATS, attacked, lambda path: repeats(results, path)),
        (FINDINGS, read, lambda path: findings(results, path)),
    ]
    pictures = []
    for picture, wanted, draw in possible:
        if wanted:
            draw(out / picture.file)
            pictures.append(picture)
    names += [picture.file for picture in pictures[1:]]
    write_report(
        results,
        out / "report.html",
        folder=out,
        pictures=pictures,
        published=(table_1(results), notes(results)) if published else None,
    )
    return [*names, "report.html"]


def pages(results: Results) -> dict[str, str]:
    """The tables for readers, by the names of their files."""
    notes = [readings.explained(results)]
    found = {
        "table.md": text(
            table(results), [*notes, *readings.of_others(results), *not_repeated(results)]
        ),
        "attackers.md": text(attacker_table(results), notes + trainings(results)),
    }
    return found | {"floors.md": text(floor_table(results))} if results.floors else found


TRADEOFF = Picture(
    "tradeoff.png",
    "Privacy against utility",
    "Scatter plot: AUC of the strongest attacker against mean classification AUC, one mark a "
    "method",
    "Further left is more private, further up more useful. Bars are 95 % intervals. A tick at the "
    "height of a mark is the same attacker against all impostors. A method worth "
    "having lies well above and left of the straight line from the real images to the corner where "
    "both are chance.",
)
ROC = Picture(
    "roc.png",
    "How many are found at few false matches",
    "Curves: true match rate against false match rate on a logarithmic axis, one a method",
    "Each method's strongest attacker, against matched impostors where there are any. Who looks "
    "for one among thousands has to stay at the left. Faint where the data cannot certify so low a "
    "rate: it needs three over the rate independent comparisons, and a patient counts once.",
)
EXAMPLES = Picture(
    "examples.png",
    "Examples",
    "Real images, released images, and what changed",
    "Below each image: what changed (released − real), and, where a method deforms, how far each "
    "pixel moved. Scales are the same for all methods.",
)
PAIRS = Picture(
    "pairs.png",
    "What the strongest attacker finds, misses and mistakes",
    "Pairs of a probe and a gallery image: found, missed, and taken for one patient",
    "Each pair is a released image (left) and what it is compared with (right). The surest hits "
    "and the worst misses are pairs of one patient, the errors are pairs of two; below, how many "
    "of all impostor pairs score at least as high. A patient stands once in each column.",
)
FIGURE_2 = Picture(
    "figure2.png",
    "Figure 2 of the paper",
    "Scatter plot: verification AUC against classification AUC, the paper's figures beside ours",
    "The paper's reading of the attack: listed pairs, not those of the tables. Bars as published: "
    "standard deviation of the runs of the attack, 95 % interval of the classifier. A line joins "
    "the strengths of one method.",
)
FIGURE_3 = Picture(
    "figure3.png",
    "Figure 3 of the paper",
    "Each method's image, and a square of it enlarged",
    "The square is enlarged below each image.",
)
DIFFERENCES = Picture(
    "differences.png",
    "Difference maps",
    "Released minus real image of each method",
    "Released − real: purple darker, orange brighter. Each method has its own scale, which is "
    "written in its corner, so the maps show where a method changes an image, not how much.",
)
REPEATS = Picture(
    "repeats.png",
    "Every run of the attack",
    "Verification AUC, listed pairs, of each independent run by method",
    "Independent runs of the retrained verifier, listed pairs of the test part, as the paper; mean "
    "± standard deviation (ddof 0), diamonds: the paper's.",
)
FINDINGS = Picture(
    "findings.png",
    "What is lost, by finding",
    "Table of AUCs by method and finding",
    "AUC of a classifier of real images, which reads released ones; coloured by the difference to "
    "the real images.",
)
