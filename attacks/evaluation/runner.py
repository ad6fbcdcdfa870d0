"""All attackers against one method's release: each learns what it may, then is measured."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from anonymize.anonymizer import Anonymizer
from anonymize.data.dataset import Dataset
from anonymize.fingerprint import fingerprint, sources
from anonymize.training.compute import Compute
from attacks.evaluation.contents import known_by
from attacks.evaluation.made_by import attack_options
from attacks.evaluation.measured import Figures, Measurer
from attacks.evaluation.plan import Plan, attack_kind
from attacks.evaluation.processes.notes import Note, Notes, say_outdated
from attacks.evaluation.processes.work import Work
from attacks.evaluation.reference import Reference
from attacks.evaluation.said_aucs import linked_in_words
from attacks.evaluation.scored import Scorer, Scores
from attacks.evaluation.shown import remarkable, shown_images
from attacks.evaluation.target import Target
from attacks.knowledge.trial import Parts
from attacks.measuring.breakdown import split_breakdown
from attacks.measuring.matching import split_matched
from attacks.measuring.statistics import estimate_identification
from attacks.measuring.world_records import split_world
from attacks.registry import Chosen
from attacks.results import Attack

LARGE = 1 << 24  # scores of a run: more are kept for combinations alone
CHECKPOINT = "attack.safetensors"


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
        given = self.plan, self.data, self.real, self.reference.verifier, self.compute
        self.scorer = Scorer(*given)
        self.measurer = Measurer(self.options, self.data, self.plan.part)

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
            at = self.options.evaluation.false_match_rate
            figures, matched = split_matched(estimate_identification(runs), at)
            figures, breakdown = split_breakdown(figures, at)
            figures, world = split_world(figures)
            found[chosen.key] = Attack.of(
                figures,
                knowledge=chosen.knowledge,
                matched=matched,
                breakdown=breakdown,
                world=world,
                scenario=chosen.level.scenario(self.options),
                compares=self.scorer.scenario(chosen),
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
        """The notes of the figures of its runs."""
        made_by = self._measured_by(chosen, target.model)
        return [
            target.notes.note(chosen.name, chosen.knowledge, repeat, made_by=made_by)
            for repeat in range(self.plan.repeats(chosen))
        ]

    def _scored(self, chosen: Chosen, repeat: int, target: Target) -> Note:
        """The note of the scores of a run."""
        made_by = self.scorer.made_by(chosen, target.model)
        return target.notes.note("scores", chosen.name, chosen.knowledge, repeat, made_by=made_by)

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
        return notes.note("pairs", name, made_by=self._measured_by(chosen, model))

    def _measured_by(self, chosen: Chosen, model: Anonymizer) -> str:
        """All that the figures of an attacker depend on beside the released images."""
        return fingerprint(self.scorer.made_by(chosen, model), self._measuring)

    @cached_property
    def _images(self) -> str:
        return known_by(self.data)

    @cached_property
    def _measuring(self) -> str:
        options = attack_options(self.options, to="figures")
        return fingerprint(options, sources(Measurer))

    def _run(self, chosen: Chosen, repeat: int, note: Note, target: Target) -> Figures:
        scored = self._scored(chosen, repeat, target)
        checkpoint = self._checkpoint(chosen, repeat, scored, target)
        begun = checkpoint.is_file() and not (target.again and chosen.level.learns == "real")
        known = note.known and (scored.has_scores or not self._combined(chosen))
        repeats = self.plan.repeats(chosen)
        name = f"{target.title}: {chosen.key}"
        with self.work.piece(
            attack_kind(chosen, again=target.again),
            f"{name} {repeat + 1}/{repeats}" if repeats > 1 else name,
            epochs=chosen.level.epochs(self.options),
            resumed=known or begun or scored.has_scores,
        ) as piece:
            if known:
                figures = note.figures
            else:
                if chosen.level.combines:
                    made = self._together(chosen, repeat, target)
                elif scored.has_scores:
                    made = scored.scores
                else:
                    made = self.scorer.alone(
                        chosen, repeat, target.release, checkpoint, piece.epoch
                    )
                    if self._combined(chosen) or sum(s.size for s in made.values()) <= LARGE:
                        scored.keep_scores(made)
                figures = self.measurer.figures(
                    made,
                    self.scorer.scenario(chosen),
                    target.release,
                    of_patients=chosen.level.of_patients,
                )
                if repeat == 0:
                    self._keep_pairs(chosen, made, target)
                note.keep_figures(figures)
                scored.end_training()
            piece.result = linked_in_words(figures, known)
        return figures

    def _combined(self, chosen: Chosen) -> bool:
        """Whether others combine its scores."""
        return self.plan.combines and chosen in self.plan.members

    def _together(self, chosen: Chosen, repeat: int, target: Target) -> Scores:
        own = {
            other.key: self._scored(other, repeat % self.plan.repeats(other), target).scores
            for other in self.plan.members_of(chosen)
            if not other.level.not_of(target.model)
        }
        return self.scorer.together(chosen, own, target.release)

    def _checkpoint(self, chosen: Chosen, repeat: int, scored: Note, target: Target) -> Path:
        """Of its training; one that learns from real images alone keeps it for every method."""
        if chosen.level.learns != "real":
            return scored.folder / CHECKPOINT
        learnt = Notes(target.notes.folder, "learnt", self._images)
        made_by = self.scorer.learnt_by(chosen)
        return learnt.note(chosen.name, repeat, made_by=made_by).folder / CHECKPOINT

    def _keep_pairs(self, chosen: Chosen, made: Scores, target: Target) -> None:
        scenario, part = self.scorer.scenario(chosen), self.plan.part
        if scenario != "before-after":
            probes, gallery = target.release.owners(scenario, part)
            own = np.unique(probes.image, return_index=True)[1]  # the output that is shown of each
            note = self.pairs(chosen, target.model, target.notes)
            images = shown_images(self.data, part)
            note.keep(remarkable(made[part][own], probes[own], gallery, images))
