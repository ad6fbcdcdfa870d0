"""Attackers learn what they may, then score a release.

What scores are worth is measured elsewhere (`measured`): they are kept under what made them alone,
so that another way to measure takes no training.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from anonymize.anonymizer import Anonymizer
from anonymize.data.dataset import Dataset
from anonymize.fingerprint import fingerprint
from anonymize.training.compute import Compute
from attacks.attacker import Attacker, linked
from attacks.attackers.combination import together
from attacks.evaluation.made_by import attack_made_by, learnt_by, model_made_by, verifier_for
from attacks.evaluation.plan import Plan
from attacks.knowledge.levels import Setting
from attacks.knowledge.scenarios import Scenario, asked_of
from attacks.knowledge.trial import Parts, Release, View
from attacks.registry import Chosen
from attacks.training.learning import Learning

WITHIN = "auc_within"  # of released images among each other
MEMBERS = "auc_members"  # of who may be in the release: `membership.Game.scores`
Scores = dict[str, np.ndarray]  # by part, or `WITHIN`, or `MEMBERS`


@dataclass
class Scorer:
    """The attackers of a plan; who learns from real images alone learns once for all methods.
    ``verifier``: trains that of real images where it is missing, and says where it lies."""

    plan: Plan
    data: Dataset
    real: Parts
    verifier: Callable[[], Path]
    compute: Compute
    _lasting: dict[tuple[str, int], Attacker] = field(default_factory=dict)

    def made_by(self, chosen: Chosen, model: Anonymizer) -> str:
        """All that the scores of an attacker depend on beside the released images."""
        parts: list[str | None]
        if chosen.level.combines:
            parts = [self.made_by(member, model) for member in self.plan.members_of(chosen)]
        else:
            white_box = chosen.knowledge == "white-box"
            parts = [self._verifier_of(chosen), model_made_by(model) if white_box else None]
        return attack_made_by(self.plan.options, [chosen], __name__, *parts)

    def learnt_by(self, chosen: Chosen) -> str:
        """All that an attacker depends on which learns from real images alone."""
        return learnt_by(self.plan.options, chosen, __name__, self._verifier_of(chosen))

    def alone(
        self,
        chosen: Chosen,
        repeat: int,
        release: Release,
        checkpoint: Path,
        epoch: Callable[[int], None],
    ) -> Scores:
        """Of the evaluated part, and of the validation part beside a test part; ``epoch`` is called
        with the number of finished ones."""
        view = release.seen_with(chosen.knowledge)
        learning = Learning(self.compute, checkpoint, epoch)
        attacker = self._taught(chosen, repeat, view, learning, release.model)
        scenario, part = self.scenario(chosen), self.plan.part
        made = {p: linked(attacker, *view.compared(scenario, p)) for p in self.parts(chosen)}
        if scenario == "released-real" and chosen.level.learns == "released":
            made[WITHIN] = linked(attacker, *view.compared("released-released", part))
        if self._asks_who_is_in(chosen) and (game := release.game(part)) is not None:
            made[MEMBERS] = game.scores(attacker)
        return made

    def together(self, chosen: Chosen, own: Mapping[str, Scores], release: Release) -> Scores:
        """What a combination makes of the scores of its members, by their keys."""
        scenario = self.scenario(chosen)
        owners = {part: release.owners(scenario, part) for part in self.parts(chosen)}
        assert chosen.level.combine is not None
        return together(own, owners, chosen.level.combine)

    def scenario(self, chosen: Chosen) -> Scenario:
        """What an attacker compares."""
        return asked_of(chosen.level.compares, self.plan.options.evaluation.scenario)

    def _asks_who_is_in(self, chosen: Chosen) -> bool:
        """Whether it looks for people in the release of an evaluation of the very films."""
        asked = self.plan.options.evaluation.scenario
        return chosen.level.sees == "pixels" and self.scenario(chosen) == asked == "before-after"

    def parts(self, chosen: Chosen) -> list[str]:
        """The parts that an attacker scores."""
        judged = self.plan.part == "test" and self.scenario(chosen) != "before-after"
        return [self.plan.part, "validation"] if judged else [self.plan.part]

    def _taught(
        self, chosen: Chosen, repeat: int, view: View, learning: Learning, model: Anonymizer
    ) -> Attacker:
        """The attacker, which lasts for all methods unless it learns from released images."""
        level = chosen.level
        key = (f"{chosen.name}:{level.learns}", repeat if level.trained else 0)
        if key in self._lasting:
            return self._lasting[key]
        verifier = verifier_for(self.plan.options, chosen, self.verifier)
        shown = View(self.real, self.real) if level.learns == "real" else view
        known = model if chosen.knowledge == "white-box" else None
        setting = Setting(self.plan.options, self.data, verifier, learning, known)
        attacker = shown.taught(level, setting, repeat)
        if level.learns != "released":
            self._lasting[key] = attacker
        return attacker

    def _verifier_of(self, chosen: Chosen) -> str | None:
        return self._verifier if chosen.level.needs_verifier(self.plan.options) else None

    @cached_property
    def _verifier(self) -> str:
        return fingerprint(self.verifier())
