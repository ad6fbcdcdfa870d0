"""Several evaluations side by side: their figures, and differences where the data are the same.

Evaluations of the same images, split, part and seed draw the same patients, so that a difference of
two of them is paired: run by run and draw by draw, as within one evaluation. The draws are in
draws.npz beside results.json; without them there is a difference of means, and nothing that says
how sure it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attacks.evaluation.evaluate import Evaluation
from attacks.measuring.comparisons import holm, p_different, paired_runs
from attacks.measuring.estimates import Estimate
from attacks.measuring.matching import PREFIX as MATCHED_RUNS
from attacks.measuring.statistics import mean_over_runs, summary
from attacks.reporting import readings
from attacks.reporting.harmless import harmless
from attacks.reporting.kept import harmless_evaluation, read_kept
from attacks.reporting.readings import MATCHED, NAMES
from attacks.reporting.tables import Table, in_words, signed
from attacks.results import Method, Results, results_files

SURE = 0.05  # of p after Holm
SPLIT_BY = ("split_seed", "pair_list", "validation_list", "test_list")  # options


@dataclass(frozen=True)
class Side:
    """An evaluation and what it is called."""

    name: str
    evaluation: Evaluation

    @property
    def results(self) -> Results:
        return self.evaluation.results


@dataclass(frozen=True)
class SideDifference:
    """Second less first, of one method and attacker in one reading.

    Attributes:
        first, second: names of the evaluations.
        method: title in the second.
        difference: with an interval where it is paired; else of the means.
        p: two-sided, that there is none, after Holm among all of the comparison; None: not paired.
    """

    first: str
    second: str
    method: str
    attacker: str
    reading: str
    difference: Estimate
    p: float | None = None

    @property
    def sure(self) -> bool:
        return self.p is not None and self.p < SURE


def differences(sides: Sequence[Side]) -> list[SideDifference]:
    """Of every evaluation to the first, where the data are the same."""
    found = [d for other in sides[1:] for d in _differences(sides[0], other)]
    adjusted = iter(holm([d.p for d in found if d.p is not None]))
    return [d if d.p is None else replace(d, p=next(adjusted)) for d in found]


def why_not(first: Results, second: Results) -> str:
    """Why two evaluations have no differences; "" where they have."""
    one, other = first.source.model_extra or {}, second.source.model_extra or {}
    for key, words in (("fingerprint", "other images"), ("part", "another part"),
                       ("size", "another image size")):  # fmt: skip
        if one.get(key) is None or one.get(key) != other.get(key):
            return words if one.get(key) is not None and key in other else "unknown images"
    if _split(first) != _split(second):  # which images' fingerprint does not know
        return "another split, and so other patients"
    asked, also = ({key: a.compares for _, key, a in r.attacks()} for r in (first, second))
    if any(asked[key] != also[key] for key in asked.keys() & also.keys()):
        return "another question, evaluation.scenario"
    return "" if first.seed == second.seed else "another seed, and so other draws of patients"


def _split(results: Results) -> tuple:
    """What says who is in which part, as far as results hold it."""
    source, data = results.source, results.options.get("data", {})
    return source.split, source.images, source.patients, *map(data.get, SPLIT_BY)


def overview(sides: Sequence[Side]) -> Table:
    """A method a row; of each evaluation the strongest attacker, and a classifier trained again."""
    titles = list(dict.fromkeys(t for side in sides for t in side.results.titles()))
    header = ["method"]
    for side in sides:
        reading = NAMES[readings.headline(side.results)]
        header += [f"{side.name}: strongest AUC ↓, {reading}", f"{side.name}: retrained ↑"]
    rows = []
    for title in titles:
        row = [title]
        for side in sides:
            row += _cells(side.results, dict(side.results.titled).get(title))
        rows.append(row)
    return header, rows


def difference_table(found: Sequence[SideDifference]) -> Table:
    """One difference a row."""
    header = ["method", "attacker", "impostors", "second − first", "AUC", "p (Holm)"]
    return header, [
        [
            *(d.method, d.attacker, readings.SHORT[d.reading], f"{d.second} − {d.first}"),
            signed(d.difference),
            "not paired" if d.p is None else f"{d.p:.2g}",
        ]
        for d in found
    ]


def said(sides: Sequence[Side], found: Sequence[SideDifference]) -> list[str]:
    """What the differences come to, of each evaluation but the first."""
    lines = []
    for side in sides[1:]:
        own = [d for d in found if d.second == side.name]
        if reason := why_not(sides[0].results, side.results):
            lines.append(f"{side.name} and {sides[0].name} cannot be subtracted: {reason}.")
            continue
        more = sum(d.sure and d.difference.mean > 0 for d in own)
        less = sum(d.sure and d.difference.mean < 0 for d in own)
        paired = sum(d.p is not None for d in own)
        lines.append(
            f"{side.name} less {sides[0].name}: of {len(own)} differences, {paired} of them "
            f"paired, attackers find more in {more} and less in {less} for sure."
        )
    return lines


def notes(found: Sequence[SideDifference]) -> list[str]:
    """What to know of the differences."""
    if not found:
        return []
    lines = ["p is adjusted after Holm among all differences of this comparison."]
    if any(d.p is None for d in found):
        lines.append(
            "“not paired”: the draws of patients were not kept beside one of the two results, the "
            "release is one of sets, or as many patients did not take part; the difference of the "
            "means says nothing about how sure it is."
        )
    return lines


def _cells(results: Results, method: Method | None) -> list[str]:
    if method is None or method.strongest is None:
        return ["–", "–"]
    auc = readings.strongest_auc(method, readings.headline(results))
    return [f"{method.strongest[0]} {in_words(auc)}", in_words(method.utility.auc("retrained"))]


def _differences(first: Side, second: Side) -> Iterator[SideDifference]:
    if why_not(first.results, second.results):
        return
    for title, method in second.results.titled:
        if (found := _counterpart(method, second.results, first.results)) is None:
            continue
        other_title, other = found
        for attacker in method.privacy:
            for reading in readings.measured(second.results):
                own, theirs = (
                    readings.auc(m.privacy.get(attacker), reading) for m in (method, other)
                )
                if own is None or theirs is None:
                    continue
                runs = [
                    _runs(side, name, attacker, reading)
                    for side, name in ((second, title), (first, other_title))
                ]
                alone = method.sets is None and other.sets is None
                drawn = {len(run.draws) for of_one in runs for run in of_one}
                less = own.mean - theirs.mean
                p, difference = None, Estimate(mean=less, sd=0.0, runs=(less,))
                if alone and all(runs) and len(drawn) == 1:
                    paired = paired_runs(*runs)
                    difference, p = summary(paired), p_different(mean_over_runs(paired))
                yield SideDifference(
                    first.name, second.name, title, attacker, reading, difference, p
                )


def _runs(side: Side, title: str, attacker: str, reading: str) -> list:
    name = f"{MATCHED_RUNS if reading == MATCHED else ''}auc"
    runs = side.evaluation.runs.get(title, {}).get(attacker, ())
    return [run[name] for run in runs if name in run]


def _counterpart(method: Method, own: Results, other: Results) -> tuple[str, Method] | None:
    """Title and method of the same options in another evaluation; where one of the two has several,
    as of generators of several seeds, the only one of the same seed and training."""
    kin, known = ([one for one in r.titled if _key(one[1]) == _key(method)] for r in (own, other))
    if max(len(kin), len(known)) > 1:
        kin, known = ([o for o in s if _trained(o[1]) == _trained(method)] for s in (kin, known))
    return known[0] if len(kin) == len(known) == 1 else None


def _key(method: Method) -> tuple[str, str]:
    return method.name, repr(sorted(method.options.items()))


def _trained(method: Method) -> tuple[int | None, str]:
    return method.seed, repr(method.training)


def named_sides(paths: Sequence[Path]) -> list[Side]:
    """The evaluations of several results.json, each called by its folder; as far up as it takes to
    tell them apart.

    Raises:
        UsageError: a file that is not there, or one given twice.
        DataError: one that is none.
    """
    files = results_files(paths)
    folders = [file.resolve().parent for file in files]
    read = [read_kept(Results.read(file), file.parent) for file in files]
    deep = 1
    while len({folder.parts[-deep:] for folder in folders}) < len(folders):
        deep += 1
    return [
        Side(harmless("/".join(folder.parts[-deep:])), harmless_evaluation(evaluation))
        for folder, evaluation in zip(folders, read, strict=True)
    ]
