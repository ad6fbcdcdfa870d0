"""One process or many, full or mixed precision: a batch stays a batch."""

import json
import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny_run import COMPACT, TINY, configured, train
from torch import nn

from anonymize import allocation
from anonymize.configuration import load_options, parse_setting
from anonymize.errors import UsageError
from anonymize.options import TrainOptions
from anonymize.training.compute import Compute, SharedBatchNorm2d
from anonymize.training.steps import Steps

CPU = torch.device("cpu")
PUBLISHED = {"epochs": 1, "batch": 8, "auxiliary": "updated"}
OPPONENTS = {"opponents": ["contrastive", "histogram", "restorer"], "opponent_pairs": "mixed"}
RANKING = OPPONENTS | {
    **{"epochs": 2, "batch": 8, "verification_loss": "match", "balance": "norms"},
    **{"replay": 1, "opponent_reset": 1},
}


@pytest.mark.parametrize(("world", "accumulation"), [(1, 1), (2, 1), (1, 3), (3, 4)])
@pytest.mark.parametrize("count", [2, 5, 23, 64])
def test_all_parts_of_all_processes_are_the_batch(world, accumulation, count):
    compute = Compute(CPU, accumulation=accumulation)
    compute.world = world
    seen, weights, common = [], 0.0, 0.0
    for rank in range(world):
        compute.rank = rank
        for part in compute.parts(np.arange(count)):
            assert len(part.rows) >= 2
            seen.extend(part.rows)
            weights += part.weight
            common += part.common_weight
    if count < 2 * world:
        assert seen == []
    else:
        assert sorted(seen) == list(range(count))
        assert weights == pytest.approx(world)
        assert common == pytest.approx(world)


def test_micro_batches_add_up_to_the_batch():
    x = torch.randn(23, 5)
    gradients = []
    for accumulation in (1, 4):
        torch.manual_seed(0)
        network, compute = nn.Linear(5, 1), Compute(CPU, accumulation=accumulation)
        for part in compute.parts(np.arange(len(x))):
            compute.backward(network(x[part.rows]).square().mean(), part.weight)
        gradients.append(network.weight.grad.clone())
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("scaled", [False, True])
def test_mixed_precision_trains_with_float32_weights(scaled):
    torch.manual_seed(0)
    compute, again = (Compute(CPU, precision="bf16") for _ in range(2))
    if scaled:  # as fp16 is, on a GPU
        for one in (compute, again):
            one.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    network = compute.ready(nn.Linear(5, 1))
    optimizer = torch.optim.Adam(network.parameters())
    before = network.weight.detach().clone()
    with compute.autocast():
        out = network(torch.randn(8, 5))
        assert out.dtype == torch.bfloat16
        loss = out.square().mean()
    compute.backward(loss, 1.0)
    compute.step(optimizer)
    assert network.weight.dtype == torch.float32
    assert not torch.equal(network.weight, before)
    assert network.weight.grad is None
    before = network.weight.detach().clone()
    compute.step(optimizer)  # as after a batch without parts
    assert torch.equal(network.weight, before)
    again.restore(compute.state())
    assert again.state() == compute.state()
    assert ("scaler" in compute.state()) == scaled


def test_precisions_change_within_one_process():
    for precision, dtype in (("bf16", torch.bfloat16), ("no", torch.float32)):
        with Compute(CPU, precision=precision).autocast():
            assert nn.Linear(2, 2)(torch.ones(2, 2)).dtype == dtype


def test_no_is_a_precision_though_yaml_reads_a_truth_value():
    assert load_options("quick", dict([parse_setting("precision=no")])).precision == "no"


def test_what_trains_keeps_its_memory(monkeypatch):
    asked = []
    monkeypatch.setattr(allocation, "keep", lambda: asked.append(True))
    Compute.of(TrainOptions())
    assert asked


def test_steps_refuse_a_compute_of_other_options(tmp_path):
    options = TrainOptions(precision="bf16")
    with pytest.raises(UsageError, match="another precision or accumulation"):
        Steps(options, tmp_path, None, Compute(CPU), None)
    assert Steps(options, tmp_path, None, Compute.of(options), None).device == CPU


