"""A line that only its two ends can read, through others who store and forward what is sent.

Each end has a new X25519 key (RFC 7748); HKDF-SHA256 (RFC 5869) makes one key for each direction
of what they share, and pieces are AES-256-GCM, numbered. It keeps out who reads, not who stands
between the two from the beginning and speaks for either.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PIECE = 1 << 30  # bytes; what AES-GCM takes at once ends at 2^31
NAME = b"anonymize worker line 1"
Pieces = list[bytes]


class LineError(Exception):
    """What came is not the next message of the other end."""


class Offer:
    """One end, before it knows the other: ``public`` is for that one."""

    def __init__(self) -> None:
        self._key = X25519PrivateKey.generate()
        self.public = self._key.public_key().public_bytes_raw()

    def line(self, theirs: bytes, *, asks: bool) -> PrivateLine:
        """The line to the end whose ``public`` is ``theirs``; ``asks`` is True at one end. Raises
        LineError: it is no key."""
        both = (self.public, theirs) if asks else (theirs, self.public)
        try:
            shared = self._key.exchange(X25519PublicKey.from_public_bytes(theirs))
        except ValueError:
            raise LineError from None
        keys = HKDF(SHA256(), 64, None, NAME + b"".join(both)).derive(shared)
        questions, answers = AESGCM(keys[:32]), AESGCM(keys[32:])
        return PrivateLine(questions, answers) if asks else PrivateLine(answers, questions)


class PrivateLine:
    """Messages of several parts (bytes), each locked and unlocked once, in their order."""

    def __init__(self, out: AESGCM, back: AESGCM) -> None:
        self._out, self._back = out, back
        self._sent = self._got = 0

    def locked(self, parts: Sequence[bytes | bytearray | memoryview]) -> Pieces:
        """A message for the other end: the sizes of its parts, and these in pieces."""
        sizes = struct.pack(f"<{len(parts)}Q", *map(len, parts))
        pieces = [sizes, *(p[at : at + PIECE] for p in parts for at in range(0, len(p), PIECE))]
        first, self._sent = self._sent, self._sent + len(pieces)
        return [self._out.encrypt(_nonce(n), p, None) for n, p in enumerate(pieces, first)]

    def unlocked(self, pieces: Pieces) -> list[bytearray]:
        """The parts of the other end's message. Raises LineError: it is not whole, not the next, or
        was changed."""
        try:
            numbered = enumerate(pieces, self._got)
            opened = iter([self._back.decrypt(_nonce(n), p, None) for n, p in numbered])
            sizes = struct.iter_unpack("<Q", next(opened))
            parts = [_joined(opened, size) for (size,) in sizes]
        except (StopIteration, InvalidTag, struct.error):
            raise LineError from None
        if next(opened, None) is not None:
            raise LineError
        self._got += len(pieces)
        return parts


def _joined(pieces: Iterator[bytes], size: int) -> bytearray:
    """A part of ``size`` bytes; StopIteration where there are fewer."""
    part = bytearray()
    while len(part) < size:
        part += next(pieces)
    return part


def _nonce(number: int) -> bytes:
    return number.to_bytes(12)
