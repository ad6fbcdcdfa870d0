"""What else computes the generator's field: bench_inference.py IMAGES OUT [SIZE...]

Other runtimes (pip install openvino onnx onnxruntime; torch.compile) beside ours, on one core, in
turn, in seconds of computing; how far 8-bit pictures of IMAGES, a folder of radiographs, are then
from those of float32; the roofline: what the processor convolves in bfloat16 at its best; and a
release by the fastest beside one by ours. OUT gets inference.json and inference.md.
"""

import copy
import json
import logging
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torch.utils.flop_counter import FlopCounterMode

from anonymize.inference import Inference
from anonymize.options import FlowOptions
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from attacks.reporting.tables import markdown

ROOT = Path(__file__).resolve().parents[2]
SIZES = (256, 128, 64)
ROUNDS = 5
BATCH = 32  # of the plain way
FLOW = FlowOptions(features=32, levels=4, mu=0.01)
Field = Callable[[Tensor], Tensor]


def main(images: str, out: str, *sizes: str) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with torch.no_grad():
        measured = [of(size, Path(images)) for size in map(int, sizes or SIZES)]
        found = {"roofline": roofline(), "sizes": measured, "release": release()}
    found = {"command": "python tests/benchmarks/bench_inference.py IMAGES OUT", **found}
    Path(out).mkdir(parents=True, exist_ok=True)
    Path(out, "inference.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    Path(out, "inference.md").write_text(table(found), encoding="utf-8")


def roofline() -> dict[str, float]:
    """GFLOP a second of one core: a large product, and a large convolution, of which torch has
    whichever is the faster."""
    made = {}
    for kind in (torch.float32, torch.bfloat16):
        a, b = torch.rand(2, 2048, 2048).to(kind)
        images = torch.rand(1, 256, 64, 64).to(kind).to(memory_format=torch.channels_last)
        network = nn.Conv2d(256, 256, 3, padding=1).to(kind)
        network.to(memory_format=torch.channels_last)
        product, convolution = 2 * 2048**3, 2 * 256 * 256 * 9 * 64 * 64
        name = str(kind).removeprefix("torch.")
        made[f"{name} product"] = product / min(timed(lambda: a @ b)) / 1e9  # noqa: B023
        made[f"{name} convolution"] = convolution / min(timed(lambda: network(images))) / 1e9  # noqa: B023
    return made


def timed(work: Callable) -> list[float]:
    """Seconds of computing of each call, after one that warms up."""
    work()
    return [computing(work) for _ in range(ROUNDS)]


def computing(work: Callable) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def of(size: int, folder: Path) -> dict:
    """Every runtime at images of ``size``."""
    shown = pictures(folder, size)
    model = PriCheXyNet(FlowGenerator(FLOW), size=size)
    network = model.generator.unet
    network.train()
    for _ in range(20):  # batch statistics of radiographs: fields are not all alike then
        network(shown)
    network.eval()
    with FlopCounterMode(display=False) as counter:
        network(shown[:1])
    released = levels(model, network, shown)
    whole = shown.repeat(BATCH // len(shown), 1, 1, 1)
    fields = dict(runtimes(network, shown))
    works = {"plain float32, batch 32": lambda: network(whole)}
    works |= {name: lambda field=field: field(shown) for name, field in fields.items()}
    for work in works.values():
        work()
    taken = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            taken[name].append(computing(work) / (len(whole) if "batch" in name else len(shown)))
    rows = []
    for name in works:
        field = fields.get(name, network)
        change = (levels(model, field, shown) - released).abs().max().item()
        rows.append({"name": name, "seconds": statistics.median(taken[name]), "levels": change})
    return {"size": size, "flop": counter.get_total_flops(), "runtimes": rows}


def pictures(folder: Path, size: int) -> Tensor:
    """Eight radiographs (8, 1, size, size)."""
    paths = sorted(p for p in folder.rglob("*") if p.suffix in (".png", ".jpg", ".jpeg"))[:8]
    found = [np.asarray(Image.open(path).convert("L"), np.float32) / 255 for path in paths]
    ready = [torch.from_numpy(values)[None, None] for values in found]
    seen = [interpolate(r, (size, size), mode="bilinear", antialias=True) for r in ready]
    return torch.cat(seen).clamp(0, 1)


def levels(model: PriCheXyNet, field: Field, images: Tensor) -> Tensor:
    """The 8-bit pictures that a field of this runtime makes."""
    made = copy.copy(model)
    made.inference = field  # type: ignore[assignment]
    return (made.anonymize(images) * 255).round()


def runtimes(network: nn.Module, images: Tensor) -> Iterator[tuple[str, Field]]:
    yield "ours, float32", Inference(network)
    yield "ours, bfloat16", Inference(network, half=True)
    yield "torch.compile, bfloat16, frozen", compiled(network)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "network.onnx")
        torch.onnx.export(network, (images[:1],), path, dynamo=False, input_names=["images"])
        for hint in ("f32", "bf16"):
            yield f"OpenVINO, {hint}", openvino(path, hint)
        yield "ONNX Runtime, float32", onnx_runtime(path)
        yield "ONNX Runtime, int8", onnx_runtime(quantised(path, images))


class Given(PriCheXyNet):
    """A method that computes its field as it is told to."""

    field: Field

    def accelerated(self) -> PriCheXyNet:
        self.inference = self.field  # type: ignore[assignment]
        return self


def release() -> dict[str, float]:
    """Seconds of a release of PNG files by one worker, the paper's generator computing beside it
    in bfloat16, by ours and by OpenVINO, each made before."""
    from tests.benchmarks.speed import networks, releases

    model = Given(FlowGenerator(FLOW), size=networks.SIZE, fingerprint="0" * 64)
    network = model.generator.unet
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "network.onnx")
        image = torch.zeros(1, 1, networks.SIZE, networks.SIZE)
        torch.onnx.export(network, (image,), path, dynamo=False, input_names=["images"])
        fields = {"ours": Inference(network, half=True), "OpenVINO": openvino(path, "bf16")}
    releases._model = lambda method: model
    work = releases.release("PNG", releases.PAPERS, workers=1, text=False, times=1)
    taken: dict[str, list[float]] = {name: [] for name in fields}
    for _ in range(ROUNDS):
        for name, field in fields.items():
            model.field = field
            began = time.perf_counter()
            work()
            taken[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) for name, times in taken.items()}


