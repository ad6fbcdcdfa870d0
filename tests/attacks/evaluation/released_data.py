"""The release of a data set, and attackers on it without an evaluation around them."""

from types import SimpleNamespace

import torch

import anonymize
from anonymize.training.compute import Compute
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.notes import Notes
from attacks.evaluation.processes.work import Silent, Work
from attacks.evaluation.runner import AttackRunner
from attacks.evaluation.target import Target
from attacks.knowledge.set_release import released_by
from attacks.knowledge.trial import Parts, Release

CPU = torch.device("cpu")


def release(data, model, made=None):
    """Of a method or its name; ``made``: what it releases, where that is known."""
    model = anonymize.load(model) if isinstance(model, str) else model
    made = made or released_by(model, data, device=CPU, bits=8)
    return Release(data, Parts(data), made, model, device=CPU, seed=0)


def attacked(options, made, attackers, folder, display=None):
    """What the attackers of an evaluation find, and their runs; the notes lie in the folder."""
    plan = Plan([Entrant("identity")], options, attackers)
    work = Work(plan.work(), display=display or Silent())
    given = made.data, made.real, SimpleNamespace(verifier=None), Compute(CPU), work
    target = Target(made.model, made, Notes(folder, "x"), "title")
    return AttackRunner(plan, *given).against(target)
