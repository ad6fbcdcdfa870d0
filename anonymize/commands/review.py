"""``anonymize review``."""

import json
import os
import socket
from pathlib import Path

import click

from anonymize.commands.apply_options import QUARANTINED, STOPPED
from anonymize.commands.common import PATH, workers_option
from anonymize.commands.group import Failure
from anonymize.commands.interrupts import Terminated
from anonymize.errors import UsageError, counted

GRACE_SECONDS = 5  # for what is being answered when it ends
UPLOADED = (
    "warning: this release was uploaded, and stays there as it was: what is in quarantine here "
    "leaves it, and what is accepted gets there, by the same `anonymize apply` again"
)
EPILOG = """\b
On the page: a accepts, q sends to quarantine, arrows go back and on, space shows the input in the
output's place, z zooms, ? says the rest. What is decided is kept at once; the same command goes on.

Example: anonymize review released
"""


@click.command(epilog=EPILOG)
@click.argument("out", metavar="OUT", type=PATH)
@click.option("--private", type=PATH, metavar="DIR", help="Of `anonymize apply`. [OUT-private]")
@click.option("--port", type=click.IntRange(1, 65_535), help="[one that is free]")
@workers_option("Processes that decode pictures.")
@click.option("--json", "as_json", is_flag=True, help="Print what was decided as JSON, at the end.")
def command(out: Path, private: Path | None, port: int | None, workers: int, as_json: bool) -> None:
    """Look at every picture of the release in OUT, beside its input, in a browser.

    Serves a page on this machine alone, at an address that is printed. A picture that is sent to
    quarantine leaves OUT and its manifest, and `anonymize apply` does not release it again. After
    `apply --require-review`, OUT is empty until pictures are accepted, and has no manifest until
    all of them were looked at. Ctrl-C ends it.

    Exit status: 0 all were looked at, 3 some were not, 2 no release is there, 4 stopped: a folder
    cannot be written, or no worker started.
    """
    try:
        from anonymize.release.review.server import serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the page needs {error.name}; pip install 'anonymize-cxr[review]'"
        ) from None
    from anonymize.release.machines import upload
    from anonymize.release.places import private_beside
    from anonymize.release.review import session
    from anonymize.release.storage import StorageError
    from anonymize.release.workers.worker_pool import Limits, WorkerPool, WorkerPoolError

    stop: KeyboardInterrupt | None = None
    try:
        with (
            session.opened(out, private) as work,
            WorkerPool(workers, Limits()) as pool,
            _listening(port) as channel,
        ):
            try:
                serve(work, pool, channel, ready=_say, grace=GRACE_SECONDS)
            except KeyboardInterrupt as signal:
                stop = signal
            counts, unsigned = work.counts, work.unsigned
    except StorageError as error:
        raise Failure(
            f"stopped, OUT or its private folder cannot be written: {error}; make room or make it "
            "writable, and the same command continues",
            STOPPED,
        ) from None
    except WorkerPoolError:
        raise Failure(
            "stopped, no worker process can be started; free memory or processes", STOPPED
        ) from None
    if unsigned:
        click.echo(
            "warning: the release was signed, and its key is not there: run `anonymize apply` with "
            "--sign and --key-file again",
            err=True,
        )
    if ((private or private_beside(out.resolve())) / upload.FILE).is_file():
        click.echo(UPLOADED, err=True)
    click.echo(json.dumps(counts, indent=2) if as_json else describe(counts, str(out)))
    if isinstance(stop, Terminated):
        raise stop
    raise SystemExit(QUARANTINED if counts["undecided"] else 0)


def _say(address: str) -> None:
    click.echo(f"open  {address}\nCtrl-C ends it; what is decided is kept", err=True)


def _listening(port: int | None) -> socket.socket:
    """Raises UsageError where the port is somebody else's."""
    from anonymize.release.review.guard import HOST

    try:
        return socket.create_server((HOST, port or 0))
    except OSError as error:
        raise UsageError(
            f"--port {port} cannot be used ({os.strerror(error.errno or 0)}); leave it out, or "
            "choose another"
        ) from None


def describe(counts: dict[str, int], out: str) -> str:
    """What was decided, in words."""
    left = counts["undecided"]
    lines = [
        f"{counted(sum(counts.values()), 'picture')}: {counts['accepted']} accepted, "
        f"{counts['quarantined']} in quarantine, {left} not looked at"
    ]
    again = f"the same command goes on with the other {left}"
    lines.append(f"next       {again if left else f'anonymize verify {out}'}")
    return "\n".join(lines)
