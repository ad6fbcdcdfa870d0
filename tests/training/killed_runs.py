"""Runs that are killed, each in its stage: one program that imports once and forks for each."""

import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

from anonymize.cli import main


def forked(arguments):
    """A child that trains, silently; gives its number."""
    child = os.fork()
    if not child:
        status = 1
        try:
            main(arguments, standalone_mode=False)
            status = 0
        finally:
            os._exit(status)
    return child


def killed(config, out, stage):
    """Trains into ``out`` until the stage has a checkpoint, and kills."""
    arguments = ["train", "--device", "cpu", "--mu", "0.01", "--config", config, "--out", str(out)]
    child = forked(arguments)
    while not (out / "checkpoint" / f"{stage}.safetensors").exists():
        ended, _ = os.waitpid(child, os.WNOHANG)
        assert not ended, f"it ended before {stage}"
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    import_module("anonymize.training.run")  # once for all

    _, config, folder, *stages = sys.argv
    for stage in stages:
        killed(config, Path(folder, stage), stage)
