"""Secrets in files: read with care, told apart by an id that does not tell them."""

import hashlib
import hmac
import os
import re
import stat
from pathlib import Path

from anonymize import whole_file
from anonymize.errors import UsageError

SECRET_BYTES = 32
LARGEST = 4096  # bytes of a key file; any of random bytes, hexadecimal, Base64, words is smaller
DISTINCT = 8  # different bytes of a key; 32 random ones have about 30, 64 hexadecimal digits 16
# Beginnings of pictures, documents and archives, of files too large for a key of random bytes.
KNOWN = re.compile(
    rb"(?s).{128}DICM|\x89PNG|\xff\xd8\xff|II[*+]\0|MM\0[*+]|GIF8|RIFF|BM|\0\0\0\x0cj[Pp]  "
    rb"|\xff\x4f\xff\x51|%PDF|8BPS|PK\x03\x04|\x1f\x8b|Rar!|7z\xbc\xaf|\x89HDF|\x7fELF"
    rb"|\s*<[?!a-zA-Z]|[\x02\x08]\0.\0[A-Z]{2}"
)
RANDOM = 64  # bytes of a key whose beginning says nothing


def read_secret(
    file: Path, option: str, *, private: bool, least: int = SECRET_BYTES
) -> bytes | None:
    """The whole content of ``file``; None where there is no such file.

    Args:
        option: what the user calls the file, for the errors; they do not hold its path.
        private: refuse a file that the group or others may read or write. (Where permissions are
            not POSIX modes, nothing is known about them and nothing refused.)
        least: bytes that it must hold; one of ``SECRET_BYTES`` or more must be fit for a key.

    Raises:
        UsageError: no regular file, not readable, shorter than ``least``, not private; or no key:
            a picture, document or archive, larger than ``LARGEST``, or the same few bytes.
    """
    try:
        # A FIFO would wait for its writer.
        with open(file, "rb", opener=lambda p, f: os.open(p, f | _NO_WAITING)) as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise UsageError(f"{option} must be a regular file")
            secret = stream.read(LARGEST + 1 if least >= SECRET_BYTES else -1)
    except FileNotFoundError:
        return None
    except OSError:
        raise UsageError(f"{option} cannot be read; name a file of yours") from None
    if len(secret) < least:
        raise UsageError(
            f"{option} must hold at least {least} bytes, got {len(secret)}; make one: "
            f"openssl rand -hex {least} > secret.key"
        )
    if least >= SECRET_BYTES:
        _check_key(secret, option)
    if private and os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(
            f"{option} must be a file that nobody but you may read or write; chmod 600 it, and "
            "make a new secret if somebody may have read it"
        )
    return secret


def made_secret(file: Path, option: str) -> bytes:
    """A new random secret in ``file``, mode 0600; that of another process which was faster.

    It is there whole and for good when this returns, or not at all: names and pseudonyms that are
    published follow from it, and a part of a key is none.

    Raises:
        UsageError: as :func:`read_secret`, of the other process's file.
        OSError: it cannot be written.
    """
    temporary = whole_file.write_temporary(file.parent, os.urandom(SECRET_BYTES), mode=0o600)
    try:
        _name(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
    whole_file.sync_folder(file.parent)
    secret = read_secret(file, option, private=False)
    assert secret is not None  # it is there
    return secret


def _name(temporary: Path, file: Path) -> None:
    """Gives a finished file its name, unless another one has it."""
    try:
        os.link(temporary, file)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not file.exists():
            temporary.rename(file)


def _check_key(secret: bytes, option: str) -> None:
    """Raises UsageError for what somebody else may have, or guess."""
    wrong = ""
    if len(secret) > RANDOM and KNOWN.match(secret):
        wrong = "a picture, document or archive, which is no secret"
    elif len(secret) > LARGEST:
        wrong = f"larger than {LARGEST:,} bytes"
    elif len(set(secret)) < DISTINCT:
        wrong = f"of fewer than {DISTINCT} different bytes, which can be guessed"
    if wrong:
        raise UsageError(
            f"{option} must be a secret, and is {wrong}; name one that does not exist yet, and it "
            "is made, or make one: (umask 077; head -c 32 /dev/urandom > FILE)"
        )


def key_id(secret: bytes) -> str:
    """16 hexadecimal digits that tell secrets apart without telling them (HMAC-SHA256)."""
    return hmac.new(secret, b"anonymize key id", hashlib.sha256).hexdigest()[:16]


def without_key_files(text: str) -> str:
    """``text``, one argument of a command, without the path behind ``key_file=``."""
    return re.sub(r"(\bkey_file\s*=)[^,]*", r"\1…", text)


_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
