"""What stands in the cells of the tables about methods."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from attacks.evaluation.checks.choice_checks import looking_for_patients
from attacks.measuring.estimates import Estimate, Figures, OperatingPoint
from attacks.reporting.generator_table import differences
from attacks.reporting.readings import ALL, MATCHED, NAMES, NONE_ALIKE, auc, difference_to
from attacks.reporting.tables import compared, in_words, not_worse, number, training_in_words
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


def seeds(method: Method) -> str:
    attacks = (method.strongest_by_image[1], method.privacy["verification"])
    return ", ".join(f"{len(a.auc.runs)}{' from one start' * a.warm_start}" for a in attacks)


def reading(attack: Attack, reading: str) -> str:
    found = auc(attack, reading)
    return NONE_ALIKE if found is None else in_words(found, digits=2)


def one_pair(method: Method) -> str:
    """The strongest attacker's AUC where each patient counts once."""
    found = method.strongest_by_image[1].headline.estimate("auc_patient")
    return "–" if found is None else in_words(found, digits=2)


def less(method: Method, role: str) -> str:
    """The strongest attacker's AUC against matched impostors less that on another release."""
    found = difference_to(role, method.strongest_by_image[1].headline.differences)
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
    for key, attack in looking_for_patients(method).items():
        own = attack.matched if matched else attack
        rate = own and next(filter(None, map(own.estimate, figures)), None)
        if rate and name_of(key) != SETS:
            found.append((key, own, rate))
    return max(found, key=lambda one: one[2].mean, default=None)


def most(method: Method, *figures: str, matched: bool = False) -> str:
    best = best_guess(method, *figures, matched=matched)
    return "–" if best is None else f"{best[0]} {share(best[2])}"


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


def missed_at(rate: float) -> str:
    return f"missed at {100 * rate:g} %"


def missed_by_strongest(rate: float) -> Callable[[Method], str]:
    """Genuine pairs that the strongest attacker misses where so few matched impostors pass."""

    def cell(method: Method) -> str:
        points = method.strongest_by_image[1].headline.operating_points
        return next((missed(p) for p in points if p.false_match_rate == rate), "–")

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


STRONGEST = (f"strongest, image by image ↓, {NAMES[MATCHED]}", f"the same, {NAMES[ALL]}")
PUBLISHED, UNTRAINED = (f"{k} ↓, {NAMES[MATCHED]}" for k in ("published attacker", "no training"))
RETRAINED = "classifier retrained ↑"
RATES = (1e-2, 1e-3, 1e-4)  # of false matches
GUESSED = tuple(f"{name}, {NAMES[ALL]}" for name in ("first guess right", "patients given away"))
LIKE = f"first guess right, {NAMES[MATCHED]}"
R_S = f"R_s, {NAMES[ALL]}"  # of all patients, as the paper on whole slides has it
ONE_PAIR = "the same, one pair a patient"
NO_WORSE = "retrained no worse by δ"
TRAINED, CALIBRATED = "generator trained", "ECE of the retrained ↓"
LESS_REAL = "the same less itself on real images"
CELLS: dict[str, Callable[[Method], str]] = {
    STRONGEST[0]: strongest,
    ONE_PAIR: one_pair,
    STRONGEST[1]: lambda m: reading(m.strongest_by_image[1], ALL),
    LESS_REAL: lambda m: less(m, "real"),
    "less the control": lambda m: less(m, CONTROL),
    GUESSED[0]: lambda m: most(m, "precision_at_1"),
    LIKE: lambda m: most(m, "precision_at_1", matched=True),
    GUESSED[1]: lambda m: most(m, "r_s"),
    PUBLISHED: lambda m: reading(m.privacy["verification"], MATCHED),
    UNTRAINED: lambda m: reading(m.privacy["training-free"], MATCHED),
    "EER": lambda m: share(m.strongest_by_image[1].headline.estimate("equal_error_rate")),
    R_S: lambda m: most(m, "r_s_all"),
    **{missed_at(rate): missed_by_strongest(rate) for rate in RATES},
    "read in released images ↑": on_released,
    CALIBRATED: calibration,
    "trainings": seeds,
    TRAINED: training_in_words,
    "classifier frozen ↑": lambda m: utility(m, "frozen"),
    RETRAINED: lambda m: utility(m, "retrained"),
    NO_WORSE: loses_less,
}
COMPARED = (*STRONGEST, PUBLISHED, UNTRAINED, "trainings", "classifier frozen ↑", RETRAINED)
LINKED = (
    *(STRONGEST[0], ONE_PAIR, STRONGEST[1], LESS_REAL, "less the control"),
    *(LIKE, *GUESSED, TRAINED),
)
ERRORS = ("EER", *map(missed_at, RATES))
BY_LOT = {"EER": "50 %"} | {missed_at(rate): f"{100 - 100 * rate:g} %" for rate in RATES}
OPERATING = (*ERRORS, GUESSED[1], R_S, TRAINED)
READ = (
    "classifier frozen ↑",
    RETRAINED,
    NO_WORSE,
    "read in released images ↑",
    CALIBRATED,
    TRAINED,
)
