"""A node that runs in a thread of the test, and senders that call it."""

import re
import threading
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

import dicom_specimens as dicom
from pynetdicom import AE
from release_specimens import Wave
from waited import PATIENCE, until

from anonymize.receive import node as module
from anonymize.receive.options import ForwardOptions, NodeOptions, ReceiveOptions, SpoolOptions
from anonymize.receive.service import receive
from anonymize.release.options import ReleaseOptions

BRIEF = 15.0  # seconds that a sender waits who may be answered by nobody
CLOSE_POLL = 0.1  # seconds until a server sees that it is to end
PORT = re.compile(r"port (\d+),")


def made(number=0, *, shift=0):
    """A data set of its own SOP Instance UID, and pixels of its own."""
    picture = dicom.picture(size=(40 + number % 5, 52)) + shift
    data_set = dicom.with_pixels(dicom.dx(), picture, bits=12)
    data_set.SOPInstanceUID = f"{dicom.UIDS['instance']}.{number}"
    return data_set


def options(*, spool=None, forward=None, drain=20.0, **node):
    node = {"allow": ("SENDER",), "port": 0, "timeout": 20.0, **node}
    return ReceiveOptions(
        node=NodeOptions(**node),
        spool=SpoolOptions(**{"spare": 0, **(spool or {})}),
        forward=ForwardOptions(**{"timeout": 20.0, **(forward or {})}),
        drain=drain,
    )


@contextmanager
def running(folder, model=None, *, release=None, **wanted):
    """A node that releases to ``folder``/out until the block ends; its ``summary`` then."""
    lines, stopped, ended = [], threading.Event(), []
    asked = ReleaseOptions(**{"names": "hashed", **(release or {})})

    def run():
        try:
            ended.append(
                receive(
                    folder / "out",
                    model or Wave(),
                    asked,
                    options(**wanted),
                    stopping=stopped.is_set,
                    say=lines.append,
                )
            )
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    node = SimpleNamespace(lines=lines, summary=None)
    try:
        with mock.patch.object(module, "CLOSE_POLL", CLOSE_POLL):
            thread.start()
            until(lambda: lines or ended)
        if lines:
            node.port = int(PORT.search(lines[0])[1])
            yield node
    finally:
        stopped.set()
        thread.join(PATIENCE)
    node.summary = ended[0]
    if isinstance(node.summary, BaseException):
        raise node.summary


@contextmanager
def association(
    port, *, calling="SENDER", called="ANONYMIZE", contexts=(), tls=None, patience=PATIENCE
):
    """An association as a sender asks for it, whatever becomes of it."""
    entity = AE(ae_title=calling)
    entity.acse_timeout = entity.dimse_timeout = entity.network_timeout = patience
    for context in contexts or [(dicom.DX, dicom.EXPLICIT), (dicom.DX, dicom.BASELINE)]:
        entity.add_requested_context(*context)
    entity.add_requested_context("1.2.840.10008.1.1")
    found = entity.associate("127.0.0.1", port, ae_title=called, tls_args=tls)
    try:
        yield found
    finally:
        if found.is_established:
            found.release()


def send(port, *data_sets, **peer):
    """The status of each, sent over one association."""
    contexts = sorted({(d.SOPClassUID, dicom.EXPLICIT) for d in data_sets})
    with association(port, contexts=contexts, **peer) as found:
        assert found.is_established
        read = [dicom.opened(dicom.file(d)) for d in data_sets]
        return [found.send_c_store(d).Status for d in read]


def attempt(port, *data_sets):
    """As :func:`send`; None where nobody is there, or not any more."""
    try:
        return send(port, *data_sets, patience=BRIEF)
    except (AssertionError, AttributeError, RuntimeError):  # no association, no status, hung up
        return None


def spooled(folder):
    """Names in the spool."""
    return sorted(p.name for p in (folder / "out-spool").glob("*.dcm"))


def released(folder):
    """Names of released files."""
    return sorted(p.name for p in (folder / "out").glob("*.dcm"))
