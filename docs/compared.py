"""Tables of releases of sets, which bring several evaluations together."""

import json
from collections.abc import Iterable
from typing import Any

from cells import (
    READINGS,
    RETRAINED,
    STRONGEST,
    best_guess,
    both,
    most,
    reading,
    share,
    strongest,
    utility,
)
from reproduced import results

from attacks.evaluation.floors import TASK, TASK_SETS
from attacks.measuring.estimates import GroupRate
from attacks.recommending.evidence import strongest as highest
from attacks.reporting.readings import ALL, MATCHED, NAMES, auc, figures, floors, meaning
from attacks.reporting.tables import false_match_rate, in_words, signed, text
from attacks.results import Attack, Method, Results

SETS, CODES, MIXED = "sets", "codes", "codes_own"
WHOLE = ("sets_whole", "sets_read", "sets_coarse", "sets_uses")  # everybody has all patches shown
MORE = (*WHOLE, "sets_bands", "sets_budget")  # than in the first evaluation of releases of sets
LARGER = (SETS, "sets_budget", *WHOLE)  # what of these was measured with a larger classifier, too
OF_SETS = (  # what is told of a release of sets
    "released as",
    "images in an output",
    *STRONGEST,
    *both("first guess is in it"),
    *both("first guess is this one"),
    *both("patients given away"),
    *(f"`sets`, {NAMES[which]}" for which in READINGS),
    RETRAINED,
    "retrained − real images",
)

CHOSEN = (  # the releases that are left to choose from, and what they are held against
    "real images",
    "dp-pix b=3, ε=0.1",
    "k-same k=5",
    "mosaic g=4, m=16, warp=0.1",
    "mosaic read=1, g=3, m=9, warp=0.1",
    "mosaic read=1, g=4, m=16, warp=0.1",
    "mosaic read=1, g=4, m=16, warp=0.1, band=coarse",
    "mosaic read=1, g=4, m=16, uses=4, warp=0.1, band=coarse",
    "mosaic read=1, g=4, m=8, uses=2, warp=0.1, band=coarse",
)


def sets() -> str:
    """Methods that make each output of several people: of how many, what the strongest attacker of
    single images finds, and what classifiers learn."""
    rows = [
        [*_of_sets(title, method), "–" if other is None else utility(other, "retrained")]
        for title, method, other in measured_sets()
    ]
    found = results(SETS)
    return text(([*OF_SETS, f"ResNet-18 {RETRAINED}"], rows), [meaning(found), *floors(found)])


def sets_in_short() -> str:
    """Of some of them what decides: the attacker that links most, best guesses, and what both
    classifiers lose."""
    header = ["released as", "people in an output", *both("highest of all ↓")]
    kinds = {"first guess is in it": "precision_at_1", "patients given away": "r_s"}
    header += [f"{title}, {NAMES[which]}" for title in kinds for which in READINGS]
    header += ["classifier retrained − real images", "ResNet-18 retrained − real images"]
    known = {title: (method, other) for title, method, other in measured_sets()}
    rows = []
    for title in CHOSEN:
        method, other = known[title]
        (name, attack), held = highest(method), method.sets
        lost = (one and one.utility.retrained.difference for one in (method, other))
        linked = [f"{name} {reading(attack, MATCHED)}", reading(attack, ALL)]
        guesses = [guessed(method, kind, which) for kind in kinds.values() for which in READINGS]
        people = str(held.contributors if held else 1)
        rows.append([title, people, *linked, *guesses, *map(signed, lost)])
    own = results(SETS)
    return text((header, rows), [meaning(own), *floors(own)])


def _of_sets(title: str, method: Method) -> list[str]:
    return [
        title,
        f"{method.sets.contributors} or more" if method.sets else "1",
        strongest(method),
        reading(method.strongest_by_image[1], ALL),
        *(guessed(method, "precision_at_1", which) for which in READINGS),
        *very_one(method),
        *(guessed(method, "r_s", which) for which in READINGS),
        *(reading(method.privacy["sets"], which) for which in READINGS),
        utility(method, "retrained"),
        signed(method.utility.retrained.difference),
    ]


def guessed(method: Method, figure: str, which: str) -> str:
    """What first guesses of the best guesser come to, and a coin's where that is known."""
    best = best_guess(method, figure, matched=which == MATCHED)
    if best is None:
        return "–"
    name, own, rate = best
    coin = own.estimate(f"{figure}_coin")
    return f"{name} {share(rate)}" + (f"; a coin {100 * coin.mean:.1f} %" if coin else "")


def very_one(method: Method) -> list[str]:
    """How often a first guess is the patient whom an image stands for."""
    asked = ("precision_at_1_own", "precision_at_1")
    return [most(method, *asked, matched=which == MATCHED) for which in READINGS]


def measured_sets() -> list[tuple[str, Method, Method | None]]:
    """Title of each release of the children at 96 px, of sets or beside them, how it was measured,
    and how with a larger classifier, if it was."""
    larger = {_kind(m): m for key in LARGER for m in results(f"{key}_resnet").methods}
    further = (one for key in MORE for one in results(key).titled)
    titled = [*results(SETS).titled, *((title, m) for title, m in further if m.sets)]
    return [(title, method, larger.get(_kind(method))) for title, method in titled]


def together(keys: Iterable[str] = WHOLE) -> str:
    """How often who is told which released images are of one patient links them, by how many there
    are: one release a row."""
    every = [results(key) for key in keys]
    found = {
        title: [_groups(method.privacy[SETS], which) for which in READINGS]
        for own in every
        for title, method in own.titled
    }
    (passed,) = {false_match_rate(own) for own in every}
    of = {name: one.patients for both in found.values() for name, one in both[0].items()}
    asked = " / ".join(NAMES[which] for which in READINGS)
    header = [f"linked, at {passed} false matches, {asked}"]
    header += [f"of {name}, {of[name]} patients" for name in sorted(of)]
    rows = [
        [title, *(_rates([groups.get(name) for groups in both]) for name in sorted(of))]
        for title, both in found.items()
    ]
    return text((header, rows), dict.fromkeys(line for own in every for line in floors(own)))


