"""What one process of an evaluation has at hand."""

import stat

import torch

import anonymize
from anonymize.training.compute import Compute
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.session import Session

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
