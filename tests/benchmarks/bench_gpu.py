"""What a GPU makes of the networks: bench_gpu.py OUT [ROUNDS]

Steps of training of 64 pairs and what the generator releases, beside the plain way, in turn in one
process; and the roofline: what each convolution of the generator takes beside the time that its
arithmetic and its bytes would take at the best this very GPU does. OUT gets gpu.json and gpu.md.
"""

import json
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["BENCHMARK_DEVICE"] = "cuda"  # of the cases
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from torch import Tensor, nn

from anonymize.inference import Inference
from anonymize.networks.build import build_generator
from attacks.reporting.tables import markdown
from tests.benchmarks.origin import origin
from tests.benchmarks.speed import networks, page
from tests.benchmarks.speed.case import alternating

BATCH = 64  # of the convolutions
TIMES = 20


def main(out: str, rounds: str = "5") -> None:
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    machine = {
        "GPU": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuDNN": torch.backends.cudnn.version(),
    }
    found: dict = {"command": "python tests/benchmarks/bench_gpu.py docs/results/speed"}
    made = {"made": origin()}
    found |= {"machine": machine, "roofline": roofline(), "cases": []}
    for case in (*networks.CASES, networks.NOT_RECORDED):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        one = alternating(case, int(rounds))
        memory = {"mebibytes": [torch.cuda.max_memory_reserved() / 2**20]}
        found["cases"].append(one | memory | made)
        print(one["name"], one["seconds"], one.get("ratio"), flush=True)
        (folder / "gpu.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (folder / "gpu.md").write_text(text(found), encoding="utf-8")


def roofline() -> dict:
    """Ceilings of this GPU, and the generator's convolutions in bfloat16, channels last."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    flops = 2 * 8192**3 / seconds(lambda: a @ b)
    there, here = (torch.empty(2**30, device="cuda", dtype=torch.uint8) for _ in range(2))
    speed = 2 * 2**30 / seconds(lambda: here.copy_(there))
    layers = []
    for name, layer, seen in convolutions():
        made = layer(seen)
        own = 2 * made.numel() * work(layer)
        moved = 2 * (seen.numel() + made.numel() + layer.weight.numel())
        taken = seconds(lambda layer=layer, seen=seen: layer(seen))
        floors = own / flops, moved / speed
        layers.append({"layer": name, "flops": own, "bytes": moved, "seconds": taken})
        layers[-1] |= {
            "floor": max(floors),
            "bound": ("arithmetic", "memory")[floors[1] > floors[0]],
        }
    return {"flops": flops, "bytes": speed, "batch": BATCH, "layers": layers}


def convolutions() -> list[tuple[str, nn.Module, Tensor]]:
    """Those of the generator as it predicts, each with an input of the shape that it gets."""
    network = Inference(build_generator(networks.FLOW).eval().cuda(), half=True)._network
    seen: list[tuple[str, nn.Module, Tensor]] = []
    kinds = nn.Conv2d | nn.ConvTranspose2d
    for name, module in network.named_modules():
        if isinstance(module, kinds) and module.weight.dtype == torch.bfloat16:

            def look(layer: nn.Module, inputs: tuple[Tensor], name: str = name) -> None:
                like = torch.randn_like(inputs[0].expand(BATCH, -1, -1, -1))
                seen.append((name, layer, like.to(memory_format=torch.channels_last)))

            module.register_forward_pre_hook(look)
    image = torch.rand(1, 1, networks.SIZE, networks.SIZE, device="cuda")
    with torch.no_grad():
        network(image.to(memory_format=torch.channels_last))
    for _, layer, _ in seen:
        layer._forward_pre_hooks.clear()
    return seen


def work(layer: nn.Module) -> float:
    """Products for each number that comes out."""
    if isinstance(layer, nn.ConvTranspose2d):  # of stride 2 and 2 × 2: one pixel's channels
        return layer.in_channels
    assert isinstance(layer, nn.Conv2d)
    return layer.in_channels * layer.kernel_size[0] * layer.kernel_size[1]


@torch.no_grad()
def seconds(call: Callable[[], object]) -> float:
    """The median of a call, by the GPU's own clock."""
    taken = []
    for _ in range(TIMES + 3):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        taken.append(start.elapsed_time(end) / 1000)
    return statistics.median(taken[3:])


def text(found: dict) -> str:
    """The tables."""
    roof = found["roofline"]
    layers = roof["layers"]
    total = {key: sum(layer[key] for layer in layers) for key in ("seconds", "floor", "flops")}
    rows = [
        (
            layer["layer"],
            layer["bound"],
            f"{layer['seconds'] * 1e6:.0f}",
            f"{layer['floor'] * 1e6:.0f}",
            f"{layer['floor'] / layer['seconds']:.0%}",
            f"{layer['flops'] / layer['seconds'] / roof['flops']:.0%}",
        )
        for layer in (*layers, {"layer": "all", "bound": ""} | total)
    ]
    columns = ("convolution", "bound by", "taken, µs", "floor, µs", "of the floor", "of the peak")
    says = (
        f"{roof['batch']} images of {networks.SIZE} px in bfloat16; the best of this GPU: "
        f"{roof['flops'] / 1e12:.0f} TFLOP/s (a matrix product), {roof['bytes'] / 1e12:.2f} TB/s "
        "(a copy)."
    )
    return f"{page.table(found)}\n{markdown(columns, rows)}\n{says}\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
