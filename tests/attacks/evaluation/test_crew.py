"""Several processes find what one finds, to the last bit, however they are ended on the way."""

import gc
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import chain, count
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
import yaml
from changing import altered
from shown import Shown
from test_results import measured_in, without

from anonymize.data.dataset import Dataset
from anonymize.errors import DataError
from anonymize.training.compute import Compute
from attacks.evaluation.evaluate import evaluate
from attacks.evaluation.plan import Entrant, Plan, possible
from attacks.evaluation.processes import engines
from attacks.evaluation.processes.crew import Crew, carry_out
from attacks.evaluation.processes.engines import Outcome, Setup, _Worker, devices
from attacks.evaluation.processes.tasks import tasks_of, tasks_of_one
from attacks.evaluation.processes.work import Ended, Silent, Work
from attacks.training.once import once

pytestmark = pytest.mark.whole

CPU = torch.device("cpu")
ATTACKERS = ("histogram-metric", "histogram-metric:lazy", "histogram-metric:ignorant", "ensemble")
METHODS = ("identity", "gaussian-blur:sigma=0.02")


class Killed(Exception):
    """In the place of kill -9."""


class Here:
    """An engine within this process; of two tasks that were started, the later one ends first."""

    places = 2

    def __init__(self, setup, most=10**6):
        self.worker, self.left, self.started, self.outcomes = _Worker(setup), most, [], []

    def start(self, place, task):
        self.started.append((place, task))

    def ended(self):
        self.left -= 1
        if self.left < 0:
            raise Killed
        place, task = self.started.pop()
        self.outcomes.append(self.worker.do(task))
        return place, self.outcomes[-1]

    @property
    def measured(self):
        """Titles of the pieces that were not known before."""
        pieces = chain.from_iterable(outcome.pieces for outcome in self.outcomes)
        return [p.title for p in pieces if p.seconds is not None]


@pytest.fixture(scope="module")
def plan(few):
    return Plan([Entrant(spec) for spec in METHODS], few, ATTACKERS)


def figures(found):
    """All that is in results.json but times."""
    return without(json.loads(found.results.model_dump_json()), {"cost", "made"})


def test_two_processes_find_what_one_finds_and_a_kill_costs_nothing_twice(
    plan, tmp_path, monkeypatch
):
    alone = figures(evaluate(plan, tmp_path / "alone", compute=Compute(CPU)))
    plan, _ = possible(plan, Dataset.open(plan.options.data))
    setup, work = Setup(plan, tmp_path / "crew", "cpu", 1), Work(plan.work(), display=Silent())
    killed, again = Here(setup, most=9), Here(setup)
    with pytest.raises(Killed):
        carry_out(plan, killed, work)
    assert killed.measured
    carry_out(plan, again, Work(plan.work(), display=Silent()))
    assert not set(again.measured) & set(killed.measured)
    count = Counter([*killed.measured, *again.measured])
    assert set(count.values()) == {1}
    monkeypatch.setattr("attacks.training.learning.fit", None)  # who calls it fails
    monkeypatch.setattr("attacks.attackers.histogram_metric.PCA", None)
    assert figures(evaluate(plan, tmp_path / "crew", compute=Compute(CPU))) == alone


def test_the_graph_has_every_piece_of_work_and_an_order(few):
    training = Entrant("run", few, {"mu": 0.01}, control=True)
    for changes in ({}, {"utility": False}, {"repeats": 3}):
        options = altered(few, evaluation=changes)
        attackers = (*ATTACKERS, "verification", "training-free", "sets")
        plan = Plan([*map(Entrant, METHODS), training], options, attackers)
        tasks = [*tasks_of(plan), *tasks_of_one(plan, 3, Entrant("random-warp"))]
        kinds = Counter(chain.from_iterable(task.kinds for task in tasks))
        assert kinds == Counter(kind for kind, _ in plan.work())
        assert len({task.name for task in tasks}) == len(tasks)
        done = set()
        while ready := [t for t in tasks if t.name not in done and done.issuperset(t.after)]:
            done.update(task.name for task in ready)
        assert len(done) == len(tasks)


