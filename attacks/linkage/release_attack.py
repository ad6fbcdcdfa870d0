"""Attackers against the very files of a release: whom does each of them show?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonymize.errors import UsageError
from anonymize.options import TrainOptions
from attacks.attackers.format import Format, facts, shared_facts
from attacks.attackers.identical import Identical
from attacks.linkage.duplicates import duplicates
from attacks.linkage.embeddings import silent
from attacks.linkage.learnt import Learnt, Prepared
from attacks.linkage.matching import EVERY, MAX_SCORES, Known, Matcher
from attacks.linkage.ranking import pictures
from attacks.linkage.release_results import FileAttack, Found, Reading, exact_interval
from attacks.linkage.whose import Whose
from attacks.measuring.comparisons import p_above
from attacks.measuring.matching import PREFIX, measure_matched, split_matched
from attacks.measuring.metrics import Owners, genuine_pairs, impostor_pairs, slices
from attacks.measuring.statistics import estimate_identification
from attacks.registry import choose

FLOORS = (Format.name, Identical.name)
DEFAULT = ("histogram-metric", "training-free", "pixels", *FLOORS)
LEVEL = 0.95
NEAREST = 50  # real images among which those that are equally near are looked for
ROWS = 1024


@dataclass(frozen=True)
class Nearest:
    """What an attacker takes each released file for.

    Attributes:
        columns: int64 (P,), row of the nearest real image.
        scores: (P,) of these.
        hits: (P,) share of the equally near ones that show the same person; NaN where none of the
            person's images is there.
        tied: bool (P,), all are equally near: it is taken for nobody.
    """

    attack: FileAttack
    columns: np.ndarray
    scores: np.ndarray
    hits: np.ndarray
    tied: np.ndarray


def attack_files(
    subject: Whose,
    attackers: Sequence[str],
    prepare: Callable[[str], Prepared],
    *,
    options: TrainOptions,
) -> tuple[list[Nearest], dict[str, str]]:
    """Every attacker against the files, and why others took no part.

    Args:
        attackers: names, each with its level where it is not the usual one.

    Raises:
        UsageError: none could take part.
    """
    found, not_tried = [], {}
    level = 1 - (1 - LEVEL) / len(attackers)  # Bonferroni: the strongest is picked among them
    trial = _Trial(subject, level, options)
    for name in dict.fromkeys(attackers):
        learnt = None
        if name in FLOORS:
            if reason := _impossible(subject):
                not_tried[name] = reason
                continue
            matcher: Matcher = Known(_FLOOR_SCORES[name](subject))
        else:
            prepared = prepare(name)
            matcher, learnt = prepared.matcher, prepared.learnt
        found.append(trial.by(name, matcher, learnt))
    if not found:
        raise UsageError(f"no attacker could take part: {'; '.join(not_tried.values())}")
    return found, not_tried


@dataclass(frozen=True)
class _Trial:
    subject: Whose
    level: float
    options: TrainOptions

    def by(self, name: str, matcher: Matcher, learnt: Learnt | None) -> Nearest:
        subject = self.subject
        owners = subject.with_originals()
        scores, columns = matcher.nearest(
            pictures(subject.released), pictures(subject.real), NEAREST, silent
        )
        near = scores == scores[:, :1]
        tied = near.all(axis=1) & (near.shape[1] > 1)
        hits = _hits(near, tied, columns, *owners)
        chosen, known = choose(name), (subject.original >= 0).any()
        whole = self._reading(matcher, owners)
        if whole is None:
            raise UsageError(
                "REAL and RELEASED hold no two files of one person, or none of different ones: "
                "give real files of two patients or more"
            )
        attack = FileAttack(
            attacker=name,
            knowledge=chosen.knowledge,
            scenario=learnt.scenario if learnt else chosen.level.scenario(self.options),
            floor=name in FLOORS,
            found=self._found(hits, owners),
            with_originals=whole,
            others=self._reading(matcher, subject.without_originals()) if known else None,
            learnt=learnt,
        )
        return Nearest(attack, columns[:, 0], scores[:, 0], hits, tied)

    def _found(self, hits: np.ndarray, owners: tuple[Owners, Owners]) -> Found:
        counted = ~np.isnan(hits)
        own = hits[counted]
        patients = people_apart(owners[0][counted])
        return Found(
            files=len(own),
            patients=patients,
            found=float(own.sum()),
            share=float(own.mean()),
            interval=exact_interval(float(own.mean()), patients, self.level),
            expected=float(_chances(*owners)[counted].sum()),
        )

    def _reading(self, matcher: Matcher, owners: tuple[Owners, Owners]) -> Reading | None:
        probes, gallery = pictures(self.subject.released), pictures(self.subject.real)
        evaluation, seed = self.options.evaluation, self.options.seed
        drawn: dict[str, Any] = {"resamplings": evaluation.resamplings, "seed": seed}
        foreign = self.subject.foreign
        counted = EVERY if foreign is None else ~foreign
        owners = owners[0][counted], owners[1]
        try:
            figures = matcher.measure(probes, gallery, owners, counted=counted, **drawn)
        except ValueError:  # no genuine pairs, or nothing but them
            return None
        figures.pop("auc_error", None)  # of streamed figures
        if self.subject.matched_by and len(probes) * len(gallery) <= MAX_SCORES:
            scores = matcher.scores(probes, gallery)[counted]
            figures |= measure_matched(scores, *owners, **drawn)
        estimates, matched = split_matched(estimate_identification([figures]))
        chances = _chances(*owners)
        return Reading.of(
            estimates,
            matched=matched,
            chance=float(chances[chances > 0].mean()),
            patients=people_apart(owners[0][chances > 0]),
            p_above_chance=p_above(figures.get(f"{PREFIX}auc", figures["auc"]), 0.5),
        )


def people_apart(probes: Owners) -> int:
    """How many patients the images show; of outputs of several people, how many outputs could be of
    different ones: all people, by those of the largest output."""
    made_of = probes.contributors
    if made_of is None:
        return len(np.unique(probes.patient))
    people = np.maximum(made_of.patient, made_of.unknown)
    everybody = len(np.unique(people[people >= 0]))
    return max(everybody // (people >= 0).sum(axis=1).max(), 1)


def _hits(
    near: np.ndarray, tied: np.ndarray, columns: np.ndarray, probes: Owners, gallery: Owners
) -> np.ndarray:
    """(P,) of :class:`Nearest`; ``near`` (P, ≤ NEAREST): the real ``columns`` that are as near
    as the first. Who finds all of them equally near finds nobody."""
    same = np.concatenate(
        [
            np.take_along_axis(genuine_pairs(probes[rows], gallery), columns[rows], axis=1)
            for rows in slices(len(probes), ROWS)
        ]
    )
    hits = np.where(tied, 0, (same & near).sum(axis=1) / near.sum(axis=1))
    return np.where(_chances(probes, gallery) > 0, hits, np.nan)


def _chances(probes: Owners, gallery: Owners) -> np.ndarray:
    """(P,) genuine share of what a probe is compared with; 0 for one of somebody who is not there.
    Its own original, where it does not count, is nothing that a coin could fall on."""
    found = [np.zeros(0)]
    for rows in slices(len(probes), ROWS):
        genuine, impostors = (
            pairs(probes[rows], gallery).sum(axis=1) for pairs in (genuine_pairs, impostor_pairs)
        )
        found.append(genuine / np.maximum(genuine + impostors, 1))
    return np.concatenate(found)


def _impossible(subject: Whose) -> str:
    """Why no floor can be told; "" where it can."""
    if len(subject.released) * len(subject.real) > MAX_SCORES:
        return f"more than {MAX_SCORES:,} pairs of files"
    drawn = [not a.table.frame["path"].astype(bool).all() for a in (subject.released, subject.real)]
    return "images that are drawn are no files" if any(drawn) else ""


def _format_scores(subject: Whose) -> np.ndarray:
    asked, known = (
        [facts(path) for path in album.table.frame["path"]]
        for album in (subject.released, subject.real)
    )
    return shared_facts(asked, known)


def _identical_scores(subject: Whose) -> np.ndarray:
    scores = np.zeros((len(subject.released), len(subject.real)), np.float32)
    for row, column in duplicates(subject.released, subject.real):
        scores[row, column] = 1
    return scores


_FLOOR_SCORES = {Format.name: _format_scores, Identical.name: _identical_scores}
