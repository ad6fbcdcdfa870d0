"""Training speed of the networks of `quick`: python tests/benchmarks/bench_networks.py"""

import time

import torch

from anonymize.configuration import load_options
from anonymize.networks.build import build_classifier, build_generator, build_verifier

BATCH, STEPS, ROUNDS = 64, 4, 3


def speed(network: torch.nn.Module, images: torch.Tensor) -> float:
    """Images a second, forward and backward, best of some rounds."""
    network(images).sum().backward()
    best = 0.0
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(STEPS):
            network(images).sum().backward()
        best = max(best, STEPS * len(images) / (time.perf_counter() - start))
    return best


def main() -> None:
    options = load_options("quick")
    networks = {
        "generator": build_generator(options.generator),
        "classifier": build_classifier(options.classifier, 14),
        "verifier's backbone": build_verifier(options.verifier).model,
    }
    print(f"{'network':<20} {'size':>5} {'images/s':>9}   on {torch.get_num_threads()} threads")
    for name, network in networks.items():
        for size in (64, 128):
            print(f"{name:<20} {size:>5} {speed(network, torch.rand(BATCH, 1, size, size)):>9.0f}")


if __name__ == "__main__":
    main()
