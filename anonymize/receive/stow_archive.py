"""An archive that is called by DICOMweb's STOW-RS (PS3.18 10.5)."""

import json
import os
import ssl
import uuid
from pathlib import Path
from typing import Any

import httpx

from anonymize.errors import UsageError
from anonymize.key_files import read_secret
from anonymize.receive.archives import DeclinedError, UnreachableError

VARIABLE = "ANONYMIZE_FORWARD_CREDENTIALS"
OK, ACCEPTED = 200, 202
LONGEST_ANSWER = 1 << 20  # bytes; of one file it has some 500, and what is cut off cannot be read
FAILED = "00081198"  # Failed SOP Sequence
# This very file is at fault: bad request, conflict, too large, media type, not processable.
DECLINED = (400, 409, 413, 415, 422)


class StowArchive:
    """The service at ``url``; redirections are not followed, proxies not asked. Raises UsageError:
    no address."""

    def __init__(
        self, url: str, context: ssl.SSLContext, credentials: str | None, timeout: float
    ) -> None:
        # What is compressed could become any amount of memory.
        headers = {"Accept": "application/dicom+json", "Accept-Encoding": "identity"}
        if credentials is not None and credentials.startswith("Bearer "):
            headers["Authorization"] = credentials
            credentials = None
        user, _, password = (credentials or "").partition(":")
        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL:
            raise UsageError("--forward-to is no address that can be called") from None
        self._client = httpx.Client(
            verify=context,
            auth=(user, password) if credentials else None,
            headers=headers,
            timeout=timeout,
            trust_env=False,
        )

    def send(self, data: bytes) -> None:
        boundary = uuid.uuid4().hex
        kind = f'multipart/related; type="application/dicom"; boundary={boundary}'
        body = b"".join(
            [
                f"--{boundary}\r\nContent-Type: application/dicom\r\n\r\n".encode(),
                data,
                f"\r\n--{boundary}--\r\n".encode(),
            ]
        )
        headers, said = {"Content-Type": kind}, bytearray()
        try:
            with self._client.stream("POST", self._url, content=body, headers=headers) as answer:
                for part in answer.iter_raw():
                    said += part
                    if len(said) > LONGEST_ANSWER:
                        break
        except httpx.HTTPError as error:
            raise UnreachableError(type(error).__name__) from None
        if answer.status_code in DECLINED:
            raise DeclinedError(f"HTTP {answer.status_code}")
        if answer.status_code not in (OK, ACCEPTED):
            raise UnreachableError(f"HTTP {answer.status_code}")
        if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise UnreachableError(f"HTTP {answer.status_code}, encoded though nobody asked for it")
        _check(answer.status_code, said)

    def close(self) -> None:
        self._client.close()


def _check(status: int, said: bytearray) -> None:
    """Raises DeclinedError where the answer names a file that was not stored, or, to 202, which
    may mean that, cannot be read (PS3.18 10.5.3)."""
    try:
        content: Any = json.loads(said)
        failed = bool(content.get(FAILED, {}).get("Value"))
    except (ValueError, AttributeError, RecursionError):
        failed = status == ACCEPTED
    if failed:
        raise DeclinedError(f"HTTP {status}, and the file was not stored")


def read_credentials(file: Path | None) -> str | None:
    """``user:password`` or ``Bearer token`` of ``file``, or of the environment; None for neither.
    Raises UsageError: a file that others may read, or another content."""
    if file is None:
        where, secret = VARIABLE, os.environ.get(VARIABLE)
        if secret is None:
            return None
    else:
        where = "--forward-credentials"
        found = read_secret(file, where, private=True, least=1)
        if found is None:
            raise UsageError("--forward-credentials cannot be read; name a file of yours")
        secret = found.decode("utf-8", "replace").strip()
    plain = secret.isascii() and secret.isprintable()
    if not plain or not (secret.startswith("Bearer ") or ":" in secret):
        raise UsageError(f"{where} must hold one line: user:password, or Bearer and a token")
    return secret