def test_a_control_that_two_generators_share_is_measured_once(few):
    class Engine:
        places, started = 1, []

        def start(self, place, task):
            self.started.append(task)

        def ended(self):
            trained = self.started[-1].what == "training"
            return 0, Outcome(control=Entrant("random-warp") if trained else None)

    trained = [Entrant(f"run{n}", few, {"mu": n}, control=True) for n in (1, 2)]
    plan = Plan([Entrant("identity"), *trained], few, ("training-free",))
    engine, work = Engine(), Work(plan.work(), display=Silent())
    carry_out(plan, engine, work)
    own = [task.name for task in engine.started if task.entrant == Entrant("random-warp")]
    assert sorted(own) == sorted(t.name for t in tasks_of_one(plan, 3, Entrant("random-warp")))
    assert not any(work._left.values())


def test_repeats_are_shared_out_where_networks_are_trained(few):
    plan = Plan([Entrant("identity")], few, ("verification", "histogram-metric"))
    repeats = {task.name: task.repeats for task in tasks_of(plan) if task.what in plan.attackers}
    assert repeats == {
        "0 verification 0": (0,),
        "0 verification 1": (1,),
        "0 histogram-metric 0,1": (0, 1),
    }


@pytest.mark.parametrize("how", [{"refused": "no such patient"}, {"crashed": "Traceback …"}])
def test_a_task_that_fails_names_itself(plan, how):
    class Failing:
        places = 1

        def start(self, place, task):
            pass

        def ended(self):
            return 0, Outcome(**how)

    with pytest.raises(
        (DataError, RuntimeError), match=r"networks of real images(: no such| failed.*\n.*Trace)"
    ):
        carry_out(plan, Failing(), Work(plan.work(), display=Silent()))


