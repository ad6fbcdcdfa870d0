"""What a user waits for after the command is typed: an answer to a wrong word, and the first
released file. Each is a process of its own, with nothing in memory."""

import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import torch

from anonymize.model_file import save_model
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from tests.benchmarks.speed import releases
from tests.benchmarks.speed.case import Case, Work

APPLY, TRAIN = ("anonymize", "apply", "no-such-folder", "out"), ("anonymize", "train", "--mu", "x")
EVALUATE = ("attacks", "evaluate", "--attackers", "no-such-attacker")
METHOD = "dp-pix:b=8"


def _refused(words: tuple[str, ...], times: int) -> Work:
    program, *arguments = words
    command = [sys.executable, "-m", program, *arguments]

    def refused() -> None:
        for _ in range(times):
            with tempfile.TemporaryDirectory() as here:
                found = subprocess.run(command, cwd=here, capture_output=True)
            assert found.returncode == 2, found.stderr

    return refused


def _first(method: str, times: int) -> Work:
    """Until the first file stands in OUT."""
    kept, source = releases.folder("PNG", releases.FILES * times)
    if method != METHOD:
        method = str(_saved(source.parent))

    def released() -> None:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            assert kept
            out = Path(name, "out")
            command = [sys.executable, "-m", "anonymize", "apply", source, out, "--model", method]
            silent = subprocess.DEVNULL
            with subprocess.Popen(command, stdout=silent, stderr=silent) as process:
                while not any(out.glob("*.png")):
                    assert process.poll() is None, "it ended before it released anything"
                    time.sleep(0.005)
                process.kill()

    return released


def _saved(folder: Path) -> Path:
    """A generator of random weights as narrow as that of the configuration `quick`."""
    torch.manual_seed(0)
    generator, path = FlowGenerator(releases.FLOW[releases.NARROW]), folder / "model.safetensors"
    made = PriCheXyNet(generator, size=256)
    save_model(generator.core, made.card(data={}, figures={}), path)
    return path


TIMED = {
    f"a wrong word is refused: {' '.join(w)}": partial(_refused, w)
    for w in (APPLY, TRAIN, EVALUATE)
}
FIRST = f"the first released file of {releases.FILES} PNG 1024 × 1024"
TIMED |= {f"{FIRST}, dp-pix": partial(_first, METHOD), f"{FIRST}, model": partial(_first, "model")}
CASES = [Case(name, "calls", 1, work, memory=False) for name, work in TIMED.items()]
