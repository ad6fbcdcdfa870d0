"""Several generators or lots of one method, as one, beside what they have to surpass."""

from collections.abc import Sequence

from attacks.measuring.estimates import Difference, Generators
from attacks.reporting import readings
from attacks.reporting.readings import ALL, MATCHED, difference_to
from attacks.reporting.tables import Table, compared, in_words
from attacks.results import Results

ROLES = ("real", "control")
NOTE = (
    "Of several generators or lots, ± is over them, and intervals hold others of them, other "
    "trainings and other patients; differences are on the same draws of patients."
)


def generator_table(results: Results) -> Table:
    """One method of several seeds, attacker and kind of impostors a row: the attackers that are the
    strongest of one of its seeds. No rows where nothing has several, or all are of results of
    before, which hold no more than attackers.md shows."""
    header = ["several generators or lots", "attacker", "impostors", "AUC ↓"]
    header += ["less real images", "less the control"]
    header += ["retrained ↑", "retrained − real images", "retrained − the control"]
    rows = []
    for first, one in zip(readings.titles_of_several(results), results.generators, strict=True):
        if not (one.differences or one.matched_differences or one.retrained):
            continue
        taught = [in_words(one.retrained), *_cells(one.retrained_differences)]
        for key in strongest_of(one, results):
            for reading in readings.measured(results):
                auc = (one.matched if reading == MATCHED else one.auc).get(key)
                less = _cells(differences(one, key, reading))
                rows.append([first, key, readings.SHORT[reading], in_words(auc), *less, *taught])
                first, taught = "", [""] * len(taught)
    return header, rows


def strongest_of(one: Generators, results: Results) -> list[str]:
    """The strongest attackers of its generators."""
    kin = (method.strongest for _, method in readings.kin_of(one, results))
    return list(dict.fromkeys(found[0] for found in kin if found))


def differences(one: Generators, key: str, reading: str) -> tuple[Difference, ...]:
    """Those of an attacker in a reading; none of results of before."""
    found = {MATCHED: one.matched_differences, ALL: one.differences}
    return found[reading].get(key, ())


def _cells(found: Sequence[Difference]) -> list[str]:
    return ["–" if (d := difference_to(role, found)) is None else compared(d) for role in ROLES]
