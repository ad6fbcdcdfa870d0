"""All attackers against one method's release: each learns what it may, then is measured."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from anonymize.anonymizer import Anonymizer
from anonymize.data.dataset import Dataset
from anonymize.data.pairs import Pairs
from anonymize.fingerprint import fingerprint
from anonymize.statistics import Measured, measure_auc
from anonymize.training.compute import Compute
from attacks.attacker import Attacker, linked
from attacks.attackers.combination import together
from attacks.evaluation.made_by import attack_made_by, learnt_by, model_made_by, verifier_for
from attacks.evaluation.notes import Note, Notes, say_outdated
from attacks.evaluation.plan import Plan, attack_kind
from attacks.evaluation.reference import Reference
from attacks.evaluation.shown import remarkable, shown_images
from attacks.evaluation.target import Target
from attacks.evaluation.work import Piece, Work, auc_in_words
from attacks.knowledge.levels import Setting
from attacks.knowledge.scenarios import Scenario
from attacks.knowledge.trial import Parts, Release, View
from attacks.measuring.breakdown import measure_breakdown, split_breakdown
from attacks.measuring.matching import PREFIX as MATCHED
from attacks.measuring.matching import measure_matched, split_matched
from attacks.measuring.metrics import Owners, pair_auc
from attacks.measuring.statistics import estimate_identification, judged_on, measure_identification
from attacks.measuring.world import measure_world
from attacks.measuring.world_records import split_world
from attacks.registry import Chosen
from attacks.results import Attack
from attacks.training.learning import Learning

LISTED, VALIDATION, WITHIN = "auc_listed", "auc_validation", "auc_within"
Figures = dict[str, Measured]
Scores = dict[str, np.ndarray]  # by part


@dataclass
class AttackRunner:
    """The attackers of a plan; who learns from real images alone learns once for all methods."""

    plan: Plan
    data: Dataset
    real: Parts
    reference: Reference
    compute: Compute
    work: Work

    def __post_init__(self) -> None:
        self.options = self.plan.options
        self._lasting: dict[tuple[str, int], Attacker] = {}

    def against(self, target: Target) -> tuple[dict[str, Attack], dict[str, list[Figures]]]:
        """What each attacker reaches, by key, and the figures of its runs."""
        concerned = [c for c in self.plan.chosen if self.concerns(c, target)]
        ordered = sorted(concerned, key=lambda chosen: chosen.level.combines)
        kept = [note for chosen in ordered for note in self._kept(chosen, target)]
        say_outdated((note.folder for note in kept), self.work.say, file=".json")
        found, measured = {}, {}
        for chosen in ordered:
            runs = self.runs(chosen, range(self.plan.repeats(chosen)), target)
            measured[chosen.key] = runs
            figures, matched = split_matched(estimate_identification(runs))
            figures, breakdown = split_breakdown(figures, self.options.evaluation.false_match_rate)
            figures, world = split_world(figures)
            found[chosen.key] = Attack.of(
                figures,
                knowledge=chosen.knowledge,
                matched=matched,
                breakdown=breakdown,
                world=world,
                scenario=chosen.level.scenario(self.options),
                compares=self._scenario(chosen),
                sees=chosen.level.sees,
                trained_on="real"
                if chosen.level.learns == "real"
                else chosen.level.trained_on(self.options),
                warm_start=chosen.level.trained and chosen.level.needs_verifier(self.options),
            )
        return {chosen.key: found[chosen.key] for chosen in concerned}, measured

    def runs(self, chosen: Chosen, repeats: Iterable[int], target: Target) -> list[Figures]:
        """The figures of some runs of an attacker; those that it combines were measured before."""
        kept = self._kept(chosen, target)
        return [self._run(chosen, repeat, kept[repeat], target) for repeat in repeats]

    def _kept(self, chosen: Chosen, target: Target) -> list[Note]:
        made_by = self._made_by(chosen, target.model)
        return [
            target.notes.note(chosen.name, chosen.knowledge, repeat, made_by=made_by)
            for repeat in range(self.plan.repeats(chosen))
        ]

    def concerns(self, chosen: Chosen, target: Target) -> bool:
        """Whether there is something for an attacker in a method; who is left out is named."""
        level = chosen.level
        members = self.plan.members_of(chosen) if level.combines else [chosen]
        reasons = [member.level.not_of(target.model) for member in members]
        if not all(reasons):
            return True
        self.work.say(f"{target.title}: {chosen.key} is left out: {reasons[0]}")
        kind = attack_kind(chosen, again=target.again)
        self.work.more(kind, level.epochs(self.options), -self.plan.repeats(chosen))
        return False

    def pairs(self, chosen: Chosen, model: Anonymizer, notes: Notes) -> Note:
        """What the first run of an attacker finds, misses and takes for one, and its guesses."""
        name = chosen.key.replace(":", "-")
        return notes.note("pairs", name, made_by=self._made_by(chosen, model))

    def _made_by(self, chosen: Chosen, model: Anonymizer) -> str:
        """All that the figures of an attacker depend on beside the released images."""
        parts: list[str | None]
        if chosen.level.combines:
            parts = [self._made_by(member, model) for member in self.plan.members_of(chosen)]
        else:
            parts = [
                self._verifier if chosen.level.needs_verifier(self.options) else None,
                model_made_by(model) if chosen.knowledge == "white-box" else None,
            ]
        return attack_made_by(self.options, [chosen], __name__, *parts)

    @cached_property
    def _verifier(self) -> str:
        return fingerprint(self.reference.verifier())

    def _run(self, chosen: Chosen, repeat: int, note: Note, target: Target) -> Figures:
        checkpoint = self._checkpoint(chosen, repeat, note, target)
        begun = checkpoint.is_file() and not (target.again and chosen.level.learns == "real")
        keeps = self.plan.combines and chosen in self.plan.members
        known = note.known and (not keeps or note.has_scores)
        repeats = self.plan.repeats(chosen)
        name = f"{target.title}: {chosen.key}"
        with self.work.piece(
            attack_kind(chosen, again=target.again),
            f"{name} {repeat + 1}/{repeats}" if repeats > 1 else name,
            epochs=chosen.level.epochs(self.options),
            resumed=known or begun,
        ) as piece:
            if known:
                figures = note.figures
            else:
                if chosen.level.combines:
                    made = self._combined(chosen, repeat, target)
                else:
                    made = self._scores(chosen, repeat, checkpoint, target.release, piece)
                figures = self._figures(chosen, made, target.release)
                if keeps:
                    note.keep_scores(made)
                if repeat == 0:
                    self._keep_pairs(chosen, made, target)
                note.keep_figures(figures)
            piece.result = auc_in_words(figures["auc"], known)
        return figures

    def _checkpoint(self, chosen: Chosen, repeat: int, note: Note, target: Target) -> Path:
        """Of its training; one that learns from real images alone keeps it for every method."""
        if chosen.level.learns != "real":
            return note.folder / "attack.safetensors"
        needed = self._verifier if chosen.level.needs_verifier(self.options) else None
        made_by = learnt_by(self.options, chosen, __name__, needed)
        learnt = Notes(target.notes.folder, "learnt", self.data.table.fingerprint)
        return learnt.note(chosen.name, repeat, made_by=made_by).folder / "attack.safetensors"

    def _scores(
        self, chosen: Chosen, repeat: int, checkpoint: Path, release: Release, piece: Piece
    ) -> Scores:
        """Scores by part: of the evaluated one, and of the validation part beside a test part."""
        view = release.seen_with(chosen.knowledge)
        learning = Learning(self.compute, checkpoint, piece.epoch)
        attacker = self._taught(chosen, repeat, view, learning, release.model)
        scenario, part = self._scenario(chosen), self.plan.part
        made = {p: linked(attacker, *view.compared(scenario, p)) for p in self._parts(chosen)}
        if scenario == "released-real" and chosen.level.learns == "released":
            made[WITHIN] = linked(attacker, *view.compared("released-released", part))
        return made

    def _taught(
        self, chosen: Chosen, repeat: int, view: View, learning: Learning, model: Anonymizer
    ) -> Attacker:
        """The attacker, which lasts for all methods unless it learns from released images."""
        level = chosen.level
        key = (f"{chosen.name}:{level.learns}", repeat if level.trained else 0)
        if key in self._lasting:
            return self._lasting[key]
        verifier = verifier_for(self.options, chosen, self.reference.verifier)
        shown = View(self.real, self.real) if level.learns == "real" else view
        known = model if chosen.knowledge == "white-box" else None
        setting = Setting(self.options, self.data, verifier, learning, known)
        attacker = shown.taught(level, setting, repeat)
        if level.learns != "released":
            self._lasting[key] = attacker
        return attacker

    def _combined(self, chosen: Chosen, repeat: int, target: Target) -> Scores:
        own = {
            other.key: self._kept(other, target)[repeat % self.plan.repeats(other)].scores
            for other in self.plan.members_of(chosen)
            if not other.level.not_of(target.model)
        }
        scenario, release = self._scenario(chosen), target.release
        owners = {part: release.owners(scenario, part) for part in self._parts(chosen)}
        assert chosen.level.combine is not None
        return together(own, owners, chosen.level.combine)

    def _keep_pairs(self, chosen: Chosen, made: Scores, target: Target) -> None:
        scenario, part = self._scenario(chosen), self.plan.part
        if scenario != "before-after":
            owners = target.release.owners(scenario, part)
            note = self.pairs(chosen, target.model, target.notes)
            note.keep(remarkable(made[part], *owners, shown_images(self.data, part)))

    def _figures(self, chosen: Chosen, made: Scores, release: Release) -> Figures:
        options, part, scenario = self.options, self.plan.part, self._scenario(chosen)
        probes, gallery = release.owners(scenario, part)
        scores = made[part]
        drawn: dict[str, Any] = {
            "resamplings": options.evaluation.resamplings,
            "seed": options.seed,
        }
        with judged_on(f"part {part}"):
            found = measure_identification(scores, probes, gallery, **drawn)
        found |= measure_matched(scores, probes, gallery, **drawn)
        if scenario == "before-after":
            return found
        given, rate = (
            (scores, (probes, gallery), self.data.table),
            options.evaluation.false_match_rate,
        )
        found |= measure_breakdown(*given, false_match_rate=rate, **drawn)
        found |= measure_world(*given, same_image=scenario == "released-real", **drawn)
        if part == "test":
            first, second, same = self._listed(probes)
            patient = probes.patient[first]
            if 0 < same.sum() < len(same):
                found[LISTED] = measure_auc(scores[first, second], same, patient, **drawn)
        if WITHIN in made:
            shown, known = release.owners("released-released", part)
            with suppress(ValueError):  # too few outputs, each of too many patients, to compare two
                found[WITHIN] = measure_identification(made[WITHIN], shown, known, **drawn)["auc"]
        if "validation" in made:
            owners = release.owners(scenario, "validation")
            found[VALIDATION] = Measured(pair_auc(made["validation"], *owners), np.zeros(0))
            if MATCHED + "auc" in found:
                probes, gallery = (own.matching for own in owners)
                with suppress(ValueError):  # no impostor is alike there
                    auc = pair_auc(made["validation"], probes, gallery)
                    found[MATCHED + VALIDATION] = Measured(auc, np.zeros(0))
        return found

    def _scenario(self, chosen: Chosen) -> Scenario:
        return chosen.level.compares or self.options.evaluation.scenario

    def _parts(self, chosen: Chosen) -> list[str]:
        judged = self.plan.part == "test" and self._scenario(chosen) != "before-after"
        return [self.plan.part, "validation"] if judged else [self.plan.part]

    def _listed(self, owners: Owners) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The test pairs of the options as positions of probe and gallery image, as far as both
        were released."""
        pairs, rows = self._listed_pairs, owners.image  # ascending
        there = np.isin(pairs.first, rows) & np.isin(pairs.second, rows)
        first, second = (np.searchsorted(rows, n[there]) for n in (pairs.first, pairs.second))
        return first, second, pairs.same[there]

    @cached_property
    def _listed_pairs(self) -> Pairs:
        return self.data.fixed_pairs("test")