def test_a_precision_that_is_not_there_is_one_line(monkeypatch):
    with pytest.raises(UsageError, match="precision fp16 needs a CUDA GPU"):
        Compute(CPU, precision="fp16")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    with pytest.raises(UsageError, match="precision bf16 is not available on this GPU"):
        Compute("cuda", precision="bf16")


def test_processes_wait_for_each_other_longer_than_a_measurement_lasts(monkeypatch):
    def state(cpu, timeout):
        assert cpu
        assert timeout.days >= 1
        return SimpleNamespace(process_index=1, num_processes=2, device=CPU)

    monkeypatch.setattr("accelerate.PartialState", state)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert not Compute(CPU).main


def test_shared_statistics_of_one_process_are_its_own(monkeypatch):
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda tensor: None)
    images = torch.randn(6, 3, 5, 5, requires_grad=True)
    ours, theirs = SharedBatchNorm2d(3), nn.BatchNorm2d(3)
    weights = torch.randn(6, 3, 5, 5)
    for network in (ours, theirs):
        (network(images) * weights).sum().backward()
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict())
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)
    torch.testing.assert_close(ours(images), theirs(images))


FORKED = """
import os, sys
import anonymize.training.run
from anonymize.cli import main
from anonymize import allocation
from anonymize.configuration import load_options

load_options()  # what takes seconds is imported once for both
child = os.fork()
rank = "0" if child else "1"
os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
status = 1
try:
    status = main(standalone_mode=False) or 0
finally:
    sys.stdout.flush()
    if not child:
        os._exit(status)
    status = max(status, os.waitpid(child, 0)[1])
sys.exit(status)
"""


TORCHRUN = ("torch.distributed.run", "--standalone", "--nproc_per_node=2")


def two_processes(launcher, *arguments):
    """Output of the command in two processes."""
    command = [sys.executable, *launcher, "train", "--mu", "0.01", "--device", "cpu"]
    # The launcher's processes look in their folder, too.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
    command += map(str, arguments)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def launcher(request, monkeypatch):
    """What makes two processes: torchrun, or one that forks as it does."""
    if request.param == "torchrun":
        return ("-m", *TORCHRUN, "-m", "anonymize")
    with socket.create_server(("127.0.0.1", 0)) as free:
        monkeypatch.setenv("MASTER_PORT", str(free.getsockname()[1]))
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    return ("-c", FORKED)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("objective", "adversarial", "field", "launcher"),
    [
        pytest.param("pairs", PUBLISHED, {}, "torchrun", marks=pytest.mark.slow),
        ("batch", RANKING, {"controls": 6, "drawn": 0.2}, "forked"),
    ],
    indirect=["launcher"],
)
def test_two_processes_train_what_one_does(tmp_path, objective, adversarial, field, launcher):
    config = configured(
        tmp_path,
        generator={**TINY["generator"], **field},
        data={**TINY["data"], "pairs": 20},
        classifier={**COMPACT, "epochs": 1, "augment": False},
        verifier={**COMPACT, "epochs": 1, "batch": 10, "objective": objective},
        reconstruction={"epochs": 1},
        adversarial=adversarial,
        samples=0,
    )
    one, two = tmp_path / "one", tmp_path / "two"
    train("--mu", 0.01, "--config", config, "--out", one)
    said = two_processes(launcher, "--config", config, "--out", two)
    assert said.count("Does it hide anybody?") == 1
    assert said.count("2 processes") == 1
    lines = [[json.loads(line) for line in (r / "metrics.jsonl").open()] for r in (one, two)]
    assert "observed_attacker_auc" in {key for line in lines[0] for key in line}
    for ours, theirs in zip(*lines, strict=True):
        assert ours.keys() == theirs.keys()
        assert (ours.pop("stage"), ours["epoch"]) == (theirs["stage"], theirs["epoch"])
        for key in ours:  # a cosine near 0 is what is left of sums that cancel
            most = 1e-3 if key.endswith("cosine") else 1e-4
            assert ours[key] == pytest.approx(theirs[key], abs=most)
    for name in ("classifier", "verifier", "model"):
        ours, theirs = (load_file(r / f"{name}.safetensors") for r in (one, two))
        for key, value in ours.items():
            torch.testing.assert_close(value, theirs[key], atol=1e-3, rtol=1e-3)
