"""All that ``anonymize receive`` can be asked for besides the release itself."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from anonymize.errors import UsageError, printable

# PS3.5 6.2, AE: 1 to 16 characters of the default repertoire, no backslash, no control character.
TITLE = re.compile(r"(?=.*\S)[ -\[\]-~]{1,16}")


@dataclass(frozen=True, kw_only=True)
class NodeOptions:
    """Who may send, and how much at once. Raises UsageError: titles that are none, or half of what
    TLS needs."""

    aet: str = "ANONYMIZE"  # who calls another one is rejected
    allow: tuple[str, ...] = ()  # AE titles, names and no proof: see tls_client_ca
    host: str = "127.0.0.1"  # this machine alone can reach it
    port: int = 11104  # 0: any that is free
    tls_cert: Path | None = None  # PEM, with what leads to its CA; None: no TLS
    tls_key: Path | None = None  # PEM
    tls_client_ca: Path | None = None  # PEM of the CAs of senders (mutual TLS)
    associations: int = 8  # most at once
    pdu: int = 128 << 10  # bytes
    object_bytes: int = 256 << 20
    timeout: float = 30.0  # seconds that a peer may be silent, or take for one PDU

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
    """Where received objects wait, and how many: beyond it senders are told to come again."""

    folder: Path | None = None  # None: OUT with "-spool" behind it
    files: int = 10_000  # objects, at most
    size: int = 64 << 30  # bytes of them, at most
    spare: int = 1 << 30  # bytes that stay free on the disk


@dataclass(frozen=True, kw_only=True)
class ForwardOptions:
    """Where released files go: by C-STORE, over TLS where ``ca`` is given, or by STOW-RS, whose
    https the system's CAs verify by default."""

    to: str | None = None  # AET@host:port, or the address of a STOW-RS service; None: nowhere
    ca: Path | None = None  # PEM of the CAs of the archive
    credentials: Path | None = None  # mode 0600: "user:password" or "Bearer token", for STOW-RS
    tries: int = 30  # after so many a file is undelivered, until the node is started anew
    timeout: float = 60.0  # seconds that the archive may take for an answer


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
