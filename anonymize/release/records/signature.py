"""Who made a release: an Ed25519 signature (RFC 8032) of its manifests, which hold the sha256 of
every file. The key follows from the secret of the release, and is the same for every batch of it.
"""

import hmac
from collections.abc import Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

PUBLIC = ".pub"  # behind the name of the secret's file
LENGTH = 129  # of a signature: 64 bytes in hexadecimal digits, and the end of the line


def sign(tables: Mapping[str, str], secret: bytes) -> bytes:
    """The signature of ``tables``, the sha256 of each by its path, a line of hexadecimal digits."""
    return _key(secret).sign(_message(tables)).hex().encode() + b"\n"


def public_key(secret: bytes) -> bytes:
    """The key that :func:`holds` asks for, PEM."""
    key = _key(secret).public_key()
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def holds(signature: bytes, tables: Mapping[str, str], key: bytes) -> bool:
    """Whether ``signature`` is one of ``tables`` by the key whose public half is ``key`` (PEM).
    Raises ValueError: ``key`` is no Ed25519 public key."""
    try:
        loaded = load_pem_public_key(key)
    except Exception as error:  # whatever the parser says of a stranger's file
        raise ValueError("no public key") from error
    if not isinstance(loaded, Ed25519PublicKey):
        raise ValueError("a public key of another kind")
    try:
        digits = bytes.fromhex(signature.decode())
        loaded.verify(digits, _message(tables))
    except (InvalidSignature, ValueError):
        return False
    return signature == digits.hex().encode() + b"\n"


def _key(secret: bytes) -> Ed25519PrivateKey:
    seed = hmac.digest(secret, b"anonymize release signature", "sha256")
    return Ed25519PrivateKey.from_private_bytes(seed)


def _message(tables: Mapping[str, str]) -> bytes:
    lines = [f"{path} {tables[path]}\n" for path in sorted(tables)]
    return "".join(["anonymize-cxr release 1\n", *lines]).encode()
