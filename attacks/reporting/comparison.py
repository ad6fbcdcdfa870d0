"""The paper's Table 1 beside ours: table1.md for readers, table1.csv for programs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from attacks.evaluation.published import DATA, REPEATS, SIZE, SOURCE, TABLE_1, Published
from attacks.measuring.estimates import Estimate, LabelAuc
from attacks.reporting import readings
from attacks.reporting.figure_rows import write_csv
from attacks.reporting.readings import ALL, LISTED, NAMES
from attacks.reporting.tables import Table, in_words, text, trainings
from attacks.results import Method, Results
from attacks.titles import titles

VERIFICATION = "verification"
COLUMNS = ("method", "figure", "who", "mean", "sd", "runs", "ci95_low", "ci95_high", "difference")


@dataclass(frozen=True)
class Compared:
    """A column of the paper's table and our method of the same options, None where it is missing.

    What is compared is the AUC of the listed test pairs, as in the paper.
    """

    title: str
    published: Published
    method: Method | None

    @property
    def verification(self) -> Estimate | None:
        """Ours of the listed pairs."""
        return self.reading(LISTED)

    def reading(self, reading: str) -> Estimate | None:
        """Our verification AUC by another reading."""
        attack = self.method.privacy.get(VERIFICATION) if self.method else None
        return readings.auc(attack, reading)

    @property
    def classification(self) -> LabelAuc | None:
        """Ours, classifier frozen."""
        return self.method.utility.auc("frozen") if self.method else None


def comparison_rows(results: Results) -> list[Compared]:
    """Every column of the paper's table."""
    found = []
    for column in TABLE_1:
        title, method = next(((t, m) for t, m in results.titled if column.is_of(m)), (None, None))
        (named,) = titles([(column.name, column.options)])
        found.append(Compared(title or named, column, method))
    return found


def table_1(results: Results) -> Table:
    """Header and rows: published, ours, and the difference of the means (ours − published); of the
    attack beside it our other readings, which the paper does not have."""
    others = readings.measured(results)
    header = ["method", f"verification AUC ↓, {NAMES[LISTED]}: published", "ours", "difference"]
    header += [f"ours, {'all pairs, ' * (r == ALL)}{NAMES[r]}" for r in others]
    header += ["classification AUC ↑ published", "ours", "difference"]
    rows = []
    for row in comparison_rows(results):
        mean, sd = row.published.verification
        utility, (low, high) = row.published.classification
        rows.append(
            [
                row.title,
                f"{mean:.3f} ± {sd:.3f}",
                in_words(row.verification),
                _difference(row.verification.mean if row.verification else None, mean),
                *(in_words(row.reading(r)) for r in others),
                f"{utility:.3f} ({low:.3f}–{high:.3f})",
                in_words(row.classification),
                _difference(row.classification.mean if row.classification else None, utility),
            ]
        )
    return header, rows


def notes(results: Results) -> list[str]:
    """What must be known to read the table."""
    found = [
        f"Published: {SOURCE}: ± is the standard deviation of {REPEATS} runs of the attack, in "
        "brackets the 95 % interval of the classification AUC."
    ]
    attacks = [row.verification for row in comparison_rows(results) if row.verification]
    if attacks:
        runs = sorted({len(attack.runs) for attack in attacks})
        found.append(
            f"Ours: ± is the standard deviation of {' or '.join(map(str, runs))} "
            f"run{'s' if runs != [1] else ''} of the attack (ddof {attacks[0].ddof}, as "
            "published); in brackets the 95 % interval by resampling patients."
        )
    found.append(
        f"Only “{NAMES[LISTED]}” is the paper's reading: the fixed test pairs, half of them "
        f"genuine. {readings.explained(results)}"
    )
    source = results.source
    size = (source.model_extra or {}).get("size")
    if source.name != DATA or size != SIZE:
        found.append(
            f"Ours are other images ({source.name}, {size} px; the paper: {DATA}, {SIZE} px), so "
            "only the order of the methods can be compared, not the figures."
        )
    return found + readings.floors(results) + trainings(results)


def write_table_1(results: Results, folder: Path) -> None:
    """table1.md and table1.csv."""
    (folder / "table1.md").write_text(text(table_1(results), notes(results)), encoding="utf-8")
    write_csv(folder / "table1.csv", COLUMNS, _lines(results))


def _lines(results: Results) -> Iterator[tuple]:
    for row in comparison_rows(results):
        mean, sd = row.published.verification
        utility, interval = row.published.classification
        none = (None, None)
        for figure, theirs, ours in (
            ("verification_auc_listed", (mean, sd, REPEATS, *none), row.verification),
            ("classification_auc", (utility, None, 1, *interval), row.classification),
        ):
            yield (row.title, figure, "published", *theirs, None)
            if ours is not None and ours.mean is not None:
                own = (ours.mean, ours.sd, len(ours.runs), *(ours.ci95 or none))
                yield (row.title, figure, "ours", *own, ours.mean - theirs[0])


def _difference(ours: float | None, theirs: float) -> str:
    return "–" if ours is None else f"{ours - theirs:+.3f}".replace("-", "−")
