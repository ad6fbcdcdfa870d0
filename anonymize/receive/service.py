"""From the spool through the release to the archive, until somebody asks it to end.

What a sender was told is stored stays in the spool until the journal of the release, and that of
what was forwarded, account for it. So the node may be killed anywhere: started again, it does once
more what is in no journal.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from anonymize.anonymizer import Anonymizer
from anonymize.errors import UsageError
from anonymize.folder_lock import own_folder
from anonymize.receive.deliveries import Deliveries
from anonymize.receive.desk import Desk
from anonymize.receive.destinations import sides
from anonymize.receive.node import Node
from anonymize.receive.options import ReceiveOptions
from anonymize.receive.outbox import Outbox
from anonymize.receive.spool import Spool
from anonymize.receive.tally import Summary, Tally
from anonymize.release.options import ReleaseOptions
from anonymize.release.preparation import prepare
from anonymize.release.workers import worker_pool
from anonymize.set_anonymizer import SetAnonymizer

POLL = 0.05
TELL_EVERY = 10.0  # seconds between lines
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def receive(
    out: Path,
    model: Anonymizer,
    release: ReleaseOptions,
    options: ReceiveOptions,
    *,
    stopping: Callable[[], bool],
    say: Callable[[str], None] = lambda line: None,
) -> Summary:
    """Receives, releases to ``out`` and forwards until ``stopping`` says so; then ends in order.

    Args:
        release: as for ``apply``; names are hashed.
        say: is told what becomes of the objects, without a word of whose they are.

    Raises:
        UsageError: nothing was touched.
        StorageError, WorkerPoolError: as ``apply``; nothing is lost, and the same call goes on.
    """
    check_method(model)
    archive, context = sides(release, options)
    folder = options.spool.folder or out.with_name(f"{out.name}-spool")
    with ExitStack() as stack:
        node = Node(options.node, context)
        stack.callback(node.close)
        stack.enter_context(own_folder(folder, option="--spool")).chmod(0o700)
        pool = stack.enter_context(worker_pool.WorkerPool(release.workers, release.limits))
        prepared = prepare(folder, out, model, release, pool, empty=True)
        places, tally, outbox = prepared.places, Tally(), None
        known = {entry.input: entry.sha256 for entry in prepared.journal.entries}
        spool = Spool(places.root, options.spool, known, (places.out, places.private))
        to = options.forward.to
        deliveries = None if to is None else Deliveries(places.private, to)
        model = prepared.model
        opened = stack.enter_context(prepared.opened())
        stack.enter_context(closing(pool))
        if archive is not None and deliveries is not None:
            deliveries.open()
            stack.callback(deliveries.close)
            tries = options.forward.tries
            outbox = Outbox(archive, deliveries, opened.places.out, tries, tally)
            stack.callback(outbox.close)
        desk = Desk(opened, model, pool, spool, outbox, tally)
        node.serve(spool, tally)
        stack.callback(node.close)
        say(_words(options, node.port))
        _until(stopping, desk, say)
        deadline = time.monotonic() + options.drain
        node.close(deadline, desk.work)
        while time.monotonic() < deadline and desk.work():
            pass
        if outbox is not None:
            outbox.close(deadline)
            outbox.check()
        desk.write_tables()
        return replace(desk.summary, told=desk.told)


def _until(stopping: Callable[[], bool], desk: Desk, say: Callable[[str], None]) -> None:
    """Works, and says now and then what became of the objects, where anything did."""
    said, due = desk.summary, time.monotonic()
    while not stopping():
        worked = desk.work()
        summary, now = desk.summary, time.monotonic()
        if summary != said and now >= due:
            say(str(summary))
            said, due = summary, now + TELL_EVERY
        if not worked:
            time.sleep(POLL)


def _words(options: ReceiveOptions, port: int) -> str:
    node, to = options.node, options.forward.to
    words = f"listening at {node.host}, port {port}, as {node.aet} for {', '.join(node.allow)}"
    if node.tls_cert is not None:
        words += ", over TLS"
        if node.tls_client_ca is None:
            words += ", which anybody may speak: --tls-client-ca asks who it is"
    elif node.host not in LOOPBACK:
        words += (
            "; warning: without TLS, anybody on the way reads along, and may call by these names"
        )
    if to is None:
        return words
    url = to if "://" in to else f"//{to.rpartition('@')[2]}"
    near = urlsplit(url).hostname in LOOPBACK
    plain = options.forward.ca is None and not to.startswith("https:") and not near
    return f"{words}; forwarding to {to}{', warning: without TLS' * plain}"


def check_method(model: Anonymizer) -> None:
    """UsageError for a method that cannot release what comes image by image."""
    if isinstance(model, SetAnonymizer):
        raise UsageError(
            f"{model.name} makes each output of several people, who must be known together, and "
            "objects come one by one; collect them, and take `anonymize apply`"
        )
