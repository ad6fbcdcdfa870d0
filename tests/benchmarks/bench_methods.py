"""Images a second of every method without weights: python tests/benchmarks/bench_methods.py"""

import time

import torch

import anonymize

SPECS = (
    "identity",
    "dp-pix:b=8,seed=0",
    "dp-pix:b=1,seed=0",
    "gaussian-blur:sigma=1/96",
    "gaussian-blur:sigma=4/96",
    "down-sampling:factor=8",
    "random-warp:seed=0",
)
SIZES = (256, 1024)
SECONDS = 1.0


def speed(model: anonymize.Anonymizer, images: torch.Tensor) -> float:
    """Images a second, best call of those within a second."""
    model(images)
    best, end = 0.0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        model(images)
        best = max(best, len(images) / (time.perf_counter() - start))
    return best


def main() -> None:
    print(f"{'method':<26}" + "".join(f"{f'{s} px':>10}" for s in SIZES), end="")
    print(f"   images/s on {torch.get_num_threads()} threads")
    for spec in SPECS:
        model = anonymize.load(spec)
        # A release asks for one large image at a time, an evaluation for many small ones.
        speeds = [speed(model, torch.rand(max(1, 2048 // s), 1, s, s)) for s in SIZES]
        print(f"{spec:<26}" + "".join(f"{s:>10.4g}" for s in speeds))


if __name__ == "__main__":
    main()
