"""Somebody else is at work while a release is made, or it is ended in the middle."""

import os
import resource
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from unittest import mock

from click.testing import CliRunner
from corpus import Case, apply, each, without_processes
from hostile_models import carded
from release_specimens import KINDS, Wave, fill, tree

from anonymize.cli import main
from anonymize.commands import group
from anonymize.errors import UsageError
from anonymize.model_card import LARGEST, read_card
from anonymize.release import pipeline
from anonymize.release.options import ReleaseOptions
from anonymize.release.storage import StorageError
from anonymize.whole_file import TEMPORARY

WAITING = 60  # seconds
FILES = {f"{folder}/{n}.png": KINDS["gray8.png"] for folder in "ab" for n in range(3)}


class Meddler(Wave):
    """Does something at the first image that it sees after ``wait`` others."""

    def __init__(self, act, wait=1):
        super().__init__()
        self.act, self.wait = act, wait

    def displacement(self, images):
        self.wait -= 1
        if self.wait == -1:
            self.act()
        return super().displacement(images)


def led_elsewhere(folder: Path, *, name: str) -> str | None:
    """A folder of the release becomes a link to one of somebody else while images are made."""
    elsewhere = folder / "elsewhere"
    fill(elsewhere, {"theirs.png": b"precious"})

    def swap():
        path = folder / name
        path.rename(folder / "moved")
        path.symlink_to(elsewhere)

    with suppress(StorageError, UsageError, OSError):  # it may stop; it must not follow
        apply(folder, FILES, Meddler(swap))
    found = tree(elsewhere)
    return None if found == {"theirs.png": b"precious"} else f"elsewhere holds {sorted(found)}"


def terminated(folder: Path, *, number: int) -> str | None:
    """A signal ends the command; it must leave nothing unfinished."""
    fill(folder / "in", FILES)

    def run():
        with without_processes():
            model = Meddler(partial(os.kill, os.getpid(), number), wait=3)
            pipeline.apply(folder / "in", folder / "out", model, ReleaseOptions())

    module = mock.Mock(command=group.click.command()(run))
    # A shell lets what it runs in the background ignore Ctrl-C, and nohup SIGHUP.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hung_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with mock.patch.object(group, "import_module", return_value=module):
            done = CliRunner().invoke(main, ["apply"])
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGHUP, hung_up)
    if done.exit_code != 128 + number:
        return f"exit status {done.exit_code}"
    files = [*tree(folder / "out"), *tree(folder / "out-private")]
    left = [name for name in files if name.rpartition("/")[2].startswith(TEMPORARY)]
    return f"left {left}" if left else None


def order(folder: Path, *, workers: int) -> str | None:
    """Under hashed names, the order in which files were made must be the names' own."""
    files = {f"patient{n:02d}.png": KINDS["gray8.png"] for n in range(12)}
    outcome = apply(folder, files, names="hashed", workers=workers)
    made = sorted(outcome.images, key=lambda name: (outcome.out / name).stat().st_ctime_ns)
    return None if made == sorted(made) else "times of change are in the order of the inputs"


def shown(folder: Path, *, text: str) -> str | None:
    """What a model file says is printed without what a terminal obeys."""
    path = folder / "model.safetensors"
    path.write_bytes(carded(provenance={"author": text, text: "x"}, labels=[text]))
    for options in ([], ["--json"]):
        done = CliRunner().invoke(main, ["model", "show", str(path), *options])
        if any(ord(c) < 32 and c != "\n" for c in done.output) or "\x9b" in done.output:
            return "control characters on the terminal"
    return None


def said(folder: Path, *, text: str, part: str) -> str | None:
    """What is wrong with a model file is said without what a terminal obeys."""
    path = folder / "model.safetensors"
    card = {"option": {"architecture": {text: 1}}}.get(part, {part: text})
    path.write_bytes(carded(**card))
    fill(folder / "in", {"a.png": KINDS["gray8.png"]})
    paths = [str(folder / "in"), str(folder / "out")]
    done = CliRunner().invoke(main, ["apply", *paths, "--model", str(path)], color=True)
    if done.exit_code != 2:
        return f"exit status {done.exit_code}"
    return None if done.output.rstrip("\n").isprintable() else "control characters on the terminal"


def piped(before: list[str], name: str, folder: Path) -> str | None:
    """A pipe for a model file is refused: nobody may ever write to it."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    fill(folder / "in", {"a.png": KINDS["gray8.png"]})
    paths = [str(folder / word) if word in ("in", "out") else word for word in before]
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(WAITING)  # the kernel's: who waits in a library hears no other
        os._exit(CliRunner().invoke(main, [*paths, str(path)]).exit_code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return "it waits"
    return None if os.WEXITSTATUS(status) == 2 else f"exit status {os.WEXITSTATUS(status)}"


def giant(folder: Path, *, size: int) -> str | None:
    """A card asks for a network at a size that takes gigabytes."""
    path = folder / "model.safetensors"
    path.write_bytes(carded(size=size))
    try:
        read_card(path)
    except UsageError:
        return None
    return f"a network that sees {size} x {size} pixels was believed"


def named(*words: str) -> dict[str, str]:
    """Cases that are called by what they get."""
    return {word: word for word in words}


def core(folder: Path, *, command: str) -> str | None:
    """What the release holds in memory must not come to the disk when it crashes."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    try:
        CliRunner().invoke(main, [command, str(folder / "in"), str(folder / "out")])
        # Not 0: the kernel still hands one to a program that the system names for it.
        return None if resource.getrlimit(resource.RLIMIT_CORE)[0] == 1 else "core dumps"
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)


SIZES = (0, -1, LARGEST + 1, 4096, 1 << 20, 1 << 62)
ENDING = {n.name: n for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
ESCAPES = ("\x1b[2J", "\x1b]0;title\x07", "\r", "\x9b31m", "a\nb\tc", "\u202egnp.exe")
CASES = [
    *each("folders swapped for links", led_elsewhere, named("out", "out-private", "out/a"), "name"),
    *each("ended in the middle", terminated, ENDING, "number"),
    *each("core dump", core, named("apply", "merge", "verify", "review", "train"), "command"),
    *(
        Case("order of writing", f"{n} workers", partial(order, workers=n), fast=n == 1)
        for n in (1, 2, 4)
    ),
    *each("text of a model card", shown, {ascii(text): text for text in ESCAPES}, "text"),
    *(
        Case("text of an error", f"{text!a} as {part}", partial(said, text=text, part=part))
        for text in ESCAPES
        for part in ("kind", "method", "option")
    ),
    *(
        Case("model that is no file", f"{' '.join(before)} {name}", partial(piped, before, name))
        for before in (["model", "show"], ["apply", "in", "out", "--model"])
        for name in ("model.safetensors", "run/model.safetensors")
    ),
    *each("size in a model card", giant, {str(size): size for size in SIZES}, "size"),
]
