"""An archive that is called by C-STORE (PS3.4 Annex B)."""

import ssl
from io import BytesIO
from typing import Any

from pydicom import dcmread
from pynetdicom import AE, evt
from pynetdicom.association import Association

from anonymize.receive.archives import DeclinedError, UnreachableError
from anonymize.receive.connections import LONGEST_COMMAND, bound
from anonymize.release.dicom.attributes import SOP_CLASSES
from anonymize.release.dicom.syntax import WRITTEN

# Coerced, elements discarded, other than the class says: it was stored (PS3.4 Table B.2-1).
STORED = (0x0000, 0xB000, 0xB006, 0xB007)
OUT_OF_RESOURCES = range(0xA700, 0xA800)


class StoreArchive:
    """One association, kept while files come; anew after any trouble."""

    def __init__(
        self,
        title: str,
        address: tuple[str, int],
        calling: str,
        context: ssl.SSLContext | None,
        timeout: float,
    ) -> None:
        self._title, self._address, self._context = title, address, context
        self._timeout = timeout
        self._entity = AE(ae_title=calling)
        self._entity.acse_timeout = self._entity.dimse_timeout = timeout
        self._entity.network_timeout = self._entity.connection_timeout = timeout
        for uid in sorted(SOP_CLASSES):
            for syntax in WRITTEN.values():  # one each, so that the archive says which it takes
                self._entity.add_requested_context(uid, syntax)
        self._association: Association | None = None

    def send(self, data: bytes) -> None:
        association = self._associated()
        try:
            status = association.send_c_store(dcmread(BytesIO(data)))
        except ValueError:  # no context was agreed upon, or it cannot be encoded
            raise DeclinedError("it does not take this SOP class in this transfer syntax") from None
        except RuntimeError:  # the association ended before
            self.close()
            raise UnreachableError("the association ended") from None
        code = status.get("Status")
        if code in STORED:
            return
        if code is None:
            self.close()
            raise UnreachableError("no answer")
        if code in OUT_OF_RESOURCES:
            raise UnreachableError(f"status 0x{code:04X}")
        raise DeclinedError(f"status 0x{code:04X}")

    def close(self) -> None:
        if self._association is not None and self._association.is_established:
            self._association.release()
        self._association = None

    def _associated(self) -> Association:
        if self._association is None or not self._association.is_established:
            tls = None if self._context is None else (self._context, self._address[0])
            try:
                self._association = self._entity.associate(
                    *self._address,
                    ae_title=self._title,
                    tls_args=tls,
                    evt_handlers=[(evt.EVT_CONN_OPEN, self._opened)],
                )
            except OSError:
                raise UnreachableError("its host has no address") from None
        if not self._association.is_established:
            rejected = self._association.is_rejected
            raise UnreachableError("it rejects us" if rejected else "no association")
        return self._association

    def _opened(self, event: Any) -> None:
        bound(event.assoc, self._timeout, LONGEST_COMMAND)
