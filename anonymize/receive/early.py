"""What is wrong with a node whatever its method: said before torch is imported, in a second."""

import ssl

from anonymize.errors import UsageError
from anonymize.receive import tls
from anonymize.receive.archives import Archive
from anonymize.receive.destinations import archive_of
from anonymize.receive.options import ReceiveOptions
from anonymize.release.options import ReleaseOptions


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
