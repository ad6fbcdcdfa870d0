"""What networks do: fields and warps, and steps of training; beside it the plain way.

Plain is what the paper's protocol describes, written down as it stands: float32, channels first,
the whole batch at once, a copy of the classifier and of the verifier a step.
"""

import copy
import os
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anonymize import flow
from anonymize.data.batches import HeldImages
from anonymize.data.pairs import Pairs
from anonymize.networks.build import build_classifier, build_generator, build_verifier
from anonymize.options import AdversarialOptions, ClassifierOptions, FlowOptions, VerifierOptions
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from anonymize.training.adversarial import AdversarialStage, Players
from anonymize.training.compute import Compute
from anonymize.training.losses import auxiliary_loss, matching_loss, verification_loss
from anonymize.training.stages import Paired, VerifierStage
from tests.benchmarks.speed.case import Case, Work

DEVICE = torch.device(os.environ.get("BENCHMARK_DEVICE", "cpu"))  # bench_gpu.py says cuda
ON_GPU = DEVICE.type == "cuda"
SIZE = 256  # the paper's
BATCH, STEPS = (64, 10) if ON_GPU else (8, 1)  # the paper's 64 pairs take a CPU too long
INFERENCE = (1, 8, 32, 256) if ON_GPU else (1, 8, 32)
PAIRS = BATCH * STEPS
LABELS = 14
FLOW = FlowOptions(features=32, levels=4, mu=0.01)
CLASSIFIER = ClassifierOptions(architecture="densenet121", weights=None)
VERIFIER = VerifierOptions(architecture="resnet50", weights=None)


def _images(count: int) -> Tensor:
    torch.manual_seed(0)
    coarse = torch.rand(count, 1, 16, 16)
    return F.interpolate(coarse, (SIZE, SIZE), mode="bicubic").clamp(0, 1)


def _released(unet: nn.Module, images: Tensor) -> Tensor:
    """Eq. 1 in full: the field of the whole batch, smoothed, and the image sampled there."""
    field = flow.smooth(-FLOW.mu * unet(images), kernel=FLOW.kernel, sigma=FLOW.sigma)
    grid = flow.identity_grid(images) + field
    return F.grid_sample(
        images, grid.permute(0, 2, 3, 1), padding_mode="border", align_corners=True
    )


def inference(batch: int, times: int) -> Work:
    model = PriCheXyNet(FlowGenerator(FLOW), size=SIZE).to(DEVICE).accelerated()
    return partial(model, _images(batch * times).to(DEVICE))


def plain_inference(batch: int, times: int) -> Work:
    unet, images = build_generator(FLOW).eval().to(DEVICE), _images(batch * times).to(DEVICE)
    return torch.no_grad()(lambda: _released(unet, images))


class _Game:
    """Pairs of images, every other one genuine, of as many steps as a call takes."""

    def __init__(self, compute: Compute) -> None:
        first = np.tile(np.arange(BATCH), STEPS)
        self.images = compute.held(HeldImages(_images(2 * BATCH)))
        self.pairs = Pairs(first, first + BATCH, first % 2 == 0)
        patients = np.arange(2 * BATCH)
        patients[BATCH:][::2] = patients[:BATCH][::2]
        self.data = Paired(self.images, self.images, patients, lambda seed: self.pairs, self.pairs)
        self.targets = np.random.default_rng(0).random((2 * BATCH, LABELS)).round().astype("f4")

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """First images, second images, whether they are one patient's, and labels of the first."""
        rows = np.arange(BATCH)
        first, second = self.images.batch(rows), self.images.batch(rows + BATCH)
        targets = torch.from_numpy(self.targets[rows])
        same = torch.from_numpy(self.pairs.same[rows])
        return first.to(DEVICE), second.to(DEVICE), same.to(DEVICE), targets.to(DEVICE)


class _Step(Compute):
    """On a GPU, with Python between its kernels, as everything is computed that is not recorded."""

    records = False


def adversarial(precision: str, times: int, compute: type[Compute] = Compute) -> Work:
    made = compute(DEVICE, precision=precision)
    game = _Game(made)
    players = Players(
        FlowGenerator(FLOW), build_verifier(VERIFIER), build_classifier(CLASSIFIER, LABELS)
    )
    options = AdversarialOptions(batch=BATCH, auxiliary="updated")
    stage = AdversarialStage(players, options, game.data, game.targets, compute=made)
    for module in stage.modules.values():
        module.train()
    stage.epoch = 0
    return partial(stage.train_epoch, 0)


def plain_adversarial(times: int) -> Work:
    first, second, same, targets = _Game(Compute(DEVICE)).tensors
    unet = build_generator(FLOW).to(DEVICE)
    classifier = build_classifier(CLASSIFIER, LABELS).to(DEVICE)
    verifier = build_verifier(VERIFIER).to(DEVICE)
    ours, theirs = (torch.optim.Adam(n.parameters(), lr=1e-4) for n in (unet, verifier))
    readers = torch.optim.SGD(classifier.parameters(), lr=1e-4, momentum=0.9, weight_decay=1e-4)

    def step() -> None:
        reader, judge = (copy.deepcopy(network).eval() for network in (classifier, verifier))
        released = _released(unet, first)
        lost = auxiliary_loss(reader(released), targets)
        (lost + verification_loss(judge(released, second))).backward()
        ours.step()
        ours.zero_grad()
        matching_loss(verifier(released.detach(), second), same).backward()
        theirs.step()
        theirs.zero_grad()
        auxiliary_loss(classifier(released.detach()), targets).backward()
        readers.step()
        readers.zero_grad()

    return partial(_often, step)


def verifier(precision: str, times: int) -> Work:
    options = VERIFIER.model_copy(update={"objective": "pairs", "batch": BATCH, "augment": False})
    compute = Compute(DEVICE, precision=precision)
    data = _Game(compute).data
    stage = VerifierStage(build_verifier(VERIFIER), options, data, compute=compute)
    stage.network.train()
    stage.epoch = 0
    return partial(stage.train_epoch, 0)


def plain_verifier(times: int) -> Work:
    network = build_verifier(VERIFIER).to(DEVICE)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
    first, second, same, _ = _Game(Compute(DEVICE)).tensors

    def step() -> None:
        matching_loss(network(first, second), same).backward()
        optimizer.step()
        optimizer.zero_grad()

    return partial(_often, step)


def _often(step: Work) -> None:
    for _ in range(STEPS):
        step()


CASES = [
    *(
        Case(
            f"generator and warp, {SIZE} px, batch {batch}",
            "images",
            batch,
            partial(inference, batch),
            partial(plain_inference, batch),
        )
        for batch in INFERENCE
    ),
    *(
        Case(f"adversarial step, {w}", "pairs", PAIRS, partial(adversarial, p), plain_adversarial)
        for p, w in (("no", "float32"), ("bf16", "bf16"))
    ),
    *(
        Case(f"verifier step, {words}", "pairs", PAIRS, partial(verifier, p), plain_verifier)
        for p, words in (("no", "float32"), ("bf16", "bf16"))
    ),
]


NOT_RECORDED = Case(
    "adversarial step, bf16, not recorded",
    "pairs",
    PAIRS,
    partial(adversarial, "bf16", compute=_Step),
    plain_adversarial,
)