def very_films() -> str:
    """How well the best attacker links a release to the films that went in, and how often the first
    guess of the best guesser is such a film: one release a row."""
    own = results("sets_before_after")
    header = ["released as", *both("highest ↓")]
    header += [f"first guess is such a film, {NAMES[which]}" for which in READINGS]
    rows = []
    for title, method in own.titled:
        best = max(method.privacy, key=lambda key: auc(method.privacy[key], MATCHED).mean)
        linked = [reading(method.privacy[best], which) for which in READINGS]
        guesses = [guessed(method, "precision_at_1", which) for which in READINGS]
        rows.append([title, f"{best} {linked[0]}", linked[1], *guesses])
    return text((header, rows), [meaning(own), *floors(own)])


def recommended() -> str:
    """What attackers find in the mosaic that the README names, and in the same of coarse structure
    where films are looked for; a way of attacking a row, what is reached without looking beside."""
    own, mosaic = _mosaic("sets_read")
    floor = {f.name: f for f in own.floors}
    (_, single), together = mosaic.strongest_by_image, mosaic.privacy[SETS]
    rows = []
    for who, attack, beside in (
        ("who has one output", single, TASK),
        ("who is told which outputs show one person", together, TASK_SETS),
    ):
        known = (floor[beside].matched, floor[beside].auc)
        read = " / ".join(f"{one.mean:.2f}" for one in known)
        found = [reading(attack, which) for which in READINGS]
        rows.append([f"{who}, AUC", *found, f"a classifier of real images, told as much: {read}"])
    for band, of in (({}, ""), ({"band": "coarse"}, ", of coarse structure")):
        _, method = _mosaic("sets_before_after", uses=1, **band)
        both = [guessed(method, "precision_at_1", which).split("; ") for which in READINGS]
        found = [rate.partition(" ")[2] for rate, _ in both]
        rows.append([f"who holds a film that went in, outputs in which it is found{of}", *found])
        rows[-1].append(" / ".join(luck for _, luck in both))
    header = ["`mosaic:g=4,m=16,warp=0.1,read=1`, attacked by", *map(NAMES.get, READINGS), "beside"]
    return text((header, rows), [])


def _mosaic(key: str, **more: Any) -> tuple[Results, Method]:
    """An evaluation, and the bent mosaic of sixteen people in it whose labels are read."""
    wanted = {"g": 4, "m": 16, "warp": 0.1, "read": 1} | more
    known = wanted.keys() | {"band"}
    (found,) = (
        method
        for method in results(key).released
        if method.name == "mosaic"
        and {k: v for k, v in method.options.items() if k in known and v is not None} == wanted
    )
    return results(key), found


def members() -> str:
    """Whether somebody is in a release at all: an attacker a column."""
    own = results("sets_members")
    asked = [(title, method) for title, method in own.titled if method.sets]
    rows = [
        [
            title,
            *(in_words(method.privacy[a].estimate("auc_members"), digits=2) for a in own.attackers),
        ]
        for title, method in asked
    ]
    return text((["members told from outsiders, AUC", *own.attackers], rows), [])


def strangers() -> str:
    """Methods that put strangers in everybody's place: what attackers find, those too that may ask
    the method, and what is taught beside the pool alone; others at their size."""
    header = ["released as", *both("highest of all ↓"), *both("first guess is this one")]
    header += [RETRAINED, "retrained − real images"]
    header += ["other people's images alone", "other people told by their films ↓"]
    rows = []
    own = results(CODES)
    for title, method in one_for_each():
        (name, attack), learnt = highest(method), method.utility.retrained
        read = (
            method.utility.auc("retrained"),
            method.utility.auc("pool_only"),
            method.image.donors,
        )
        taught, pool, told = (in_words(figure, digits=2) for figure in read)
        linked = [f"{name} {reading(attack, MATCHED)}", reading(attack, ALL)]
        said = [*linked, *very_one(method), taught, signed(learnt.difference), pool, told]
        rows.append([title, *said])
    return text((header, rows), [meaning(own), *floors(own)])


def one_for_each() -> list[tuple[str, Method]]:
    """Title of each release of one output for each image, and how it was measured; by who takes the
    donors off, too, which was measured apart."""
    apart = {_kind(method): method.privacy for method in results(MIXED).methods}

    def whole(method: Method) -> Method:
        more = apart.get(_kind(method), {})
        return method.model_copy(update={"privacy": more | method.privacy})

    return [(title, whole(method)) for title, method in results(CODES).titled]


def _groups(attack: Attack, which: str) -> dict[str, GroupRate]:
    """By how many images there are of a patient, where there are enough of them."""
    found = figures(attack, which)
    return {g.group: g for g in found.breakdown.facts["images"] if g.rate}


def _rates(both: list[GroupRate | None]) -> str:
    """The rate with its interval / that of the other reading, and random guesses' of each."""
    if None in both:
        return "too few"
    rates = [in_words(both[0].rate, digits=2), f"{both[1].rate.mean:.2f}"]
    coins = [f"{one.coin:.2f}" for one in both if one.coin is not None]
    return f"{' / '.join(rates)}; a coin {' / '.join(coins)}"


def _kind(method: Method) -> tuple[str, str]:
    return method.name, json.dumps(method.options, sort_keys=True)
