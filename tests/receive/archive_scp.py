"""An archive of somebody else's making, in a thread of the test."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import dicom_specimens as dicom
from pynetdicom import AE, evt
from pynetdicom.transport import ThreadedAssociationServer
from receiving import CLOSE_POLL


@contextmanager
def scp(status=0x0000, syntax=dicom.EXPLICIT, context=None, before=None):
    """``stored`` are the data sets that it was sent, each answered with ``status``; ``before``:
    what it does first, called with the event."""
    stored = []
    entity = AE(ae_title="ARCHIVE")
    entity.require_called_aet = True
    entity.add_supported_context(dicom.DX, syntax)
    entity.add_supported_context(dicom.CR)

    def store(event):
        if before is not None:
            before(event)
        stored.append(event.dataset)
        return status

    server = entity.make_server(
        ("127.0.0.1", 0),
        evt_handlers=[(evt.EVT_C_STORE, store)],
        ssl_context=context,
        server_class=ThreadedAssociationServer,
    )
    entity._servers.append(server)  # its shutdown takes it out of there
    threading.Thread(target=server.serve_forever, args=(CLOSE_POLL,), daemon=True).start()
    try:
        yield SimpleNamespace(
            stored=stored, to=f"ARCHIVE@127.0.0.1:{server.server_address[1]}", server=server
        )
    finally:
        server.shutdown()
