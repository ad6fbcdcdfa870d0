"""report.html: one file for people who decide about a release, which loads nothing from
elsewhere."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from attacks.reporting.breakdown_table import breakdown_table, false_match_rate
from attacks.reporting.tables import in_words, label_auc_in_words, table
from attacks.results import REAL, TITLES, Attack, Method, Results

KNOWLEDGE = {
    "ignorant": "learnt from real images, or nothing at all, and never saw a released one",
    "lazy": "never learnt from a released image, but runs the public anonymizer over its gallery",
    "informed": "learnt from released images",
    "white-box": "has the anonymizer itself, with its weights",
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
    published: tuple[tuple[list[str], list[list[str]]], list[str]] | None = None,
) -> None:
    """Writes the report; the same results and pictures give the same bytes.

    Args:
        results: with its checks.
        path: the .html file.
        folder: of the pictures.
        pictures: embedded, the first one above the tables.
        published: the paper's table beside ours (header and rows), and notes to it.
    """
    known = {attack.knowledge for attack in _attacks(results)}
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
        attacks=attack_table(results),
        breakdown=breakdown_table(results),
        false_match_rate=false_match_rate(results),
        labels=label_table(results),
        change=change_table(results),
        knowledge={k: text for k, text in KNOWLEDGE.items() if k in known},
        scenarios=_scenarios(results),
        failed=[check for check in trusted if not check.passed],
        passed=[check for check in trusted if check.passed],
        findings=[check for check in results.checks if check.informative],
        repeats=max(
            (len(a.auc.runs) for m in results.methods for a in m.privacy.values()), default=0
        ),
        ddof=next((a.auc.ddof for a in _attacks(results)), 0),
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
        (
            title,
            [*_privacy_in_words(method, results.real), *_utility_in_words(method, results.real)],
        )
        for title, method in zip(results.titles(), results.methods, strict=True)
        if method.name != REAL
    ]


def _privacy_in_words(method: Method, real: Method | None) -> list[str]:
    if method.strongest is None:
        return []
    name, attack = method.strongest
    reference = real.strongest if real is not None else None
    compared = f"; on the real images it is {reference[1].auc.mean * 100:.0f}" if reference else ""
    found = [
        f"Shown a pair of images of one patient and a pair of two patients, the strongest attacker "
        f"({name}) picks the right one in {attack.auc.mean * 100:.0f} of 100 cases{compared}; "
        f"guessing gives 50."
    ]
    if attack.r_s is not None:
        found.append(
            f"Knowing real images of every patient, it names {attack.r_s:.0%} of the patients "
            "with several images by taking the most similar one."
        )
    interval = attack.auc.ci95
    if interval is not None and interval[0] <= 0.5 <= interval[1]:
        found.append(
            "The interval includes guessing: these attackers found nothing. A stronger one may."
        )
    return found


def _utility_in_words(method: Method, real: Method | None) -> list[str]:
    found = []
    reference = _mean(real, "frozen") if real is not None else None
    compared = f" (real images: {reference:.3f})" if reference is not None else ""
    if (frozen := _mean(method, "frozen")) is not None:
        found.append(
            f"An existing classifier reads findings with a mean AUC of {frozen:.3f}{compared}."
        )
    if (retrained := _mean(method, "retrained")) is not None:
        found.append(f"One trained on the released images reaches {retrained:.3f}.")
    return found


def attack_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """One method and attacker a row, every figure that any attacker has."""
    shown = [f for f in TITLES if any(a.estimate(f) is not None for a in _attacks(results))]
    header = ["method", "attacker", "knowledge", *(TITLES[f] for f in shown)]
    rows = [
        [title, name, attack.knowledge, *(in_words(attack.estimate(f)) for f in shown)]
        for title, method in zip(results.titles(), results.methods, strict=True)
        for name, attack in method.privacy.items()
    ]
    return header, rows


def label_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Classification AUC of each label: one method and kind of utility a row."""
    rows, labels = [], {}
    for title, method in zip(results.titles(), results.methods, strict=True):
        for kind in ("frozen", "retrained"):
            if (found := getattr(method.utility, kind)) is not None:
                labels |= dict.fromkeys(found.auc.per_class)
                rows.append((title, kind, found))
    cells = [
        [title, kind, label_auc_in_words(found)]
        + [_number(found.auc.per_class.get(label), "{:.3f}") for label in labels]
        for title, kind, found in rows
    ]
    return ["method", "classifier", "mean", *labels], cells


def change_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """How far the released images are from the real ones, and what that takes."""
    header = ["method", "SSIM", "PSNR (dB)", "displacement mean (px)", "largest (px)"]
    header += ["smallest Jacobian", "ms per image"]
    rows = []
    for title, method in zip(results.titles(), results.methods, strict=True):
        image, moved, seconds = (
            method.image,
            method.image.displacement_px,
            method.cost.seconds_per_image,
        )
        rows.append(
            [
                title,
                _number(image.ssim, "{:.3f}"),
                _number(image.psnr, "{:.1f}"),
                _number(moved.mean if moved else None, "{:.2f}"),
                _number(moved.max if moved else None, "{:.2f}"),
                _number(image.min_jacobian, "{:.2f}"),
                _number(None if seconds is None else seconds * 1000, "{:.1f}"),
            ]
        )
    return header, rows


def _mean(method: Method, kind: str) -> float | None:
    found = getattr(method.utility, kind)
    return None if found is None else found.auc.mean


def _attacks(results: Results) -> list[Attack]:
    return [attack for method in results.methods for attack in method.privacy.values()]


def _scenarios(results: Results) -> dict[str, str]:
    """What each attacker does, by name."""
    found: dict[str, str] = {}
    for method in results.methods:
        for name, attack in method.privacy.items():
            if attack.scenario:
                found.setdefault(name, attack.scenario)
    return found


def _number(value: float | None, pattern: str) -> str:
    return "–" if value is None else pattern.format(value)


def _embedded(picture: Path) -> str:
    """The PNG file as a data address."""
    return "data:image/png;base64," + base64.b64encode(Path(picture).read_bytes()).decode("ascii")
