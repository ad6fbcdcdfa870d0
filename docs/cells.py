"""What stands in the cells of the tables about methods."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from attacks.evaluation.checks.choice_checks import looking_for_patients
from attacks.measuring.estimates import Estimate, Figures, OperatingPoint
from attacks.reporting.generator_table import differences
from attacks.reporting.readings import (
    ALL,
    MATCHED,
    NAMES,
    NONE_ALIKE,
    auc,
    difference_to,
    figures,
)
from attacks.reporting.tables import compared, in_words, not_worse, number
from attacks.results import SETS, Attack, Method, Results, name_of

COIN = "coin"
FLOORS = {
    "findings": "true findings alone",
    "task": "what a classifier reads in real images",
    "soft-biometrics": "age, sex and view, read from real images",
    "metadata": "true age, sex, view, follow-up number, where known",
    COIN: "a coin",
}
OF_SETS = {"task, sets": "the same, of all images of a patient together"}
FEW = 0.1  # a rate below which a tenth of a percent counts
CONTROL = "control"  # what a method has to surpass, whatever its title


def both(title: str) -> tuple[str, str]:
    """The titles of a figure's two readings, matched impostors first."""
    return f"{title}, {NAMES[MATCHED]}", f"the same, {NAMES[ALL]}"


def several(values: Iterable[float]) -> str:
    """Their mean, and their deviation where there are several."""
    found = list(values)
    if not found:
        return "–"
    spread = f" ± {np.std(found):.3f}" if len(found) > 1 else ""
    return f"{np.mean(found):.3f}{spread}"


def strongest(method: Method) -> str:
    name, attack = method.strongest_by_image
    return f"{name} {reading(attack, MATCHED)}"


def reading(attack: Attack, reading: str) -> str:
    found = auc(attack, reading)
    return NONE_ALIKE if found is None else in_words(found, digits=2)


def one_pair(method: Method) -> str:
    """The strongest attacker's AUC where each patient counts once."""
    found = method.strongest_by_image[1].headline.estimate("auc_patient")
    return "–" if found is None else in_words(found, digits=2)


def less_real(method: Method) -> str:
    """The strongest attacker's AUC against matched impostors less that on real images."""
    found = difference_to("real", method.strongest_by_image[1].headline.differences)
    return compared(found) if found else "–"


def less_control(own: Results, attacker: str, reading: str, options: Mapping[str, Any]) -> str:
    """Of each kind of generators with these ``options``, with the interval over generators and
    patients; "" of an evaluation that does not say."""
    kinds = [one for one in own.generators if one.options.items() >= options.items()]
    found = [(one, difference_to(CONTROL, differences(one, attacker, reading))) for one in kinds]
    return "; ".join(f"{compared(d)}, {len(one.seeds)} generators" for one, d in found if d)


def best_guess(
    method: Method, *figures: str, matched: bool = False
) -> tuple[str, Figures, Estimate] | None:
    """Who has the highest rate, the first of ``figures`` that was measured, of all attackers that
    take every image alone, and what it reads: who links pairs best need not guess best."""
    found = []
    asked = looking_for_patients(method) or method.privacy  # all look for the very films, or none
    for key, attack in asked.items():
        own = attack.matched if matched else attack
        rate = own and next(filter(None, map(own.estimate, figures)), None)
        if rate and name_of(key) != SETS:
            found.append((key, own, rate))
    return max(found, key=lambda one: one[2].mean, default=None)


def most(method: Method, *figures: str, matched: bool = False) -> str:
    best = best_guess(method, *figures, matched=matched)
    return "–" if best is None else f"{best[0]} {share(best[2])}"


def guessed_most(figure: str, which: str) -> Callable[[Method], str]:
    return lambda method: most(method, figure, matched=which == MATCHED)


def linked_by(attacker: str, which: str) -> Callable[[Method], str]:
    return lambda method: reading(method.privacy[attacker], which)


def share(found: Estimate | None) -> str:
    """A rate and its 95 % interval, in percent."""
    if found is None:
        return "–"
    digits = 0 if found.mean >= FEW else 1
    low_high = "" if found.ci95 is None else "–".join(f"{100 * v:.{digits}f}" for v in found.ci95)
    return f"{100 * found.mean:.{digits}f} %" + (f" ({low_high} %)" if low_high else "")


