"""The list of a whole-slide release, for radiographs: what was seen, and what a person must answer.

After the guidelines A1–A7 (data to be shared as anonymous) and P1–P4 (as personal data) of Holub et
al., "Privacy risks of whole-slide image sharing in digital pathology", Nature Communications 14,
2577 (2023), in our words. The program says what it saw for itself; nothing of it is an answer.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field

from anonymize import section, yaml_text
from anonymize.errors import UsageError, counted
from attacks.evaluation.policies.release_seen import ReleaseSeen
from attacks.results import Method, Results


class Answer(section.Options):
    """What a person says of one guideline."""

    answer: Literal["yes", "no"] | None = Field(None, description="it is kept to")
    why: str = Field("", description="in a sentence or two")
    by: str = Field("", description="who answers for it")


class Answers(section.Options):
    """answers.yaml: an answer to each guideline, and the files of `attacks overlap`."""

    overlaps: tuple[Path, ...] = Field(
        (), description="overlap.json of this data set and each other one, by `attacks overlap`"
    )
    A1: Answer = Answer()
    A2: Answer = Answer()
    A3: Answer = Answer()
    A4: Answer = Answer()
    A5: Answer = Answer()
    A6: Answer = Answer()
    A7: Answer = Answer()
    P1: Answer = Answer()
    P2: Answer = Answer()
    P3: Answer = Answer()
    P4: Answer = Answer()


@dataclass(frozen=True)
class Facts:
    """What the program knows."""

    results: Results | None  # None: files were attacked, and nothing was evaluated
    release: ReleaseSeen | None = None
    overlaps: Sequence[Path] = ()

    @property
    def attacked(self) -> Sequence[Method]:
        return () if self.results is None else self.results.released


@dataclass(frozen=True)
class Guided:
    """One guideline: what was seen, and what a person answered ("yes", "no" or "")."""

    key: str
    question: str
    seen: str
    answer: str
    why: str


UNSEEN = "nothing: a person must know"
UNMEASURED = "not measured: attacks evaluate does it"


def guided(facts: Facts, answers: Answers) -> tuple[Guided, ...]:
    """Each guideline as it was seen and answered. Raises UsageError: an overlap that is none."""
    return tuple(
        Guided(key, question, look(facts), own.answer or "", own.why)
        for key, (question, look) in GUIDELINES.items()
        for own in [getattr(answers, key)]
    )


def read_answers(path: Path) -> Answers:
    """answers.yaml; nothing is answered where it is missing. Raises UsageError: no YAML, an unknown
    key or value."""
    if not path.exists():
        return Answers()
    try:
        values = yaml_text.read(path.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(
            f"--answers must be a readable YAML file ({type(error).__name__}); remove it to get "
            "one with every question"
        ) from None
    if not isinstance(values, dict):
        raise UsageError("--answers must hold keys and values; remove it to get one to fill in")
    # YAML 1.1 reads yes and no as truths.
    spoken = {True: "yes", False: "no"}
    for own in values.values():
        if isinstance(own, dict) and isinstance(own.get("answer"), bool):
            own["answer"] = spoken[own["answer"]]
    found: Answers = section.validated(Answers, values)
    return found


def template() -> str:
    """An answers.yaml without answers."""
    lines = [
        "# Answer yes or no to each, say why, and who answers for it. Only a person can: the",
        "# program prints beside it what it saw. overlaps: paths of overlap.json that",
        "# `attacks overlap` wrote of this data set and others.",
        "overlaps: []",
    ]
    for key, (question, _) in GUIDELINES.items():
        lines += [f"# {question}", f"{key}: {{answer: null, why: '', by: ''}}"]
    return "\n".join(lines) + "\n"


def _metadata(facts: Facts) -> str:
    if facts.release is None:
        return "no release was looked at (--release)"
    return f"`anonymize verify`: {facts.release.in_words()}"


def _copies(facts: Facts) -> str:
    said = [_overlap(path) for path in facts.overlaps]
    copies = [m for m in facts.attacked if m.image.of_others]
    said += [f"images of other patients are released as they are by {m.name}" for m in copies]
    return "; ".join(said) or "no other data set was compared (`attacks overlap`)"


def _overlap(path: Path) -> str:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        identical, probable = int(found["identical"]), int(found["probable"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            "overlaps of answers.yaml must be overlap.json files that `attacks overlap` wrote"
        ) from None
    return (
        f"another data set: {counted(identical, 'pair')} of patients with identical images, "
        f"{probable:,} more probable"
    )


def _series(facts: Facts) -> str:
    if facts.results is None:
        return UNMEASURED
    source = facts.results.source
    said = f"{source.images:,} images of {counted(source.patients, 'patient')}"
    worlds = [a.world for m in facts.attacked for a in m.privacy.values() if a.world]
    grown = [(w.by_probes[0].r_s.mean, w.by_probes[-1]) for w in worlds if len(w.by_probes) > 1]
    if not grown:
        return said
    one, most = max(grown, key=lambda g: g[1].r_s.mean)
    return (
        f"{said}; the strongest link finds {one:.1%} of the patients with one image, and "
        f"{most.r_s.mean:.1%} with {most.probes}"
    )


def _attributes(facts: Facts) -> str:
    if facts.results is None:
        return UNMEASURED
    found = [
        f"{f.name} link with AUC {f.auc.mean:.2f}"
        for f in facts.results.floors
        if f.auc is not None and f.name != "coin"
    ]
    groups = facts.results.groups
    if groups is not None and groups.diversity is not None:
        found.append(
            f"{counted(groups.told or 0, 'patient')} in groups of one set of findings "
            f"(l = {groups.diversity})"
        )
    return "; ".join(found) or "not measured"


def _groups(facts: Facts) -> str:
    said = []
    if facts.release is not None and facts.release.groups:
        said.append(f"metadata.csv of the release: {facts.release.groups}")
    groups = None if facts.results is None else facts.results.groups
    if groups is None:
        return "; ".join([*said, UNMEASURED])
    said.append(
        f"by {' × '.join(groups.by)}: {counted(groups.groups, 'group')} of "
        f"{counted(groups.patients, 'patient')}, the smallest of {groups.k} (k), "
        f"{groups.alone:,} alone in one"
    )
    return "; ".join(said)


def _models(facts: Facts) -> str:
    trained = sorted({m.name for m in facts.attacked if m.fingerprint})
    return f"a model was trained for {', '.join(trained)}" if trained else "no model was trained"


def _nothing(facts: Facts) -> str:
    return UNSEEN


GUIDELINES: Mapping[str, tuple[str, Callable[[Facts], str]]] = {
    "A1": ("Is nothing released beside the pixels that the purpose does not need?", _metadata),
    "A2": ("Is every link to the medical record, and every key to one, gone?", _nothing),
    "A3": ("Can it not be put together with another data set of the same people?", _copies),
    "A4": ("Are there no series of one patient that tell more together than each image?", _series),
    "A5": ("Can nobody infer an attribute of a person who is not identified?", _attributes),
    "A6": ("Is nobody one of few, by a rare disease, age or small population?", _groups),
    "A7": ("Does a contract forbid to identify anybody, where the data are not public?", _nothing),
    "P1": ("Is there a contract with everybody who gets the personal data?", _nothing),
    "P2": ("Are there pseudonyms in place of names, and no more data than needed?", _metadata),
    "P3": ("Are there technical and organisational safeguards where the data lie?", _nothing),
    "P4": ("Is it looked at what models trained on the data give away?", _models),
}
