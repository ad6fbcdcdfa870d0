"""What one process of an evaluation has at hand."""

import stat

import numpy as np
import torch
from changing import altered
from identities import assert_of_own_parts
from test_contents import swapped

import anonymize
from anonymize.data.dataset import Dataset
from anonymize.training.compute import Compute
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.session import Session
from attacks.evaluation.processes.work import Silent, Work

DRAWS = "dp-pix:b=2,epsilon=1"


def test_what_draws_without_a_seed_draws_the_same_when_called_again(options, images, tmp_path):
    def model(spec, out):
        plan = Plan([Entrant(spec)], options, ("training-free",))
        return Session(plan, tmp_path / out, None, Compute(), None).model(*plan.entrants)

    first = model(DRAWS, "out")(images)
    assert torch.equal(model(DRAWS, "out")(images), first)
    assert not torch.equal(model(DRAWS, "other")(images), first)
    assert stat.S_IMODE((tmp_path / "out/notes/noise.key").stat().st_mode) == 0o600
    own = anonymize.load(DRAWS)
    assert model(own, "out") is own


def test_what_was_released_for_other_processes_is_of_the_same_parts(options, tmp_path):
    plan = Plan([Entrant("k-same:k=2,seed=1")], options, ("training-free",))

    def released(by_lists=lambda data: data, **changes):
        data = by_lists(Dataset.open(altered(options, data=changes).data))
        work = Work([], display=Silent())
        session = Session(plan, tmp_path, data, Compute(), work, shared=True)
        return data, session.evaluator._released(session.model(*plan.entrants))

    released()  # and what asked for it was killed
    for split in ({"split_seed": 1}, {"by_lists": swapped}):
        data, found = released(**split)
        assert_of_own_parts(found, data.table)
        outputs = [found.parts[part].outputs for part in ("train", "test")]
        assert np.argmax(outputs) == ("by_lists" in split)
    assert len([*tmp_path.glob("notes/released/*.npz")]) == 3
    released(held_back=data.table.labels[:1])
    assert len([*tmp_path.glob("notes/released/*.npz")]) == 4
