"""The tables of results.json for readers.

A table is a header and rows of text. An AUC of an attack says which reading it is
(`attacks.reporting.readings`).
"""

from collections.abc import Callable, Iterable, Sequence

from anonymize.training import course
from attacks.measuring.estimates import Difference, Estimate, GroupRate, LabelAuc
from attacks.measuring.pair_facts import TITLES as FACTS
from attacks.reporting import readings
from attacks.reporting.readings import ALL, MATCHED, NAMES, NONE_ALIKE
from attacks.results import Attack, Classification, Method, Results, Utility

MAX_ATTACKER_COLUMNS = 6  # of attackers, a column for each reading
LEAST = 0.001  # p: a thousand draws tell no less
TOO_FEW = "too few"
ESCAPED = str.maketrans({"|": "\\|", "<": "&lt;", "[": "\\["})  # in a cell: no cells, HTML, links

Table = tuple[list[str], list[list[str]]]


def in_words(found: Estimate | LabelAuc | None, *, digits: int = 3) -> str:
    """ "0.746 ± 0.026 (0.701–0.790)": mean, deviation of the runs if several, 95 % interval; "–"
    where nothing was measured."""
    if found is None or found.mean is None:
        return "–"
    spread = f" ± {found.sd:.{digits}f}" if len(found.runs) > 1 and found.sd is not None else ""
    low_high = "({:.{n}f}–{:.{n}f})".format(*found.ci95, n=digits) if found.ci95 else ""
    return f"{found.mean:.{digits}f}{spread} {low_high}".rstrip()


def signed(found: Estimate | None) -> str:
    """ "+0.012 (−0.010 to +0.034)": a difference and its 95 % interval; "–" for None."""
    if found is None:
        return "–"
    low_high = " ({:+.3f} to {:+.3f})".format(*found.ci95) if found.ci95 else ""
    return f"{found.mean:+.3f}{low_high}".replace("-", "−")


def compared(found: Difference) -> str:
    """A difference with its interval, and its p among all of its reading (Holm)."""
    if found.difference.ci95 is None:
        return f"{signed(found.difference)}, not known how surely"
    sure = "" if found.p_holm is None else f", {_sure(found.p_holm)}"
    return signed(found.difference) + sure


def not_worse(found: Classification | None) -> str:
    """Whether it is shown that a utility loses less than δ, by its p among all methods (Holm)."""
    if found is None or found.margin is None or found.margin_p_holm is None:
        return "–"
    margin, p = found.margin.margin, found.margin_p_holm
    return f"loses less than {margin:g}, {_sure(p)}" if p < 0.05 else f"{margin:g} not shown"


def _sure(p: float) -> str:
    return f"p < {LEAST}" if p < LEAST else f"p {p:.2g}"


