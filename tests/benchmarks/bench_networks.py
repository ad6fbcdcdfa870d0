"""Training speed of the networks by memory layout: python tests/benchmarks/bench_networks.py"""

import time

import torch

from anonymize.networks.build import build_classifier, build_generator, build_verifier
from anonymize.options import ClassifierOptions, GeneratorOptions, VerifierOptions

BATCH, STEPS, ROUNDS = 64, 4, 3
NETWORKS = {
    "generator, 8 features": (build_generator, (GeneratorOptions(features=8),)),
    "classifier, compact 24": (
        build_classifier,
        (ClassifierOptions(architecture="compact", width=24), 14),
    ),
    "verifier's backbone, compact 24": (
        lambda options: build_verifier(options).model,
        (VerifierOptions(architecture="compact", width=24),),
    ),
}


def speed(network: torch.nn.Module, images: torch.Tensor) -> float:
    """Images a second, forward and backward, after one step of warming up."""
    network(images).sum().backward()
    start = time.perf_counter()
    for _ in range(STEPS):
        network(images).sum().backward()
    return STEPS * len(images) / (time.perf_counter() - start)


def main() -> None:
    print(f"{'network':<34} {'size':>5} {'contiguous':>11} {'channels last':>14} {'ratio':>6}")
    for name, (build, arguments) in NETWORKS.items():
        for size in (64, 128):
            images, best = torch.rand(BATCH, 1, size, size), {}
            for _ in range(ROUNDS):  # in turn, so that a drift of the machine meets both
                for layout in (torch.contiguous_format, torch.channels_last):
                    network = build(*arguments).to(memory_format=layout)
                    best[layout] = max(best.get(layout, 0), speed(network, images))
            old, new = best.values()
            print(f"{name:<34} {size:>5} {old:>11.0f} {new:>14.0f} {new / old:>6.2f}")


if __name__ == "__main__":
    main()
