"""attackers.md: every attacker against every method, several generators or lots of one method
together, and the strongest."""

from collections.abc import Iterator, Sequence

from attacks.attackers.training_free import TrainingFree
from attacks.measuring.estimates import Estimate, Figures, Generators
from attacks.reporting import readings
from attacks.reporting.readings import ALL, MATCHED, NONE_ALIKE
from attacks.reporting.tables import Table
from attacks.results import Attack, Method, Results, name_of

FLOOR = TrainingFree.name
GUESSES = {
    "any contributor": "precision_at_1",
    "any contributor, a coin": "precision_at_1_coin",
    "this very one": "precision_at_1_own",
    "patients given away": "r_s",
    "patients given away, a coin": "r_s_coin",
}
MEMBERS = "members against outsiders, other films"
COMPARED = {
    "released-real": "released ↔ real",
    "released-released": "released ↔ released",
    "before-after": "before ↔ after",
}


def attacker_table(results: Results) -> Table:
    """Every AUC, the strongest attacker and its gain: one attacker and reading a row, one method a
    column, and one for each that has several seeds.

    The last rows say, for each method, which attacker is the strongest (the best one on the
    validation part, where there is one) and by how much its AUC exceeds that of plain gradient
    histograms on the same images; first among attackers that take every image alone, then with
    those that are told which released images are of one patient.
    """
    header = ["attacker", "knowledge", "compares", "impostors", *results.titles()]
    header += readings.titles_of_several(results)
    rows = []
    for key in results.attackers:
        attacks = [method.privacy.get(key) for method in results.methods]
        known = next(attack for attack in attacks if attack is not None)
        compares = "metadata" if known.sees == "metadata" else COMPARED[known.compares]
        first = [name_of(key), known.knowledge, compares]
        for name, cells in _by_reading(results, attacks):
            together = [_together(one, key, name) for one in results.generators]
            rows.append([*first, name, *cells, *together])
            first = [""] * 3
    by_image = [method.strongest_by_image for method in results.methods]
    read = readings.measured(results)
    rows += _strongest_rows("**strongest, image by image**", by_image, read)
    if any(FLOOR in method.privacy for method in results.methods):
        for reading in read:
            gains = [_gain(method, reading) for method in results.methods]
            rows.append(["above plain HOG by", "", "", readings.SHORT[reading], *gains])
    strongest = [method.strongest for method in results.methods]
    if strongest != by_image:
        rows += _strongest_rows("**strongest of all**", strongest, read)
    if any(method.sets for method in results.methods):
        rows += _first_guesses(results)
    return header, [row + ["–"] * (len(header) - len(row)) for row in rows]


def _together(found: Generators, key: str, row: str) -> str:
    """Of all seeds, in the reading of a row."""
    of_rows = {readings.SHORT[MATCHED]: found.matched, readings.SHORT[ALL]: found.auc}
    return _between(of_rows.get(row, {}).get(key))


def _first_guesses(results: Results) -> Iterator[list[str]]:
    """How often the strongest attackers' first guess is right, where outputs are of several people:
    any of them, and this very one; and how many patients all these guesses give away; in each
    reading."""
    which = {
        "image by image": [m.strongest_by_image for m in results.methods],
        "of all": [m.strongest for m in results.methods],
    }
    for words, found in which.items():
        for reading in readings.measured(results):
            own = [readings.figures(item[1], reading) if item else None for item in found]
            for name, figure in GUESSES.items():
                shares = [_guessed(figures, figure) for figures in own]
                if any(shares):
                    impostors = f"{readings.SHORT[reading]}: {name}"
                    cells = [_share(share) for share in shares]
                    yield [f"first guesses, strongest {words}", "", "", impostors, *cells]


def _guessed(found: Figures | None, figure: str) -> Estimate | None:
    if found is None:
        return None
    # Whose output is his alone is the very one.
    alone = found.estimate("precision_at_1") if figure == "precision_at_1_own" else None
    return found.estimate(figure) or alone


def _by_reading(
    results: Results, attacks: Sequence[Attack | None]
) -> Iterator[tuple[str, list[str]]]:
    """The rows of one attacker: each reading; the first one with one pair a patient, too; and who
    is in a release at all."""
    for n, reading in enumerate(readings.measured(results)):
        yield readings.SHORT[reading], [_auc(attack, reading) for attack in attacks]
        alone = [_between(readings.one_pair(a, reading) if a else None) for a in attacks]
        if not n and any(cell != "–" for cell in alone):
            yield f"{readings.SHORT[reading]}, one pair a patient", alone
    members = [a.estimate("auc_members") if a else None for a in attacks]
    if any(members):
        yield MEMBERS, [_between(auc) for auc in members]


def _strongest_rows(
    title: str, found: Sequence[tuple[str, Attack] | None], read: Sequence[str]
) -> list[list[str]]:
    return [
        [title if not n else "", "", "", readings.SHORT[r], *(_named(item, r) for item in found)]
        for n, r in enumerate(read)
    ]


def _auc(attack: Attack | None, reading: str) -> str:
    if attack is None:
        return "–"
    auc = readings.auc(attack, reading)
    return NONE_ALIKE if auc is None else _between(auc)


def _between(auc: Estimate | None) -> str:
    if auc is None:
        return "–"
    low_high = "" if auc.ci95 is None else " ({:.2f}–{:.2f})".format(*auc.ci95)
    return f"{auc.mean:.3f}{low_high}"


def _share(found: Estimate | None) -> str:
    if found is None:
        return "–"
    low_high = " ({:.1f}–{:.1f} %)".format(*(100 * v for v in found.ci95)) if found.ci95 else ""
    return f"{100 * found.mean:.1f} %{low_high}"


def _named(found: tuple[str, Attack] | None, reading: str) -> str:
    if found is None:
        return "–"
    auc = readings.auc(found[1], reading)
    return f"{found[0]} {auc.mean:.3f}" if auc else NONE_ALIKE


def _gain(method: Method, reading: str) -> str:
    if method.strongest_by_image is None or FLOOR not in method.privacy:
        return "–"
    own = readings.auc(method.strongest_by_image[1], reading)
    floor = readings.auc(method.privacy[FLOOR], reading)
    return f"{own.mean - floor.mean:+.3f}".replace("-", "−") if own and floor else "–"
