"""``--forward-to`` as an archive: AET@host:port by C-STORE, an address by STOW-RS. What is wrong
with a node whatever its method is said before torch is imported, in a second."""

import re
import ssl
from urllib.parse import urlsplit

from anonymize.errors import UsageError
from anonymize.receive import tls
from anonymize.receive.archives import Archive
from anonymize.receive.options import ForwardOptions, NodeOptions, ReceiveOptions, check_title
from anonymize.receive.store_archive import StoreArchive
from anonymize.receive.stow_archive import StowArchive, read_credentials
from anonymize.release.options import ReleaseOptions

C_STORE = re.compile(
    r"(?P<title>[^@/]+)@(?P<host>[^@/:\s]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})"
)
STUDIES = re.compile(r".*/studies(/[0-9.]+)?")  # PS3.18 10.5
FORM = "AET@host:port, or https://host/…/studies"


def sides(
    release: ReleaseOptions, options: ReceiveOptions
) -> tuple[Archive | None, ssl.SSLContext | None]:
    """The archive, None for none, and what is shown to senders, None without TLS; neither is called
    yet. Raises UsageError: names that are kept, and as `archive_of` and `tls.of_node`."""
    if release.names != "hashed":
        raise UsageError("names of received objects are their UIDs, and must be hashed")
    if options.forward.to and release.uniform is not None and release.uniform.format != "dicom":
        raise UsageError("--forward-to takes DICOM only; use --canonical SIZE,dicom")
    return archive_of(options.forward, options.node), tls.of_node(options.node)


def archive_of(options: ForwardOptions, node: NodeOptions) -> Archive | None:
    """The archive that was asked for, None for none; it is not called yet. Raises UsageError: no
    destination, or what does not go together with it."""
    if options.to is None:
        if options.ca or options.credentials:
            raise UsageError("--forward-ca and --forward-credentials need --forward-to")
        return None
    if options.to.startswith(("http://", "https://")):
        return _stow(options.to, options, node)
    match = C_STORE.fullmatch(options.to)
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise UsageError(f"--forward-to must be {FORM}")
    check_title("--forward-to", match["title"])
    if options.credentials is not None:
        raise UsageError("--forward-credentials are for https; C-STORE has certificates instead")
    context = None if options.ca is None else tls.of_archive(node, options.ca)
    address = match["host"].strip("[]"), int(match["port"])
    return StoreArchive(match["title"], address, node.aet, context, options.timeout)


def _stow(url: str, options: ForwardOptions, node: NodeOptions) -> Archive:
    try:
        parts = urlsplit(url)
        sound = parts.hostname and parts.port != 0 and STUDIES.fullmatch(parts.path)
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment:
        raise UsageError(f"--forward-to must be {FORM}: the service that takes studies (PS3.18)")
    if parts.username or parts.password:
        raise UsageError(
            "--forward-to must hold no password, which others see in the list of processes; put it "
            "into a file for --forward-credentials"
        )
    credentials = read_credentials(options.credentials)
    if parts.scheme == "http" and (credentials or options.ca):
        raise UsageError("--forward-to must be https where credentials or --forward-ca are given")
    return StowArchive(url, tls.of_archive(node, options.ca), credentials, options.timeout)
