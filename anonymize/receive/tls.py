"""TLS as BCP 195 asks for (PS3.15 B.9): 1.2 or newer, certificates verified."""

import ssl
from pathlib import Path

from anonymize.errors import UsageError
from anonymize.receive.options import NodeOptions


def of_node(options: NodeOptions) -> ssl.SSLContext | None:
    """What the node shows and asks of senders; None without TLS. Raises UsageError: a file that
    cannot be used."""
    if options.tls_cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _show(context, options)
    if options.tls_client_ca is not None:
        _trust(context, options.tls_client_ca, "--tls-client-ca")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def of_archive(options: NodeOptions, ca: Path | None) -> ssl.SSLContext:
    """What is asked of an archive, whose name is verified too; the node's certificate is shown to
    one that asks. Raises UsageError: a file that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which verifies names and certificates
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca is None:
        context.load_default_certs()
    else:
        _trust(context, ca, "--forward-ca")
    if options.tls_cert is not None:
        _show(context, options)
    return context


def _show(context: ssl.SSLContext, options: NodeOptions) -> None:
    assert options.tls_cert is not None
    try:
        # Nobody is there to be asked for a passphrase.
        context.load_cert_chain(options.tls_cert, options.tls_key, password=lambda: b"")
    except (OSError, ValueError):
        raise UsageError(
            "--tls-cert and --tls-key must be PEM files of a certificate and its own key, which "
            "has no passphrase"
        ) from None


def _trust(context: ssl.SSLContext, ca: Path, option: str) -> None:
    try:
        context.load_verify_locations(ca)
    except (OSError, ValueError):
        raise UsageError(f"{option} must be a PEM file of certificates") from None