def test_options_go_to_another_process(plan):
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_every_gpu_has_a_process(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    gpus = torch.device("cuda")
    assert Crew(None).size(10**5, gpus) == 2
    assert devices(gpus, 3) == ["cuda:0", "cuda:1", "cuda:0"]
    assert devices(torch.device("cuda:1"), 2) == ["cuda:1", "cuda:1"]
    assert devices(CPU, 2) == ["cpu", "cpu"]


def test_threads_are_those_of_the_options_or_a_share_of_the_cores(few, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    plan = Plan([Entrant("identity")], altered(few, threads=None), ("training-free",))

    def threads(plan, workers, engine="local"):
        return Crew(workers, engine).setup(plan, Path("out"), CPU, 10**5).threads

    assert [threads(plan, n) for n in (1, 2, 8, 16)] == [None, 4, 1, 1]
    assert threads(plan, 1, "ray") == 8
    fixed = Plan(plan.entrants, altered(few, threads=3), plan.attackers)
    assert [threads(fixed, n) for n in (1, 2)] == [3, 3]


def test_few_images_are_for_one_process():
    assert Crew(None).size(100, CPU) == 1
    assert Crew(2).size(100, CPU) == 2


def test_the_forecast_takes_the_workers_into_account(clock):
    shown = Shown()
    work = Work([("attack", 0)] * 5, display=shown, clock=clock)
    work.workers = 2
    first, second = (work.begun(("attack",), title) for title in "ab")
    clock.time += 10
    work.ended(Ended("attack", "a", "found", 10), [second])
    assert shown.states[-1].left == (4 * 10 - 10) / 2
    work.show(second)
    assert shown.states[-1].title == "b"
    assert first.seconds == 10


def test_once_is_once_as_long_as_the_images_are_there():
    images, work = torch.zeros(2), Mock(side_effect=count(1))
    one, other = object(), object()
    assert [once(work, images, one, (6, 8)) for _ in range(3)] == [1, 1, 1]
    assert once(work, images, other, (6, 8)) == 2
    assert once(work, images, one, (6,)) == 3
    assert once(work, torch.zeros(2), one, (6, 8)) == 4
    del images
    gc.collect()
    assert once(work, torch.zeros(2), one, (6, 8)) == 5


def asked(config, out, *more):
    """A command with two methods and attackers that learn."""
    given = ["--config", config, "--out", out, "--device", "cpu", *more]
    given += ["--set", "threads=1", "--set", "evaluation.utility=false"]
    given += ["--method", METHODS[1], "--attackers", "verification,histogram-metric,ensemble"]
    return [sys.executable, "-m", "attacks", "evaluate", *map(str, given)]


def test_a_process_that_hangs_up_and_lives_on_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(engines, "GRACE_SECONDS", 0.5)
    line, theirs = multiprocessing.Pipe()
    theirs.close()
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    process.start()
    local = engines.Local(None, [])
    local._lines, local._processes, local._busy = [line], [process], {0}
    place, outcome = local.ended()
    assert (place, "signal 9" in outcome.refused) == (0, True)


@pytest.fixture(scope="module")
def alone(smaller, tmp_path_factory):
    """A configuration, and what one process finds."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "tiny.yaml").write_text(yaml.safe_dump(smaller))
    subprocess.run(asked(folder / "tiny.yaml", folder / "out", "--workers", 1), check=True)
    return folder / "tiny.yaml", measured_in(folder / "out")


@pytest.mark.slow
def test_processes_that_are_killed_leave_nothing_half(alone, tmp_path):
    config, expected = alone
    command = asked(config, tmp_path, "--workers", 2)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert any("AUC" in line for line in process.stderr)  # a piece of work is done
    children = subprocess.run(
        ["ps", "--ppid", str(process.pid), "-o", "pid="], capture_output=True, text=True, check=True
    )
    process.send_signal(signal.SIGKILL)
    process.wait()
    for _ in range(600):
        alive = [pid for pid in map(int, children.stdout.split()) if _computes(pid)]
        if not alive:
            break
        time.sleep(0.1)
    assert children.stdout
    assert not alive
    assert not (tmp_path / "results.json").exists()
    subprocess.run(command, check=True)
    assert measured_in(tmp_path) == expected


def _computes(pid):
    """Whether a process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_a_process_that_is_killed_is_named_and_the_same_command_goes_on(alone, tmp_path):
    config, expected = alone
    command = asked(config, tmp_path, "--workers", 2)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert any("AUC" in line for line in process.stderr)
    found = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", "spawn_main"], capture_output=True, text=True
    )
    os.kill(int(found.stdout.split()[0]), signal.SIGKILL)
    said = process.stderr.read()
    assert process.wait() == 2, said
    assert "its process ended (signal 9)" in said
    assert "real images" in said or METHODS[1].replace(":", " ") in said
    subprocess.run(command, check=True)
    assert measured_in(tmp_path) == expected


@pytest.mark.slow
def test_a_ray_cluster_finds_the_same(alone, tmp_path):
    pytest.importorskip("ray")
    config, expected = alone
    subprocess.run(asked(config, tmp_path, "--engine", "ray", "--workers", 2), check=True)
    assert measured_in(tmp_path) == expected


@pytest.mark.slow
def test_a_node_that_is_killed_loses_no_task_and_changes_no_figure(alone, tmp_path, second_node):
    config, expected = alone
    cluster = ("--engine", "ray", "--address", second_node.address, "--workers", 2)
    command = asked(config, tmp_path, *cluster)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    killed, said = 0, []
    for line in process.stderr:
        said.append(line)
        if not killed and "AUC" in line and second_node.works(b"_at_ray"):
            killed = second_node.lose()
    assert process.wait() == 0, said
    assert killed >= 2  # the raylet and who worked there
    assert measured_in(tmp_path) == expected
