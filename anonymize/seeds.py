"""Seeds that derive from one another, so that every random choice repeats on its own."""

import hashlib


def derive_seed(*parts: object) -> int:
    """A 63-bit seed that any change of a part changes wholly."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
