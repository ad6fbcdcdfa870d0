"""report.html: one file for people who decide about a release, which loads nothing from
elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import getdoc
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.plugins import PluginError, plugin
from attacks.evaluation.evaluate import Evaluation
from attacks.evaluation.policies.demands import Line, Verdict
from attacks.reporting import page_plots, readings, report_tables
from attacks.reporting.generator_table import NOTE, generator_table
from attacks.reporting.harmless import TEXT, harmless, harmless_record
from attacks.reporting.kept import PRIVATE
from attacks.reporting.page import page
from attacks.reporting.pictures.gallery import LAYERS, gallery
from attacks.reporting.pictures.looks import looks
from attacks.reporting.released import ReleaseFacts
from attacks.reporting.tables import Table, breakdown_table, false_match_rate, floor_table, table
from attacks.reporting.words import asked, headline, right_of_100, summary
from attacks.results import Results

DRAWN = "phantom"  # the source whose images are of nobody
KNOWLEDGE = {
    "ignorant": "learnt from real images, or nothing at all, and never saw a released one",
    "lazy": "never learnt from a released image, but runs the public anonymizer over its gallery",
    "informed": "learnt from released images",
    "white-box": "has the anonymizer itself, with its weights",
}


@dataclass(frozen=True)
class Beside:
    """What a report shows beside its evaluation; what is missing is left out.

    Attributes:
        published: the paper's table beside ours (header and rows), and notes to it.
        digest: sha256 of results.json.
    """

    verdicts: Sequence[Verdict] = ()
    release: ReleaseFacts | None = None
    published: tuple[Table, list[str]] | None = None
    digest: str = ""


def is_private(evaluation: Evaluation) -> bool:
    """Whether pictures of the evaluation show people."""
    shows = bool(evaluation.images or evaluation.pairs)
    return shows and evaluation.results.source.name != DRAWN


def write_report(
    evaluation: Evaluation, path: Path, beside: Beside | None = None, *, public: bool = False
) -> None:
    """Writes the report; the same evaluation gives the same bytes.

    One with radiographs is for its owner alone (mode 0600) and says so on top.

    Args:
        public: without pictures of people, and without the command, which names folders.
    """
    beside = beside or Beside()
    private = is_private(evaluation) and not public
    if public and is_private(evaluation):
        evaluation = Evaluation(evaluation.results)
    results = harmless_record(evaluation.results)
    shown = page(
        "report.html",
        **_words(results, beside),
        **_figures(results),
        **_tables(results),
        results=results,
        beside=beside,
        private=private,
        public=public,
        gallery=gallery(evaluation),
        layers=LAYERS,
        looks=list(looks(results.named).values()),
        titles=results.titles(),
    )
    whole_file.write(path, shown, mode=PRIVATE if private else 0o666)


def _harmless_line(line: Line) -> Line:
    return replace(line, demand=harmless(line.demand, TEXT), said=harmless(line.said, TEXT))


def _words(results: Results, beside: Beside) -> dict[str, Any]:
    attacks = list(results.attacks())
    known = {attack.knowledge for _, _, attack in attacks}
    scenarios: dict[str, str] = {}  # what each attacker does
    for _, name, attack in attacks:
        if attack.scenario:
            scenarios.setdefault(name, attack.scenario)
    trusted = [check for check in results.checks if not check.informative]
    verdicts = [
        Verdict(harmless(one.policy), harmless(one.method), tuple(map(_harmless_line, one.lines)))
        for one in beside.verdicts
    ]
    return {
        "verdicts": verdicts,
        "headline": headline(results, beside.verdicts),
        "summary": summary(results),
        "asked": asked(results),
        "real_right": right_of_100(results.real, results),
        "reading": readings.explained(results),
        "knowledge": {k: text for k, text in KNOWLEDGE.items() if k in known},
        "scenarios": scenarios,
        "described": _described(results),
        "drawn": results.source.name == DRAWN,
        "failed": [check for check in trusted if not check.passed],
        "passed": [check for check in trusted if check.passed],
        "findings": [check for check in results.checks if check.informative],
        "repeats": max((len(a.auc.runs) for _, _, a in attacks), default=0),
        "ddof": next((a.auc.ddof for _, _, a in attacks), 0),
    }


def _figures(results: Results) -> dict[str, Any]:
    return {
        "tradeoff": page_plots.tradeoff_plane(results),
        "roc": page_plots.roc_plane(results),
        "found": page_plots.found_strips(results),
        "populations": page_plots.population_plane(results),
        "who": page_plots.who_strips(results),
        "attackers": page_plots.attacker_strip(results),
        "by_label": page_plots.label_strips(results),
        "floor_plot": page_plots.floor_strip(results),
        "false_match_rate": false_match_rate(results),
    }


def _tables(results: Results) -> dict[str, Table | dict[str, Table] | str]:
    return {
        "overview": table(results),
        "several": generator_table(results),
        "several_note": NOTE,
        "attack_table": report_tables.attack_table(results),
        "floor_table": floor_table(results),
        "breakdowns": {
            readings.NAMES[r]: breakdown_table(results, r) for r in readings.measured(results)
        },
        "utility": report_tables.utility_table(results),
        "labels": report_tables.label_table(results),
        "change": report_tables.change_table(results),
    }


def _described(results: Results) -> dict[str, str]:
    """The first sentence of what each method says of itself, by its name."""
    found = {}
    for name in dict.fromkeys(method.name for method in results.released):
        try:
            said = getdoc(plugin("anonymize.methods", name)) or ""
        except PluginError:
            said = "Brought along by a package that is not installed here."
        found[name] = " ".join(said.partition("\n\n")[0].split()).replace("``", "`")
    return found
