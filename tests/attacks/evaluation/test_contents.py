"""Who is in which part, which the images alone do not say."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from anonymize.anonymizer import load
from anonymize.training.compute import Compute
from attacks.evaluation.contents import SPLIT, data_contents, known_by
from attacks.evaluation.evaluator import MethodEvaluator
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.work import Silent, Work


@pytest.fixture(scope="module")
def swapped(data):
    """The same images by other lists: who was tested is learnt from."""
    other = {"train": "test", "test": "train", "validation": "validation"}
    frame = data.table.frame.assign(part=data.table.frame["part"].map(other))
    return replace(data, table=data.table.with_frame(frame))


def test_lists_of_a_data_set_tell_it_apart_and_what_options_say_does_not(data, swapped):
    assert swapped.table.fingerprint == data.table.fingerprint == known_by(data)
    assert known_by(swapped) != known_by(data)
    one, other = data_contents(data), data_contents(swapped)
    assert {key for key in one if one[key] != other[key]} == {SPLIT}


def test_processes_share_no_release_of_another_split(data, swapped, few, tmp_path):
    plan = Plan([Entrant("identity")], few, ("training-free",))
    work, networks = Work([], display=Silent()), SimpleNamespace(verifier=None)
    for one in (data, swapped):
        beside = Compute(), tmp_path, work, True
        evaluator = MethodEvaluator(plan, one, networks, (), *beside)
        made = evaluator._released(load("k-same:k=3,seed=0"))
        part = one.table.frame["part"].to_numpy()
        people = made.contributors.image[made.there.nonzero()]
        assert all(len(np.unique(part[row[row >= 0]])) == 1 for row in people)
        assert made.parts["train"].outputs != made.parts["test"].outputs
        assert (made.parts["train"].outputs > made.parts["test"].outputs) == (one is data)
