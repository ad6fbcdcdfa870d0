"""Tables of PriCheXy-Net's game, played with several losses, opponents, bounds and networks."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from cells import (
    CONTROL,
    READINGS,
    RETRAINED,
    less_control,
    several,
)
from reproduced import RESULTS, ROUNDED, results, rounded

from anonymize.prichexy_net import PriCheXyNet
from attacks.reporting.readings import NAMES, SHORT, auc, figures, floors
from attacks.reporting.tables import markdown, text
from attacks.results import REAL, Method, Results
from baselines.random_warp import RandomWarp

MINIATURE, DRAWN, STRONG = "miniature", "miniature/drawn", "miniature/strong"
OBJECTIVES = "miniature/objectives"
DRAWINGS = "miniature/phantom"
PAINTED = "privacy_net"  # the game of a generator that paints
LARGER = ("miniature/128", "miniature/224", "miniature/256")
GAMES = {  # the same game on other images, with other networks
    **dict(zip(LARGER, ("…, 128 px", "…, 224 px", "…, the paper's networks"), strict=True)),
    DRAWINGS: "Phantom, miniature",
}
BESIDE = {  # evaluations of the same generators by verifiers that learn from other pairs
    "released-released": "from scratch, released-released",
    "released-real": "from scratch, released-real",
    "mixed": "from scratch, mixed",
    "warm-released-released": "the same trained again, released-released",
    "warm-released-real": "the same trained again, released-real",
}
AGAIN = {
    "verification:ignorant": "verifier of real images as it is",
    "verification": "the same trained again, mixed",
    "histogram-metric": "histogram-metric",
    "ensemble": "ensemble",
}
VARIED = {"mu": "At most {:g} px along each axis", "verification_weight": "λ = {:g}"}
SURE = 0.05  # p
OVER = "± over generators and nothing else; intervals over patients: table.md of each folder."


def miniature(key: str = MINIATURE) -> str:
    """One kind of generator a row, several of them together; an attacker a column, each against
    matched impostors and then against all, and what classifiers read."""
    main = results(key)
    beside = {title: results(f"{key}/{p}") for p, title in _beside(key).items()}
    header = ["released as", "generators", "at rest", "moved by (px, RMS)", *beside]
    header += AGAIN.values()
    tables = []
    for which in READINGS:
        rows = [
            [kind, *_made_of(methods), *_linked(methods, beside.values(), which), *_read(methods)]
            for kind, methods in _kinds(main)
        ]
        whole = [*header, "classifier frozen ↑", RETRAINED]
        tables.append(f"Against {NAMES[which]}:\n\n{markdown(whole, rows)}")
    return "\n".join([*tables, *(f"{line}\n" for line in (OVER, *floors(main)))])


def larger() -> str:
    """The same of larger images, one kind of generator a row; both kinds of impostors in a cell."""
    rows, said = [], [f"AUCs: {' / '.join(NAMES[which] for which in READINGS)}. {OVER}"]
    for key in LARGER:
        own = results(key)
        size = f"{own.source.size} px"
        said += [f"{size}: {line}" for line in (*floors(own), *_to_be_played_again(own))]
        for kind, methods in _kinds(own):
            both = zip(*(_linked(methods, (), which) for which in READINGS), strict=True)
            rows.append([size, kind, *_made_of(methods)[1:], *map(" / ".join, both)])
            rows[-1] += _read(methods)
            size = ""
    header = ["images", "released as", "at rest", "moved by (px, RMS)"]
    header += [f"{title} ↓" for title in AGAIN.values()]
    return text(([*header, "classifier frozen ↑", RETRAINED], rows), said)


def _kinds(own: Results) -> list[tuple[str, list[Method]]]:
    """Methods that differ in their seed alone, by what they are called together; controls last."""
    kinds: dict[str, list[Method]] = {}
    for method in own.methods:
        kinds.setdefault(_kind(method), []).append(method)
    return sorted(kinds.items(), key=_is_control)


def _kind(method: Method) -> str:
    """What a method is called together with those of other seeds. Controls are one kind: all warps
    that were learnt move as far."""
    known = {REAL: "real images", RandomWarp.name: "random warp that moves as far"}
    weight, border = (method.options.get(name) for name in ("verification_weight", "border"))
    learnt = method.name + (f", λ = {weight}" if weight else "")
    learnt += ", frame" * (border == "reference")
    return known.get(method.name, learnt)


def _is_control(kind: tuple[str, list[Method]]) -> bool:
    return kind[1][0].name == RandomWarp.name


def _made_of(methods: list[Method]) -> list[str]:
    moved = [m.image.displacement_px for m in methods]
    rms = several(one.rms for one in moved if one and one.rms)
    if not methods[0].steps:
        return ["–", "–", rms]
    steps = sorted({f"{m.steps:,}" for m in methods})
    rest = sum(m.converged for m in methods)
    return [str(len(methods)), f"{rest} of {len(methods)} after {' or '.join(steps)} steps", rms]


def _beside(key: str) -> dict[str, str]:
    return {p: title for p, title in BESIDE.items() if (RESULTS / key / p).is_dir()}


def _linked(methods: list[Method], beside: Iterable[Results], which: str) -> list[str]:
    prints = {(m.name, m.fingerprint) for m in methods}
    attacked = [[m for m in own.methods if (m.name, m.fingerprint) in prints] for own in beside]
    asked = [("verification", own) for own in attacked] + [(key, methods) for key in AGAIN]
    found = [[auc(m.privacy[key], which) for m in own] for key, own in asked]
    return [several(one.mean for one in own if one) for own in found]


def _read(methods: list[Method]) -> list[str]:
    return [several(m.utility.auc(kind).mean for m in methods) for kind in ("frozen", "retrained")]


def against_control(main: str = MINIATURE) -> str:
    """What each attacker reaches on real images and on generators of an evaluation, and there less
    on the random warp that moves as far: one attacker and kind of impostors a row."""
    own = results(main)
    said = [*_come_to_rest(own.methods), *floors(own), *_to_be_played_again(own)]
    return text(_against(main, own.methods), said)


def _to_be_played_again(own: Results) -> list[str]:
    return [f"**To be made again**: {ROUNDED}."] if rounded(own) else []


def apart(main: str, option: str) -> str:
    """The same of the generators of each value of an option of ``VARIED``."""
    own = results(main)
    played = [m for m in own.methods if m.name == PriCheXyNet.name]
    tables = []
    for value in dict.fromkeys(m.options[option] for m in played):
        alike = [m for m in played if m.options[option] == value]
        whole = text(_against(main, alike, {option: value}), _come_to_rest(alike))
        tables.append(f"{VARIED[option].format(value)}:\n\n{whole}")
    return "\n".join([*tables, *(f"{line}\n" for line in floors(own))])


def _against(
    main: str, alike: Iterable[Method], options: Mapping[str, Any] = MappingProxyType({})
) -> tuple[list[str], list[list[str]]]:
    """Of the generators ``alike``, which are those with these ``options``; evaluations beside the
    main one know them by their weights, and by the options where they have others, too."""
    prints = {(m.name, m.fingerprint) for m in alike}
    named = {(f"{main}/{p}", "verification"): title for p, title in _beside(main).items()}
    named |= {(main, key): AGAIN.get(key, f"`{key}`") for key in results(main).attackers}
    rows = []
    for (key, attacker), title in named.items():
        for which in READINGS:
            own = results(key)
            real = [auc(m.privacy[attacker], which) for m in own.methods if m.name == REAL]
            found = [
                (read.auc.mean, d.difference.mean, d.p_holm)
                for method in own.methods
                if (method.name, method.fingerprint) in prints
                if (read := figures(method.privacy[attacker], which)) is not None
                for d in read.differences
                if d.role == CONTROL
            ]
            if not found:
                continue
            sure = [less for _, less, p in found if p is not None and p < SURE]
            below = sum(less < 0 for less in sure)
            counts = (len(found), sum(less < 0 for _, less, _ in found), below, len(sure) - below)
            levels = several(one.mean for one in real if one), several(own for own, _, _ in found)
            known = set[str]().union(*(kind.options for kind in own.generators))
            told = {name: value for name, value in options.items() if name in known}
            less = less_control(own, attacker, which, told)
            less = less or several(less for _, less, _ in found).replace("-", "−")
            rows.append([title, SHORT[which], *levels, less, *map(str, counts)])
    header = ["attacker", "impostors", "AUC on real images", "on generators", "less the control"]
    return [*header, "generators", "below it", "below it for sure", "above it for sure"], rows


def _come_to_rest(methods: Iterable[Method]) -> list[str]:
    """How many of the generators that are held against their control had converged, and when."""
    held = [m for m in methods if CONTROL in {d.role for d in m.strongest[1].differences}]
    return [f"Generators that converged: {_made_of(held)[1]}."] if held else []
