"""Secrets in files: read with care, told apart by an id that does not tell them."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from pathlib import Path

from anonymize.errors import UsageError

SECRET_BYTES = 32


def read_secret(
    file: Path, option: str, *, private: bool, least: int = SECRET_BYTES
) -> bytes | None:
    """The whole content of ``file``; None where there is no such file.

    Args:
        option: what the user calls the file, for the errors; they do not hold its path.
        private: refuse a file that the group or others may read or write. (Where permissions are
            not POSIX modes, nothing is known about them and nothing refused.)
        least: bytes that it must hold.

    Raises:
        UsageError: no regular file, not readable, shorter than ``least`` or not private.
    """
    try:
        # A FIFO would wait for its writer.
        with open(file, "rb", opener=lambda p, f: os.open(p, f | _NO_WAITING)) as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise UsageError(f"{option} must be a regular file")
            secret = stream.read()
    except FileNotFoundError:
        return None
    except OSError:
        raise UsageError(f"{option} cannot be read; name a file of yours") from None
    if len(secret) < least:
        raise UsageError(f"{option} must hold at least {least} bytes, got {len(secret)}")
    if private and os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(
            f"{option} must be a file that nobody but you may read or write; chmod 600 it, and "
            "make a new secret if somebody may have read it"
        )
    return secret


def key_id(secret: bytes) -> str:
    """16 hexadecimal digits that tell secrets apart without telling them (HMAC-SHA256)."""
    return hmac.new(secret, b"anonymize key id", hashlib.sha256).hexdigest()[:16]


def without_key_files(text: str) -> str:
    """``text``, one argument of a command, without the path behind ``key_file=``."""
    return re.sub(r"(\bkey_file\s*=)[^,]*", r"\1…", text)


_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
