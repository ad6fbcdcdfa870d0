"""Which pictures the page shows of an evaluation."""

from collections.abc import Sequence
from dataclasses import replace

from attacks.measuring.estimates import Estimate, LabelAuc
from attacks.measuring.pair_facts import TITLES as FACTS
from attacks.reporting import readings
from attacks.reporting.harmless import harmless
from attacks.reporting.pictures.plots import (
    Axis,
    Curve,
    Mark,
    Plane,
    Row,
    Strip,
    around,
    bar,
    fanned,
    linear_axis,
    logarithmic,
    mark,
    spread,
)
from attacks.reporting.pictures.roc import CERTAIN, curve_of
from attacks.reporting.readings import ALL, MATCHED, NAMES
from attacks.reporting.tables import in_words
from attacks.results import Method, Results

KINDS = {"frozen": "classifier trained on real images", "retrained": "trained on released images"}
RATES = (1e-4, 1e-3, 1e-2, 1e-1)  # false match rates that have a tick and marks
COIN = 0.5
AMONG = {MATCHED: "among images that are alike", ALL: "among all images"}


def tradeoff_plane(results: Results) -> Plane | None:
    """Privacy against utility; None without either."""
    reading = readings.headline(results)
    found = [
        (n, title, method, readings.strongest_auc(method, reading), _read(method))
        for n, (title, method) in enumerate(results.titled)
    ]
    shown = [(n, t, m, auc, read) for n, t, m, auc, read in found if auc is not None and read]
    if not shown:
        return None
    everybody = [readings.strongest_auc(m, ALL) for _, _, m, *_ in shown]
    floors = [(f.name, f.matched if reading == MATCHED else f.auc) for f in results.floors]
    known = [(name, auc.mean) for name, auc in floors if auc is not None]
    low, high = around([COIN, *spread([a for *_, a, _ in shown]), *(v for _, v in known),
                        *spread(everybody)])  # fmt: skip
    x, to_x = linear_axis(low, high, "AUC of the strongest attacker, ← more private")
    ys = spread(auc for *_, read in shown for auc in read.values())
    y, to_y = linear_axis(*around([COIN, *ys]), "mean AUC of classifiers, more useful ↑")
    marks = []
    for (n, title, method, auc, read), other in zip(shown, everybody, strict=True):
        assert method.strongest is not None
        for kind, one in read.items():
            assert one.mean is not None
            ends = bar(to_y, one)
            tip = [title, f"{method.strongest[0]}, {NAMES[reading]}: {in_words(auc)}"]
            if other is not None and reading == MATCHED:
                tip.append(f"{NAMES[ALL]}: {in_words(other)}")
            tip.append(f"{KINDS[kind]}: {in_words(one)}")
            at = Mark(n, tuple(tip), to_x(auc.mean), 100 - to_y(one.mean), open=kind != "frozen")
            first = one is next(iter(read.values()))
            tick = to_x(other.mean) if other and reading == MATCHED and first else None
            along = None if ends is None else (100 - ends[0], 100 - ends[1])
            named = title if first else ""
            across = bar(to_x, auc) if first else None
            marks.append(replace(at, along=along, across=across, tick=tick, title=named))
    lines = [(to_x(COIN), "guessing")]
    lines += [(to_x(v), f"floor: {name}") for name, v in known if abs(v - COIN) > 0.005]
    ticks = [(100 - at, text) for at, text in y.ticks]
    upright = replace(y, ticks=ticks, lines=[(100 - to_y(COIN), "")])
    return Plane(replace(x, lines=lines), upright, marks)


def _read(method: Method) -> dict[str, LabelAuc]:
    """What classifiers read, where it was measured."""
    both = {"frozen": method.frozen, "retrained": method.utility.auc("retrained")}
    return {k: found for k, found in both.items() if found is not None and found.mean is not None}


def roc_plane(results: Results) -> Plane | None:
    """True match rate against false match rate of each strongest attacker; None without any."""
    to_x = logarithmic(RATES[0], 1)
    marks, curves = [], []
    for n, (title, method) in enumerate(results.titled):
        if method.strongest is None:
            continue
        name, reading, figures = curve_of(method)
        points = [(float(rate), passed) for rate, passed in figures.roc.items()]
        if not points:
            continue
        sure = [p for p in points if p[0] * (figures.independent_comparisons or 0) >= CERTAIN]
        for part, faint in ((points, True), (sure, False)):
            line = " ".join(f"{to_x(a):.2f},{100 * (1 - b):.2f}" for a, b in part)
            curves += [Curve(n, line, faint)] if len(part) > 1 else []
        for rate in RATES:
            at, passed = min(points, key=lambda p: abs(p[0] - rate))
            who = f"{name}, {NAMES[reading]}: {passed:.1%} of true pairs pass"
            tip = (title, who, f"at {at:.2g} false matches")
            marks.append(Mark(n, tip, to_x(at), 100 * (1 - passed)))
    if not curves:
        return None
    x = Axis([(to_x(rate), f"{rate:g}") for rate in (*RATES, 1)], "false match rate (logarithmic)")
    y = Axis([(100 - v, f"{v} %") for v in range(0, 101, 20)], "true match rate, ↓ more private")
    return Plane(x, y, marks, curves)


