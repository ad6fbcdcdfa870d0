"""report.html: one file for people who decide about a release, which loads nothing from
elsewhere."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from attacks.reporting import readings
from attacks.reporting.tables import (
    KINDS,
    Table,
    breakdown_table,
    false_match_rate,
    floor_table,
    in_words,
    number,
    readable_in_words,
    signed,
    table,
    training_in_words,
)
from attacks.results import REAL, TITLES, Classification, Method, Results, Utility

KNOWLEDGE = {
    "ignorant": "learnt from real images, or nothing at all, and never saw a released one",
    "lazy": "never learnt from a released image, but runs the public anonymizer over its gallery",
    "informed": "learnt from released images",
    "white-box": "has the anonymizer itself, with its weights",
}
KIND_TITLES = {
    "frozen": "frozen",
    "retrained": "retrained",
    "pool_only": "other people's images alone",
}


@dataclass(frozen=True)
class Picture:
    """A PNG file of the evaluation, and the words around it."""

    file: str
    title: str
    alt: str
    caption: str


def write_report(
    results: Results,
    path: Path,
    *,
    folder: Path = Path(),
    pictures: Sequence[Picture] = (),
    published: tuple[Table, list[str]] | None = None,
) -> None:
    """Writes the report; the same results and pictures give the same bytes.

    Args:
        results: with its checks.
        path: the .html file.
        folder: of the pictures.
        pictures: embedded, the first one above the tables.
        published: the paper's table beside ours (header and rows), and notes to it.
    """
    attacks = list(results.attacks())
    known = {attack.knowledge for _, _, attack in attacks}
    scenarios: dict[str, str] = {}  # what each attacker does
    for _, name, attack in attacks:
        if attack.scenario:
            scenarios.setdefault(name, attack.scenario)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = code
    trusted = [check for check in results.checks if not check.informative]
    shown = [(picture, _embedded(folder / picture.file)) for picture in pictures]
    page = environment.get_template("report.html").render(
        results=results,
        summary=summary(results),
        overview=table(results),
        reading=readings.explained(results),
        attacks=attack_table(results),
        floors=floor_table(results),
        breakdown=breakdown_table(results),
        false_match_rate=false_match_rate(results),
        utility=utility_table(results),
        labels=label_table(results),
        change=change_table(results),
        knowledge={k: text for k, text in KNOWLEDGE.items() if k in known},
        scenarios=scenarios,
        failed=[check for check in trusted if not check.passed],
        passed=[check for check in trusted if check.passed],
        findings=[check for check in results.checks if check.informative],
        repeats=max((len(a.auc.runs) for _, _, a in attacks), default=0),
        ddof=next((a.auc.ddof for _, _, a in attacks), 0),
        first=shown[:1],
        pictures=shown[1:],
        published=published,
    )
    Path(path).write_text(page, encoding="utf-8")


def code(text: str) -> Markup:
    """Text for a page, what stands between backticks as code; all else is escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def summary(results: Results) -> list[tuple[str, list[str]]]:
    """Per released method its title and what was found, in plain words."""
    return [
        (title, _privacy_in_words(method, results) + _utility_in_words(method, results.real))
        for title, method in results.titled
        if method.name != REAL
    ]


def _privacy_in_words(method: Method, results: Results) -> list[str]:
    real, reading = results.real, readings.headline(results)
    if method.strongest is None:
        return []
    name, attack = method.strongest
    auc = readings.auc(attack, reading)
    if auc is None:
        return [f"The strongest attacker ({name}) has no figure: {readings.NONE_ALIKE}."]
    reference = readings.strongest_auc(real, reading)
    compared = f"; on the real images it is {reference.mean * 100:.0f}" if reference else ""
    alike = " who are alike in what the images show" if reading == readings.MATCHED else ""
    found = [
        f"Shown a pair of images of one patient and a pair of two patients{alike}, the strongest "
        f"attacker ({name}) picks the right one in {auc.mean * 100:.0f} of 100 cases{compared}; "
        f"guessing gives 50."
    ]
    if alike:
        found.append(f"Where the two patients may be any: {attack.auc.mean * 100:.0f} of 100.")
    if attack.r_s is not None:
        found.append(
            f"Knowing real images of every patient, it names {attack.r_s:.0%} of the patients "
            "with several images by taking the most similar one."
        )
    interval = auc.ci95
    if interval is not None and interval[0] <= 0.5 <= interval[1]:
        found.append(
            "The interval includes guessing: these attackers found nothing. A stronger one may."
        )
    return found


def _utility_in_words(method: Method, real: Method | None) -> list[str]:
    found = []
    frozen, retrained = method.frozen, method.utility.mean("retrained")
    reference = real.utility.mean("frozen") if real is not None else None
    compared = f" (real images: {reference:.3f})" if reference is not None else ""
    if frozen is not None:
        found.append(
            f"An existing classifier reads findings with a mean AUC of {frozen.mean:.3f}{compared}."
        )
    if retrained is not None:
        found.append(f"One trained on the released images reaches {retrained:.3f}.")
    if found and method.utility.readable is False:
        found.append("Do not read them: on real images, where they should be equal, they are not.")
    return found


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
        for kind in KINDS
        if (found := getattr(method.utility, kind)) is not None
    ]


def _embedded(picture: Path) -> str:
    """The PNG file as a data address."""
    return "data:image/png;base64," + base64.b64encode(Path(picture).read_bytes()).decode("ascii")
