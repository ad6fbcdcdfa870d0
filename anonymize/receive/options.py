"""All that ``anonymize receive`` can be asked for besides the release itself."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from anonymize.errors import UsageError, printable

# PS3.5 6.2, AE: 1 to 16 characters of the default repertoire, no backslash, no control character.
TITLE = re.compile(r"(?=.*\S)[ -\[\]-~]{1,16}")


@dataclass(frozen=True, kw_only=True)
class NodeOptions:
    """Who may send, and how much at once.

    Args:
        aet: the node's own AE title; what calls another one is rejected.
        allow: AE titles that may call. A title is a name and no proof: see ``tls_client_ca``.
        host: the address to listen at; by default this machine alone can reach it.
        port: 0 takes any that is free.
        tls_cert: PEM of the node's certificate, and what leads to its CA; None: no TLS.
        tls_key: PEM of its key.
        tls_client_ca: PEM of the CAs that senders' certificates must come from (mutual TLS).
        associations: most at once.
        pdu: longest PDU that is taken, bytes.
        object_bytes: largest object that is taken.
        timeout: seconds that a peer may be silent, or take for one PDU.

    Raises:
        UsageError: titles that are none, or half of what TLS needs.
    """

    aet: str = "ANONYMIZE"
    allow: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 11104
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    associations: int = 8
    pdu: int = 128 << 10
    object_bytes: int = 256 << 20
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if not self.allow:
            raise UsageError("--allow must name at least one AE title that may send")
        for option, title in [("--aet", self.aet), *(("--allow", title) for title in self.allow)]:
            check_title(option, title)
        if (self.tls_cert is None) != (self.tls_key is None):
            raise UsageError("--tls-cert and --tls-key belong together; give both, or neither")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise UsageError("--tls-client-ca needs a node with TLS; give --tls-cert and --tls-key")


@dataclass(frozen=True, kw_only=True)
class SpoolOptions:
    """Where received objects wait, and how many: beyond it senders are told to come again.

    Args:
        folder: by default OUT with "-spool" behind it.
        files, size: most objects, and most bytes of them.
        spare: bytes that must stay free on the disk.
    """

    folder: Path | None = None
    files: int = 10_000
    size: int = 64 << 30
    spare: int = 1 << 30


@dataclass(frozen=True, kw_only=True)
class ForwardOptions:
    """Where released files go.

    Args:
        to: ``AET@host:port`` (C-STORE) or the address of a STOW-RS service; None: nowhere.
        ca: PEM of the CAs that the archive's certificate must come from. C-STORE is over TLS where
            it is given; https is by default verified by the system's.
        credentials: a file of mode 0600 with ``user:password`` or ``Bearer token`` for STOW-RS.
        tries: after so many a file is undelivered, until the node is started anew.
        timeout: seconds that the archive may take for an answer.
    """

    to: str | None = None
    ca: Path | None = None
    credentials: Path | None = None
    tries: int = 30
    timeout: float = 60.0


@dataclass(frozen=True, kw_only=True)
class ReceiveOptions:
    """Options of :func:`service.receive`; ``drain``: seconds that it may go on when it is to
    end."""

    node: NodeOptions
    spool: SpoolOptions = field(default_factory=SpoolOptions)
    forward: ForwardOptions = field(default_factory=ForwardOptions)
    drain: float = 30.0


def check_title(option: str, title: str) -> None:
    """Raises UsageError for what is no AE title."""
    if not TITLE.fullmatch(title):
        raise UsageError(
            f"{option} must be an AE title: 1 to 16 ASCII characters without a backslash, "
            f"got {printable(title)!r}"
        )