def found_strips(results: Results) -> list[Strip]:
    """R_s of each method, a strip a reading; filled: of all patients, open: of those with several
    images."""
    x, place = linear_axis(0, 1, "share of the patients whom the first guess finds")
    strips = []
    for reading, among in AMONG.items():
        rows = []
        for n, title, name, own in readings.of_strongest(results, reading):
            both = {"r_s_all": f"R_s, all patients ({name})", "r_s": "of those with several images"}
            known = {k: found for k in both if (found := own.estimate(k)) is not None}
            marks = [mark(n, title, both[k], known[k], place, open=k == "r_s") for k in known]
            if marks:
                rows.append(Row(title, fanned(marks)))
        if rows:
            strips.append(Strip(among, rows, x))
    return strips


def who_strips(results: Results) -> list[Strip]:
    """The true match rate by what is known of a pair, each method's strongest attacker, filled:
    at a threshold for matched impostors; open: for all."""
    shown = [
        (reading, n, title, f"{name}, {NAMES[reading]}", own.breakdown.facts)
        for reading in AMONG
        for n, title, name, own in readings.of_strongest(results, reading)
        if own.breakdown is not None
    ]
    strips = []
    for fact, title in FACTS.items():
        groups: dict[str, list[Mark]] = {}
        notes: dict[str, str] = {}
        x, place = linear_axis(0, 1, "true match rate")
        for reading, n, method, name, facts in shown:
            for group in facts.get(fact, ()):
                marks = groups.setdefault(group.group, [])
                notes[group.group] = f"{group.pairs:,} pairs, {group.patients:,} patients"
                if group.rate is not None:
                    marks.append(mark(n, method, name, group.rate, place, open=reading == ALL))
        rows = [Row(g, fanned(marks), notes[g]) for g, marks in groups.items() if marks]
        if rows:
            strips.append(Strip(title, rows, x))
    return strips


def attacker_strip(results: Results) -> Strip | None:
    """AUC of every attacker against every method, by the headline reading."""
    reading = readings.headline(results)
    own = [
        (key, n, title, "AUC", auc)
        for n, (title, method) in enumerate(results.titled)
        for key, attack in method.privacy.items()
        if (auc := readings.auc(attack, reading)) is not None
    ]
    return _strip("", own, f"AUC {NAMES[reading]}, ← more private")


def label_strips(results: Results) -> list[Strip]:
    """AUC of every finding, by the classifier that learnt from the release, else the frozen one."""
    strips = []
    for kind, name in reversed(KINDS.items()):
        found = [
            (label, n, title, name, LabelAuc(mean=value))
            for n, (title, method) in enumerate(results.titled)
            if (read := method.utility.auc(kind)) is not None
            and not (kind == "frozen" and method.sets is not None)
            for label, value in read.per_class.items()
            if value is not None
        ]
        if (strip := _strip(name, found, "AUC, more useful →")) is not None:
            strips.append(strip)
    return strips


def floor_strip(results: Results) -> Strip | None:
    """What links without looking for a patient, in both readings; method −1, the ink's colour."""
    found = [
        (floor.name, -1, floor.name, NAMES[reading], auc)
        for floor in results.floors
        for reading, auc in ((MATCHED, floor.matched), (ALL, floor.auc))
        if auc is not None
    ]
    strip = _strip("", found, "AUC (filled: matched impostors)")
    said = {floor.name: floor.message for floor in results.floors}
    return strip and replace(strip, rows=[replace(r, note=said[r.title]) for r in strip.rows])


def population_plane(results: Results) -> Plane | None:
    """Rank-1 of each method's strongest attacker against the number of people; None where nobody
    measured it. Open marks are extrapolated."""
    worlds = [
        (n, title, world)
        for n, (title, method) in enumerate(results.titled)
        if method.strongest and (world := method.strongest[1].world) is not None
    ]
    if not worlds:
        return None
    sizes = [point.people for *_, world in worlds for point in world.points]
    low, high = max(min(sizes), 1), max(*sizes, 2)
    place = logarithmic(low, high)
    marks, curves = [], []
    for n, title, world in worlds:
        shares = [(p, p.rank_1.estimate.mean) for p in world.points]
        curves.append(
            Curve(n, " ".join(f"{place(p.people):.2f},{100 * (1 - s):.2f}" for p, s in shares))
        )
        for point, share in shares:
            within = point.rank_1.within or point.rank_1.estimate.ci95
            ends = within and (100 * (1 - within[0]), 100 * (1 - within[1]))
            beyond = ", extrapolated" * point.extrapolated
            tip = (harmless(title), f"{point.people:,} people: {share:.1%} found{beyond}")
            x, y = place(point.people), 100 * (1 - share)
            marks.append(Mark(n, tip, x, y, along=ends, open=point.extrapolated))
    powers = [10**k for k in range(12)]
    steps = (1,) if high > 1000 * low else (1, 2, 5)
    shown = [n * ten for ten in powers for n in steps if low <= n * ten <= high] or [low, high]
    x_axis = Axis([(place(v), f"{v:,}") for v in shown], "people in the gallery (logarithmic)")
    y_axis = Axis([(100 - v, f"{v} %") for v in range(0, 101, 20)], "found by the first guess")
    return Plane(x_axis, y_axis, marks, curves)


Entry = tuple[str, int, str, str, Estimate | LabelAuc]  # row, method, its title, name, figure


def _strip(title: str, entries: Sequence[Entry], axis: str) -> Strip | None:
    if not entries:
        return None
    x, place = linear_axis(*around([COIN, *spread(found for *_, found in entries)]), axis)
    rows: dict[str, list[Mark]] = {}
    for row, n, method, name, found in entries:
        among_all = name == NAMES[ALL]
        rows.setdefault(row, []).append(mark(n, method, name, found, place, open=among_all))
    lined = replace(x, lines=[(place(COIN), "guessing")])
    return Strip(title, [Row(name, fanned(marks)) for name, marks in rows.items()], lined)
