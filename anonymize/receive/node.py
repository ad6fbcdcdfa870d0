"""The DICOM node: C-STORE and C-ECHO for those who are allowed to call, nothing for others."""

import logging
import ssl
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from pydicom.filebase import DicomBytesIO
from pydicom.filewriter import write_file_meta_info
from pynetdicom import AE, _config, evt
from pynetdicom.association import Association
from pynetdicom.dul import DULServiceProvider
from pynetdicom.sop_class import Verification  # type: ignore[attr-defined]

from anonymize.errors import UsageError, printable
from anonymize.receive.connections import Handler, Server
from anonymize.receive.options import NodeOptions
from anonymize.receive.spool import Full, Spool, is_uid
from anonymize.receive.tally import Tally
from anonymize.release.dicom.attributes import SOP_CLASSES
from anonymize.release.dicom.syntax import SYNTAXES
from anonymize.release.dicom.write import file_meta

# PS3.4 Table B.2-1 and PS3.8 Table 9-21.
SUCCESS, OUT_OF_RESOURCES, OTHER_CLASS, NOT_UNDERSTOOD = 0x0000, 0xA700, 0xA900, 0xC000
REJECTED, BY_THE_USER, NO_REASON = 1, 1, 1
FIRST_WORD = 10.0  # seconds until an association must have been asked for
POLL = 0.05
CLOSE_POLL = 0.25  # every sixtieth time pynetdicom collects garbage, which costs


class Node:
    """A node that is bound to its port, takes connections from :meth:`serve` to :meth:`close`."""

    def __init__(self, options: NodeOptions, context: ssl.SSLContext | None = None) -> None:
        """``context``: of TLS. Raises UsageError: it cannot listen there."""
        _hush()
        self._aet = options.aet.strip()
        self._allowed = {title.strip() for title in options.allow}
        self._thread: threading.Thread | None = None
        self._closing = False
        entity = _entity(options, self._aet, self._allowed)
        handlers: list[Any] = [(evt.EVT_REQUESTED, self._requested), (evt.EVT_C_STORE, self._store)]
        try:
            self._server = Server(
                entity,
                (options.host, options.port),
                self._aet,
                entity.supported_contexts,
                ssl_context=context,
                evt_handlers=handlers,
                request_handler=Handler,
            )
        except (OSError, OverflowError, ValueError):
            raise UsageError(
                f"nothing can listen at --host {printable(options.host)} --port {options.port}: no "
                "address of this machine, or the port is taken or not for you; choose others"
            ) from None
        self._server.options = options
        entity._servers.append(self._server)  # its shutdown takes it out of there

    def serve(self, spool: Spool, tally: Tally) -> None:
        """Begins to take objects to ``spool``."""
        self._spool, self._tally = spool, tally
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(CLOSE_POLL,), name="listening", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def close(self, deadline: float = 0.0, meanwhile: Callable[[], object] = bool) -> None:
        """Takes nobody new, and no further object; ends who is still there at ``deadline`` (of
        ``time.monotonic``), and calls ``meanwhile`` until then. Closed twice, it stays so."""
        self._closing, thread = True, self._thread
        if thread is None:
            self._server.server_close()
        elif thread.is_alive():
            self._server.shutdown()
            thread.join()
        while self._server.active_associations and time.monotonic() < deadline:
            meanwhile()
            time.sleep(POLL)
        for association in self._server.active_associations:
            association.abort()

    def _requested(self, event: Any) -> None:
        """Rejects a stranger, and does not say which of the titles was wrong."""
        asked = event.assoc.requestor.primitive
        if (
            asked.calling_ae_title.strip() in self._allowed
            and asked.called_ae_title.strip() == self._aet
        ):
            return
        self._tally.add("strangers")
        event.assoc.acse.send_reject(REJECTED, BY_THE_USER, NO_REASON)
        event.assoc.kill()

    def _store(self, event: Any) -> int:
        """The status of a C-STORE: success only where the object is on the disk."""
        request = event.request
        uid = str(request.AffectedSOPInstanceUID)
        if request.AffectedSOPClassUID != event.context.abstract_syntax:
            self._tally.add("refused")
            return OTHER_CLASS
        if not is_uid(uid) or request.DataSet is None:
            self._tally.add("refused")
            return NOT_UNDERSTOOD
        try:
            if self._closing:
                raise Full
            new = self._spool.put(uid, _file(event))
        except (Full, OSError):
            self._tally.add("full")
            return OUT_OF_RESOURCES
        self._tally.add("received" if new else "duplicates")
        return SUCCESS


def _hush() -> None:
    """Says nothing of what peers send: lines and warnings of these packages quote it."""
    _config.LOG_HANDLER_LEVEL = "none"
    for name in ("pynetdicom", "pydicom"):
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
    warnings.filterwarnings("ignore", module=r"(pynetdicom|pydicom)\b")
    threading.excepthook = _thread_ended


def _thread_ended(about: threading.ExceptHookArgs) -> None:
    """What pynetdicom does not catch ends the thread of an association, and quotes its peer, too;
    other threads are as they were."""
    if not isinstance(about.thread, (Association, DULServiceProvider)):
        _otherwise(about)


_otherwise = threading.excepthook


def _entity(options: NodeOptions, aet: str, allowed: set[str]) -> AE:
    """What pynetdicom keeps by itself: titles once more, contexts, and how long it waits."""
    entity = AE(ae_title=aet)
    entity.require_called_aet = True
    entity.require_calling_aet = sorted(allowed)
    entity.maximum_associations = options.associations
    entity.maximum_pdu_size = options.pdu
    entity.acse_timeout = min(FIRST_WORD, options.timeout)
    entity.dimse_timeout = entity.network_timeout = options.timeout
    entity.add_supported_context(Verification)
    for uid in sorted(SOP_CLASSES):
        entity.add_supported_context(uid, list(SYNTAXES))
    return entity


def _file(event: Any) -> bytes:
    """The object as a file (PS3.10 7.1), the same bytes whoever sends it."""
    request, context = event.request, event.context
    stream = DicomBytesIO()
    stream.write(bytes(128) + b"DICM")
    meta = file_meta(
        request.AffectedSOPClassUID, request.AffectedSOPInstanceUID, context.transfer_syntax
    )
    write_file_meta_info(stream, meta)
    stream.write(request.DataSet.getbuffer())
    return stream.getvalue()
