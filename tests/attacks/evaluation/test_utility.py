"""Utility: independent trainings, findings held back, the pool alone, and what is said of gaps."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from shown import Shown

from anonymize.anonymizer import Anonymizer
from anonymize.auc import plain_auc
from anonymize.errors import DataError
from anonymize.networks.build import build_classifier
from anonymize.training.compute import Compute
from anonymize.training.stages import Labelled, predict
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.notes import Notes
from attacks.evaluation.processes.work import Work
from attacks.evaluation.target import Target
from attacks.evaluation.utility import retrained
from attacks.evaluation.utility_runner import UtilityRunner
from attacks.knowledge.set_release import Released, released_by
from attacks.training.learning import Learning
from baselines.gaussian_blur import GaussianBlur
from baselines.identity import Identity

CPU = torch.device("cpu")
REPEATS = 2


class OneOfTheOthers(Anonymizer):
    """A toy: every release is the mean image of a pool, and holds nothing of its own image."""

    name = "one-of-the-others"

    def __init__(self, data, rows):
        super().__init__()
        self.mean = data.images.batch(rows).mean(0, keepdim=True)
        self._pool = tuple(data.table.frame.loc[rows, "image_id"])

    @property
    def pool(self):
        return self._pool

    def anonymize(self, images):
        return self.mean.expand_as(images)


class Bench:
    """Measures the utility of methods as an evaluation does, with classifiers that learnt nothing
    in the place of those of real images."""

    def __init__(self, options, data, folder):
        self.data, self.folder, self.shown = data, folder, Shown()
        plan = Plan([Entrant("identity")], options, ("training-free",))
        torch.manual_seed(0)
        networks = [build_classifier(options.classifier, len(data.table.labels)) for _ in range(2)]
        self.work = Work([], display=self.shown)
        self.runner = UtilityRunner(
            plan=plan,
            data=data,
            readers=[SimpleNamespace(classifier=network.eval()) for network in networks],
            compute=Compute(CPU),
            folder=folder,
            work=self.work,
        )

    def __call__(self, model):
        released = released_by(model, self.data, device=CPU, bits=8)
        notes = Notes(self.folder, "release", released.pixels)
        release = SimpleNamespace(released=released)
        return self.runner.measure(Target(model, release, notes, model.name))[0]


@pytest.fixture(scope="module")
def bench(few, data, tmp_path_factory):
    return Bench(few, data, tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def real(bench):
    return bench(Identity())


@pytest.fixture(scope="module")
def blurred(bench, real):
    return bench(GaussianBlur(sigma=0.05))


def learnt_from(rows, options, data):
    """The AUC of each training on these real images, by repeat."""
    found = []
    for repeat in range(REPEATS):
        validation, test = (data.table.part(part) for part in ("validation", "test"))
        learns = Labelled(data.images, data.targets, rows, validation)
        learnt = retrained(learns, options, Learning(), repeat)
        logits = predict(learnt, data.images, test, CPU)
        wanted, whose = data.targets[test].T == 1, data.patients[test]
        several = [min(len(set(whose[w])), len(set(whose[~w]))) > 2 for w in wanted]
        assert any(several)
        aucs = [plain_auc(*of) for of in zip(logits.T[several], wanted[several], strict=True)]
        found.append(np.mean(aucs))
    return found


def test_every_training_is_its_own_and_repeats(few, data, real):
    assert len(set(real.retrained.auc.runs)) == REPEATS
    assert real.retrained.auc.mean == pytest.approx(np.mean(real.retrained.auc.runs))
    assert real.retrained.auc.sd == pytest.approx(np.std(real.retrained.auc.runs))
    again = learnt_from(data.table.part("train"), few, data)
    assert real.retrained.auc.runs == pytest.approx(again, abs=1e-6)


def test_differences_are_those_of_equal_seeds(real, blurred):
    assert real.frozen.difference is None
    assert real.retrained.difference is None
    for kind in ("frozen", "retrained"):
        before, after = getattr(real, kind), getattr(blurred, kind)
        runs = np.subtract(after.auc.runs, before.auc.runs)
        assert after.difference.runs == pytest.approx(runs)
        assert after.difference.mean == pytest.approx(after.auc.mean - before.auc.mean)
        low, high = after.difference.ci95
        assert low < high


def test_without_real_images_there_is_no_difference(few, data, tmp_path):
    alone = Bench(few, data, tmp_path)(GaussianBlur(sigma=0.05))
    assert alone.retrained.difference is None
    assert alone.retrained.auc.mean is not None


def test_it_is_calibrated_and_tested_on_released_images_too(real, blurred):
    for found in (real, blurred):
        assert 0 < found.retrained.ece < 1
        assert found.pool_only is None
        assert found.retrained.told is None
        assert found.frozen.on_released is None
    assert real.retrained.on_released == real.retrained.auc
    assert blurred.retrained.on_released.runs != blurred.retrained.auc.runs


def test_what_was_measured_is_found_again(bench, real, blurred, monkeypatch):
    monkeypatch.setattr("attacks.evaluation.utility_runner.predict", None)
    assert bench(Identity()) == real
    assert bench(GaussianBlur(sigma=0.05)) == blurred


def test_a_stop_costs_at_most_the_epoch_it_came_in(few, data, tmp_path, monkeypatch, blurred):
    bench, original, trained = Bench(few, data, tmp_path), Learning.train, []

    def stopped(self, stage, *, seed):
        trained.append(seed)
        if len(trained) == REPEATS:
            raise KeyboardInterrupt
        original(self, stage, seed=seed)

    monkeypatch.setattr(Learning, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        bench(GaussianBlur(sigma=0.05))
    found = bench(GaussianBlur(sigma=0.05))
    assert len(trained) == REPEATS + 1
    assert trained[-1] == trained[-2]
    assert found.retrained.auc == blurred.retrained.auc


def test_who_learns_from_a_release_has_the_labels_that_it_says(few, data, bench, monkeypatch):
    """Of the findings that a method was told of; of those held back, the ones of who went in."""
    said = np.full((len(data.table), len(data.table.labels)), 0.25, np.float32)
    released = Released(released_by(Identity(), data, device=CPU, bits=8).pixels, labels=said)
    learning = Mock(wraps=retrained)
    monkeypatch.setattr("attacks.evaluation.utility_runner.retrained", learning)
    runner = bench.runner
    target = Target(
        Identity(),
        SimpleNamespace(released=released),
        Notes(bench.folder, "said", released.pixels),
        "said",
    )
    runner.train(target, [0])
    assert np.array_equal(learning.call_args.args[0].targets, said)
    held = data.options.model_copy(update={"held_back": data.table.labels[1:2]})
    released.labels = np.delete(said, 1, axis=1)
    monkeypatch.setattr(runner, "data", replace(data, options=held))
    runner.train(target, [0])
    seen = learning.call_args.args[0].targets
    assert np.array_equal(seen[:, 1], data.targets[:, 1], equal_nan=True)
    assert (np.delete(seen, 1, axis=1) == 0.25).all()
    assert learning.call_count == 2  # other labels are another training


# A pool of other people's images


def test_the_pool_alone_is_measured_beside_its_release(few, data, bench, real):
    whole = data.table.part("train")
    rows = np.r_[whole[:40], data.table.part("test")[:2]]
    found = bench(OneOfTheOthers(data, rows))
    control = found.pool_only
    assert len(control.auc.runs) == REPEATS
    assert control.difference.mean == pytest.approx(control.auc.mean - real.retrained.auc.mean)
    more = np.subtract(found.retrained.auc.runs, control.auc.runs)
    assert found.over_pool.runs == pytest.approx(more)
    # Of its pool only what is no test image was learnt from, and nothing of the release.
    assert control.auc.runs == pytest.approx(learnt_from(whole[:40], few, data), abs=1e-6)
    last = bench.shown.states[-1]
    assert last.title.startswith(f"one-of-the-others: classifier of its pool {REPEATS}/{REPEATS}")


def test_the_pool_of_all_training_images_is_worth_what_real_images_are(data, bench, real):
    found = bench(OneOfTheOthers(data, data.table.part("train")))
    assert found.pool_only.auc == real.retrained.auc
    assert found.pool_only.difference.mean == 0
    assert found.over_pool.mean == pytest.approx(found.retrained.difference.mean)


def test_a_pool_without_training_images_has_no_control_and_says_so(data, bench):
    found = bench(OneOfTheOthers(data, data.table.part("test")))
    assert found.pool_only.auc.mean is None
    assert found.over_pool is None
    assert bench.shown.said[-1] == (
        "one-of-the-others: too few training images in its pool for a control, 2 needed"
    )


def test_a_pool_of_unknown_images_is_refused(data, bench):
    model = OneOfTheOthers(data, data.table.part("train")[:3])
    model._pool = (*model._pool, "somebody")
    with pytest.raises(DataError, match="draws from 1 image that source phantom does not list"):
        bench(model)