def utility(method: Method, kind: str) -> str:
    if method.utility.readable is False:
        return "unreadable"
    return in_words(method.utility.auc(kind), digits=2)


def missed(point: OperatingPoint) -> str:
    return share(point.false_non_match_rate) + ("" if point.certified else " °")


def missed_at(rate: float, which: str) -> str:
    return f"missed at {100 * rate:g} %, {NAMES[which]}"


def missed_by_strongest(rate: float, which: str) -> Callable[[Method], str]:
    """Genuine pairs that the strongest attacker misses where so few of these impostors pass."""

    def cell(method: Method) -> str:
        found = figures(method.strongest_by_image[1], which)
        points = found.operating_points if found else ()
        return next((missed(p) for p in points if p.false_match_rate == rate), "–")

    return cell


def error_rate(which: str) -> Callable[[Method], str]:
    """The strongest attacker's equal error rate."""

    def cell(method: Method) -> str:
        found = figures(method.strongest_by_image[1], which)
        return share(found and found.estimate("equal_error_rate"))

    return cell


def on_released(method: Method) -> str:
    if method.utility.readable is False:
        return "unreadable"
    return in_words(method.utility.retrained.on_released, digits=2)


def calibration(method: Method) -> str:
    if method.utility.readable is False:
        return "unreadable"
    found = method.utility.retrained
    return number(found.ece if found else None, 3)


def loses_less(method: Method) -> str:
    found = method.utility.retrained
    return not_worse(found) if method.utility.readable else "–"


READINGS = (MATCHED, ALL)
STRONGEST = both("strongest, image by image ↓")
ATTACKERS = {"published attacker": "verification", "no training": "training-free"}
BOTH = {  # what an attacker reaches, matched impostors first
    f"{title} ↓, {NAMES[which]}": (key, which)
    for title, key in ATTACKERS.items()
    for which in READINGS
}
RETRAINED = "classifier retrained ↑"
RATES = (1e-2, 1e-3, 1e-4)  # of false matches
GUESSES = {"first guess right": "precision_at_1", "patients given away": "r_s"}
GUESSED = {
    f"{name}, {NAMES[which]}": (figure, which)
    for name, figure in GUESSES.items()
    for which in READINGS
}
R_S = f"R_s, {NAMES[ALL]}"  # of all patients, as the paper on whole slides has it
ONE_PAIR = "the same, one pair a patient"
NO_WORSE = "retrained no worse by δ"
CALIBRATED = "ECE of the retrained ↓"
LESS_REAL = "the same less itself on real images"
CELLS: dict[str, Callable[[Method], str]] = {
    STRONGEST[0]: strongest,
    ONE_PAIR: one_pair,
    STRONGEST[1]: lambda m: reading(m.strongest_by_image[1], ALL),
    LESS_REAL: less_real,
    **{title: guessed_most(*of) for title, of in GUESSED.items()},
    **{title: linked_by(*of) for title, of in BOTH.items()},
    R_S: lambda m: most(m, "r_s_all"),
    **{f"EER, {NAMES[which]}": error_rate(which) for which in READINGS},
    **{missed_at(r, which): missed_by_strongest(r, which) for r in RATES for which in READINGS},
    "read in released images ↑": on_released,
    CALIBRATED: calibration,
    "classifier frozen ↑": lambda m: utility(m, "frozen"),
    RETRAINED: lambda m: utility(m, "retrained"),
    NO_WORSE: loses_less,
}
COMPARED = (*STRONGEST, *BOTH, "classifier frozen ↑", RETRAINED)
LINKED = (STRONGEST[0], ONE_PAIR, STRONGEST[1], LESS_REAL, *GUESSED, R_S)
BY_LOT = {f"EER, {NAMES[which]}": "50 %" for which in READINGS} | {
    missed_at(r, which): f"{100 - 100 * r:g} %" for r in RATES for which in READINGS
}
OPERATING = tuple(BY_LOT)
READ = (
    "classifier frozen ↑",
    RETRAINED,
    NO_WORSE,
    "read in released images ↑",
    CALIBRATED,
)
