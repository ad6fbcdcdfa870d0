"""A certificate authority of an afternoon, and certificates of it."""

import ipaddress
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM = serialization.Encoding.PEM
LOCAL = x509.SubjectAlternativeName(
    [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
)


def authority(folder, name="ca"):
    """``issue(name)`` → paths of a certificate and its key; ``file``: that of the CA itself."""
    key, issued_by = ec.generate_private_key(ec.SECP256R1()), named(name)
    own = build(issued_by, issued_by, key.public_key(), key, ca=True)
    file = written(folder / f"{name}.pem", own)

    def issue(peer):
        theirs = ec.generate_private_key(ec.SECP256R1())
        made = build(named(peer), issued_by, theirs.public_key(), key, ca=False)
        plain = serialization.NoEncryption(), serialization.PrivateFormat.PKCS8
        private = folder / f"{peer}.key"
        private.write_bytes(theirs.private_bytes(PEM, plain[1], plain[0]))
        return written(folder / f"{peer}.pem", made), private

    return SimpleNamespace(issue=issue, file=file)


def named(name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def build(subject, issuer, public, key, *, ca):
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    return (made if ca else made.add_extension(LOCAL, critical=False)).sign(key, hashes.SHA256())


def written(path, certificate):
    path.write_bytes(certificate.public_bytes(PEM))
    return path