def number(value: float | None, digits: int) -> str:
    """So many digits behind the point; "–" for None."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(share: float) -> str:
    """A share in whole percent: 0 and 100 are nobody and everybody."""
    if share < 0.005:
        return "less than 1%" if share > 0 else "0%"
    return "more than 99%" if 0.995 < share < 1 else f"{share:.0%}"


def table(results: Results) -> Table:
    """One method a row; each attacker's AUC by reading, utility, SSIM, displacement, training.

    Where the attackers would need more than ``MAX_ATTACKER_COLUMNS`` columns stand here the first
    one and the strongest: :func:`attacker_table` has all of them.
    """
    read = readings.measured(results)
    few = len(results.attackers) * len(read) <= MAX_ATTACKER_COLUMNS
    shown = results.attackers if few else results.attackers[:1]
    named = [*shown, *[readings.strongest(results)] * (shown != results.attackers)]
    header = ["method", *(f"{name} AUC ↓, {NAMES[r]}" for name in named for r in read)]
    columns = _columns(results)
    has = {n for n, cell in columns.items() if any(cell(m) != "–" for m in results.methods)}
    beside = {name: cell for name, cell in columns.items() if name in {*ALWAYS, *has}}
    rows = []
    for title, method in results.titled:
        attacks = [method.privacy.get(name) for name in shown]
        if shown != results.attackers:
            attacks.append(method.strongest[1] if method.strongest else None)
        cells = [_reading(attack, r) for attack in attacks for r in read]
        rows.append([title, *cells, *(cell(method) for cell in beside.values())])
    return [*header, *beside], rows


ALWAYS = ("utility frozen ↑", "utility retrained ↑", "SSIM", "mean displacement (px)")


def _columns(results: Results) -> dict[str, Callable[[Method], str]]:
    """What stands beside the attackers: ``ALWAYS`` these, others where a method has something."""
    headline, strongest = readings.headline(results), readings.strongest(results)

    def moved(method: Method) -> float | None:
        return method.image.displacement_px.mean if method.image.displacement_px else None

    def retrained(method: Method) -> Classification:
        return method.utility.retrained or Classification(auc=LabelAuc(mean=None))

    def one_pair(method: Method) -> Estimate | None:
        return readings.one_pair(method.strongest[1], headline) if method.strongest else None

    less_real = f"{strongest} less itself on real images, {NAMES[headline]}"
    return {
        f"{strongest} AUC ↓, {NAMES[headline]}, one pair a patient": lambda m: in_words(
            one_pair(m)
        ),
        less_real: lambda m: _less_than_real(m, headline),
        "utility frozen ↑": lambda m: in_words(m.frozen),
        "utility retrained ↑": lambda m: in_words(m.utility.auc("retrained")),
        "retrained − real images": lambda m: signed(retrained(m).difference),
        "retrained, findings held back ↑": lambda m: in_words(retrained(m).held_back),
        "other people's images alone": lambda m: in_words(m.utility.auc("pool_only")),
        "other people told by their films ↓": lambda m: in_words(m.image.donors),
        "linked by its labels alone ↓, matched impostors if any": lambda m: in_words(
            m.image.labels
        ),
        "utility readable": lambda m: readable_in_words(m.utility),
        "SSIM": lambda m: number(m.image.ssim, 3),
        "mean displacement (px)": lambda m: number(moved(m), 2),
        "generator trained": training_in_words,
        "outputs": _set_in_words,
    }


def _set_in_words(method: Method) -> str:
    """What a release of sets is made of; "–" for others."""
    made = method.sets
    if made is None:
        return "–"
    used = made.images - made.withheld
    named = "" if made.bound is None else f"; named rightly at most {made.bound:.1%}"
    left = f" ({made.withheld:,} withheld)" if made.withheld else ""
    seen = f" ({made.outputs - made.unseen} seen)" if made.unseen else ""
    return f"{made.outputs}{seen} of {used} images{left}, {made.contributors} or more each{named}"


def _less_than_real(method: Method, reading: str) -> str:
    """The strongest attacker's AUC less the same attacker's on real images."""
    found = readings.less_than_real(method.strongest[1], reading) if method.strongest else None
    return compared(found) if found else "–"


def training_in_words(method: Method) -> str:
    """ "stopped after 1,200 steps, still moving"; "–" for a method that is not trained."""
    return course.in_words(method.steps, method.converged) or "–"


def trainings(results: Results) -> list[str]:
    """Notes on how far each generator was trained, for tables without a column of it, and on what
    is no independent repeat."""
    said = ((title, training_in_words(method)) for title, method in results.titled)
    found = "; ".join(f"{title} {words}" for title, words in said if words != "–")
    return [*([f"Training: {found}."] if found else []), *not_repeated(results)]


def not_repeated(results: Results) -> list[str]:
    """A note on what the ± of these results does not hold: other generators, other starts."""
    several = {title for one in results.generators for title, _ in readings.kin_of(one, results)}
    generators = [
        title
        for title, method in results.titled
        if method.steps is not None and title not in several
    ]
    warm = dict.fromkeys(key for _, key, attack in results.attacks() if attack.warm_start)
    said = []
    if generators:
        said.append(f"{', '.join(generators)}: one generator")
    if warm:
        said.append(f"{', '.join(warm)}: all runs go on from one verifier")
    return [f"No independent repeats, so that ± is too small: {'; '.join(said)}."] if said else []


def readable_in_words(utility: Utility) -> str:
    """Whether frozen and retrained classifier agree on the real images of this evaluation."""
    return {None: "–", True: "yes", False: "**no**"}[utility.readable]


def breakdown_table(results: Results, reading: str) -> Table:
    """True match rates by age difference, new finding, view and so on: one group of genuine pairs
    a row, each method's strongest attacker a column, with its own counts where these are others;
    no rows where nothing was measured."""
    measured = readings.of_strongest(results, reading)
    shown = {f"{t}: {name}": own.breakdown for _, t, name, own in measured if own.breakdown}
    header = ["", "", "pairs", "patients", *shown]
    if not shown:
        return header, []
    rows = [["all", "", "", "", *(in_words(b.rate, digits=2) for b in shown.values())]]
    for fact, title in FACTS.items():
        found = [{g.group: g for g in b.facts.get(fact, ())} for b in shown.values()]
        for n, group in enumerate(dict.fromkeys(name for groups in found for name in groups)):
            counts = next(_counts(groups[group]) for groups in found if group in groups)
            rates = [_rate(groups.get(group), counts) for groups in found]
            rows.append(["" if n else title, group, *counts, *rates])
    return header, rows


def floor_table(results: Results) -> Table:
    """What links without looking for a patient: one floor a row, in both readings, and how often a
    guess of it is right; no rows where none was measured."""
    guesses = {
        title: [getattr(f, figure) for f in results.floors]
        for figure, title in (
            ("first_guess_matched", f"first guess right, {NAMES[MATCHED]}"),
            ("precision_at_1", f"first guess right, {NAMES[ALL]}"),
            ("r_s", f"patients given away, {NAMES[ALL]}"),
        )
    }
    shown = {title: found for title, found in guesses.items() if any(found)}
    header = ["floor", *(f"AUC, {NAMES[r]}" for r in (MATCHED, ALL)), *shown, "what it knows"]
    rows = [
        [f.name, in_words(f.matched), in_words(f.auc), *map(in_words, own), f.message]
        for f, *own in zip(results.floors, *shown.values(), strict=True)
    ]
    return header, rows


def false_match_rate(results: Results) -> str:
    """The share of impostor pairs that passes the threshold, in percent; "" where none was set."""
    found = (attack.breakdown for _, _, attack in results.attacks())
    return next((f"{100 * b.false_match_rate:g} %" for b in found if b is not None), "")


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    escaped = ([cell.translate(ESCAPED) for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def text(shown: Table, notes: Iterable[str] = ()) -> str:
    """A table in Markdown, and a paragraph for each note to it."""
    return markdown(*shown) + "".join(f"\n{note}\n" for note in notes)


def _reading(attack: Attack | None, reading: str) -> str:
    alike = attack is None or readings.figures(attack, reading) is not None
    return in_words(readings.auc(attack, reading)) if alike else NONE_ALIKE


def _rate(group: GroupRate | None, counts: Sequence[str]) -> str:
    """Of a group, with its counts where they are not those."""
    if group is None:
        return "–"
    found = TOO_FEW if group.rate is None else group_rate(group)
    pairs, patients = own = _counts(group)
    return found if own == counts else f"{found}; {pairs} pairs of {patients}"


def _counts(group: GroupRate) -> list[str]:
    return [f"{group.pairs:,}", f"{group.patients:,}"]


def group_rate(group: GroupRate) -> str:
    """A rate that was measured, and a coin's where luck helps."""
    coin = "" if group.coin is None else f"; a coin {group.coin:.2f}"
    return in_words(group.rate, digits=2) + coin
