"""The long tables of a report."""

from collections.abc import Callable

from attacks.reporting import readings
from attacks.reporting.tables import (
    Table,
    in_words,
    not_worse,
    number,
    readable_in_words,
    signed,
    training_in_words,
)
from attacks.results import TITLES, Classification, Results, Utility

KIND_TITLES = {
    "frozen": "frozen",
    "retrained": "retrained",
    "pool_only": "other people's images alone",
}


def attack_table(results: Results) -> Table:
    """One method, attacker and kind of impostors a row, every figure that any attacker has."""
    attacks = list(results.attacks())
    shown = [f for f in TITLES if any(a.estimate(f) is not None for _, _, a in attacks)]
    header = ["method", "attacker", "knowledge", "impostors", *(TITLES[f] for f in shown)]
    rows = []
    for title, name, attack in attacks:
        first = [title, name, attack.knowledge]
        for reading in readings.measured(results):
            found = readings.figures(attack, reading)
            cells = [in_words(found.estimate(f) if found else None) for f in shown]
            kind = readings.SHORT[reading]
            rows.append([*first, kind if found else readings.NONE_ALIKE, *cells])
    return header, rows


def utility_table(results: Results) -> Table:
    """What a classifier reads: one method and kind of utility a row, what was measured a column."""
    read = _read(results)
    columns: dict[str, Callable[[Classification, Utility], str]] = {
        "AUC": lambda c, u: in_words(c.auc),
        "− real images": lambda c, u: signed(c.difference),
        "no worse by δ": lambda c, u: not_worse(c),
        "of findings told": lambda c, u: in_words(c.told),
        "of findings held back": lambda c, u: in_words(c.held_back),
        "tested on released": lambda c, u: in_words(c.on_released),
        "ECE": lambda c, u: number(c.ece, 3),
        "readable": lambda c, u: readable_in_words(u),
    }
    shown = {n: f for n, f in columns.items() if any(f(c, u) != "–" for _, _, c, u in read)}
    rows = [
        [title, KIND_TITLES[kind], *(cell(c, u) for cell in shown.values())]
        for title, kind, c, u in read
    ]
    return ["method", "classifier", *shown], rows


def label_table(results: Results) -> Table:
    """Classification AUC of each label: one method and kind of utility a row."""
    read = [(title, KIND_TITLES[kind], found.auc) for title, kind, found, _ in _read(results)]
    labels = list(dict.fromkeys(label for *_, auc in read for label in auc.per_class))
    rows = [
        [title, kind, in_words(auc), *(number(auc.per_class.get(label), 3) for label in labels)]
        for title, kind, auc in read
    ]
    return ["method", "classifier", "mean", *labels], rows


def change_table(results: Results) -> Table:
    """How far the released images are from the real ones, and what that takes."""
    header = ["method", "SSIM", "PSNR (dB)", "displacement mean (px)", "largest (px)"]
    header += ["smallest Jacobian", "ms per image", "generator trained"]
    rows = []
    for title, method in results.titled:
        image, seconds = method.image, method.cost.seconds_per_image
        moved = image.displacement_px
        rows.append(
            [
                title,
                number(image.ssim, 3),
                number(image.psnr, 1),
                number(moved.mean if moved else None, 2),
                number(moved.max if moved else None, 2),
                number(image.min_jacobian, 2),
                number(None if seconds is None else seconds * 1000, 1),
                training_in_words(method),
            ]
        )
    return header, rows


def _read(results: Results) -> list[tuple[str, str, Classification, Utility]]:
    """Title of the method, kind of utility, and what was measured, of all that was."""
    return [
        (title, kind, found, method.utility)
        for title, method in results.titled
        for kind in KIND_TITLES
        if (found := getattr(method.utility, kind)) is not None
    ]
