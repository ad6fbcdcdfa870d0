"""A node that is killed while two senders send, again and again: is everything accounted for?"""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager

import dicom_specimens as dicom
from programs import call, free_port, holding
from receiving import spooled, until

from anonymize.release.verify import verify

SENDERS = ("SENDER1", "SENDER2")
TOGETHER = 25  # files that a sender sends over one association, and again until all are taken
LATEST = 8.0  # seconds after it listens, within which a node is killed
HOUR = 3600.0


def objects(folder, count):
    """``count`` small radiographs, no two alike, in folders of TOGETHER."""
    for number in range(count):
        values = dicom.picture(size=(64 + number % 33, 64 + number % 31))
        made = dicom.with_pixels(dicom.dx(), values, bits=12)
        made.SOPInstanceUID = f"{dicom.UIDS['instance']}.{number}"
        place = folder / str(number // TOGETHER)
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.dcm").write_bytes(dicom.file(made))
    return sorted(folder.iterdir())


class Killed:
    """Nodes on one port, each started where the last one died; ``kills`` counts them."""

    def __init__(self, folder, port, to):
        self.log, self.kills = folder / "node.log", 0
        allowed = [word for title in SENDERS for word in ("--allow", title)]
        self.command = [
            *(sys.executable, "-m", "anonymize", "receive", folder / "out", "--port", port),
            *(*allowed, "--model", "dp-pix:b=4", "--text", "keep", "--workers", 1),
            *("--device", "cpu", "--spare-disk", 1, "--forward-to", to, "--drain", 600),
        ]
        self.random = random.Random(0)

    @contextmanager
    def node(self):
        """A node that listens."""
        with self.log.open("w") as log:
            command = [*map(str, self.command)]
            with subprocess.Popen(command, stderr=log, stdout=log) as process:
                try:
                    until(lambda: "listening" in self.log.read_text() or process.poll(), HOUR)
                    assert process.poll() is None, self.log.read_text()
                    yield process
                finally:
                    process.kill()

    def life(self):
        """One node, and its death."""
        with self.node() as process:
            time.sleep(self.random.uniform(0, LATEST))
            process.send_signal(signal.SIGKILL)
            self.kills += 1


def sender(title, port, folders, calls):
    """Sends every folder until all of it was answered with success; ``calls`` counts outcomes."""
    for folder in folders:
        while True:
            done = call(
                "storescu",
                "-aet",
                title,
                "-aec",
                "ANONYMIZE",
                "127.0.0.1",
                port,
                *sorted(folder.iterdir()),
            )
            calls["taken" if done.returncode == 0 else "tried again"] += 1
            if done.returncode == 0:
                break
            time.sleep(0.2)


def run(folder, count, kills, archive="storescp"):
    """Sends ``count`` objects and kills at least ``kills`` nodes meanwhile; gives figures."""
    begun, calls, port = time.monotonic(), Counter(), free_port()
    folders = objects(folder / "in", count)
    with holding(archive, folder / "archive") as theirs:
        nodes = Killed(folder, port, theirs.to)
        senders = [
            threading.Thread(target=sender, args=(title, port, folders[n :: len(SENDERS)], calls))
            for n, title in enumerate(SENDERS)
        ]
        for thread in senders:
            thread.start()
        while nodes.kills < kills:
            nodes.life()
        with nodes.node() as last:
            for thread in senders:
                thread.join()
            until(lambda: not spooled(folder), HOUR)
            last.send_signal(signal.SIGTERM)
            status = last.wait(HOUR)
        figures = accounted(folder, theirs.uids(), count)
    return {
        "objects": count,
        "senders": len(SENDERS),
        "kills": nodes.kills,
        "archive": theirs.name,
        "associations": calls.total(),
        "associations sent again": calls["tried again"],
        **figures,
        "exit status of the last node": status,
        "seconds": round(time.monotonic() - begun),
    }


def accounted(folder, theirs, count):
    """What the journals, OUT and the archive, which holds the UIDs ``theirs``, say of ``count``
    objects."""
    private, out = folder / "out-private", folder / "out"
    entries = [json.loads(line) for line in (private / "journal.jsonl").open()][1:]
    tries = [json.loads(line) for line in (private / "forward.jsonl").open()]
    outputs = {path.name for path in out.glob("*.dcm")}
    named = {(e["input"], e["output"]) for e in entries if not e["reason"]}
    uids = {dicom.opened((out / name).read_bytes()).SOPInstanceUID for name in outputs}
    inputs = Counter(e["input"] for e in entries if not e["reason"])
    delivered = {t["output"] for t in tries if t["state"] == "delivered"}
    expected = {f"{dicom.UIDS['instance']}.{n}.dcm" for n in range(count)}
    return {
        "accounted for": len(expected & inputs.keys()),
        "released": len(outputs),
        "quarantined": sum(bool(e["reason"]) for e in entries),
        "released twice": len(named) - len(inputs),
        "made again after a kill": sum(n > 1 for n in inputs.values()),
        "in the archive": len(theirs & uids),
        "in the archive, and not released": len(theirs - uids),
        "journalled as delivered": len(delivered & outputs),
        "left in the spool": len(spooled(folder)),
        "release is sound": verify(out).sound,
    }