def compiled(network: nn.Module) -> Field:
    import torch._inductor.config as config

    config.freezing = True
    part = Inference(network, half=True)
    part._network = torch.compile(part._network)
    return part


def openvino(path: Path, hint: str) -> Field:
    import openvino

    options = {"INFERENCE_PRECISION_HINT": hint, "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
    request = openvino.Core().compile_model(path, "CPU", options).create_infer_request()
    return lambda images: torch.cat(
        [torch.from_numpy(request.infer([part.numpy()])[0].copy()) for part in images.split(1)]
    )


def onnx_runtime(path: Path) -> Field:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda images: torch.cat(
        [torch.from_numpy(session.run(None, {"images": p.numpy()})[0]) for p in images.split(1)]
    )


def quantised(path: Path, images: Tensor) -> Path:
    """Static 8-bit quantisation, calibrated on the very images that are asked about."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):
        left = iter([{"images": part.numpy()} for part in images.split(1)])

        def get_next(self) -> dict | None:
            return next(self.left, None)

    made = path.with_name("int8.onnx")
    quantize_static(path, made, Reader(), quant_format=QuantFormat.QDQ, per_channel=True)
    return made


def table(found: dict) -> str:
    best = max(v for name, v in found["roofline"].items() if name.startswith("bfloat16"))
    columns = ("runtime", "px", "core seconds", "times as fast", "of the peak", "gray levels")
    lines = []
    for of in found["sizes"]:
        plain = of["runtimes"][0]["seconds"]
        for one in of["runtimes"]:
            seconds, speed = one["seconds"], of["flop"] / one["seconds"] / 1e9
            figures = (f"{seconds:.4f}", f"{plain / seconds:.2f}", f"{speed / best:.0%}")
            lines.append((one["name"], str(of["size"]), *figures, f"{one['levels']:.0f}"))
        bound = of["flop"] / best / 1e9
        figures = (f"{bound:.4f}", f"{plain / bound:.2f}", "100%")
        lines.append(("*peak of bfloat16 convolution*", str(of["size"]), *figures, "–"))
    peaks = ", ".join(f"{name} {speed:.0f}" for name, speed in found["roofline"].items())
    first = found["sizes"][0]
    told = f"GFLOP/s of a core: {peaks}; {first['flop'] / 1e9:.1f} GFLOP at {first['size']} px."
    whole = " s, ".join(f"by {name} {seconds:.2f}" for name, seconds in found["release"].items())
    told += f"\n\nA release of 24 PNG of 1024 × 1024, one worker: {whole} s."
    return f"{markdown(columns, lines)}\n{told}\n"


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "release")]
    main(*sys.argv[1:])
