"""Objects below ``s3://BUCKET/PREFIX`` (S3, or what speaks it), read and written as files are.

By s3fs (fsspec's S3; extra ``s3``), with one request for an object: it is read and written whole,
or not at all. Credentials and the server's address are those of AWS's own tools (``AWS_PROFILE``,
``AWS_ENDPOINT_URL`` …); none is taken from an address, and no error quotes what a server says.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from anonymize.errors import UsageError
from anonymize.release.archives import Found, is_no_path
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.reasons import Reason, Refused
from anonymize.release.storage import HEAD, Partial, StorageError, device_errors, write_whole
from anonymize.release.workers.worker_pool import Limits, WorkerPool

ADDRESS = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*))?", re.DOTALL)
MISSING = "s3:// needs s3fs: pip install 'anonymize-cxr[s3]'"
AT_ONCE = 8  # objects that are on the way
PAUSES = (0.5, 2.0, 8.0)  # seconds before what broke off is read again
SECONDS = {"connect_timeout": 15, "read_timeout": 60}
LASTING = 900.0  # seconds for an object or a page, tries included: a server may drip for ever


class StoreError(StorageError):
    """The store does not answer, or no longer lets us; the same command goes on later."""

    what = "the object storage cannot be used"
    way_out = (
        "see that it answers and lets you list, read and write there, and the same command goes on"
    )


class State(NamedTuple):
    """Of an object: bytes, and when it was written."""

    st_size: int
    st_mtime_ns: int


@dataclass(frozen=True)
class Held:
    """An object of a listing: bytes, and what tells its content from another (ETag)."""

    size: int
    tag: str


@dataclass(frozen=True)
class Objects:
    """What lies below an address, by paths relative to it."""

    bucket: str
    prefix: str  # empty, or ends with "/"

    @classmethod
    def at(cls, address: str, name: str) -> Objects:
        """Raises UsageError for an address of another form, which is not repeated: it may hold a
        password."""
        found = ADDRESS.fullmatch(address)
        folder = (found[2] or "").removesuffix("/") if found else ""
        if found is None or not folder.isprintable() or (folder and is_no_path(folder)):
            raise UsageError(
                f"{name} must be a folder, or s3://BUCKET/PREFIX without user or empty part"
            )
        require()
        return cls(found[1], f"{folder}/" if folder else "")

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".removesuffix("/")

    def overlaps(self, other: Objects) -> bool:
        """True where one lies in the other."""
        inside = self.prefix.startswith(other.prefix) or other.prefix.startswith(self.prefix)
        return self.bucket == other.bucket and inside

    def check(self, name: str) -> bool:
        """True where there is an object. Raises UsageError where the bucket cannot be listed."""
        try:
            return next(self.listing(), None) is not None
        except StoreError as error:
            raise UsageError(
                f"{name} cannot be listed ({error}); check the bucket's name, your credentials and "
                "AWS_ENDPOINT_URL"
            ) from None

    def listing(self) -> Iterator[tuple[str, Held]]:
        """Path and state of each object, in the order of the keys; a thousand in memory at once."""
        more: dict[str, str] = {}
        while True:
            with _store_errors():
                page = self._call("list_objects_v2", Prefix=self.prefix, **more)
            for found in page.get("Contents", ()):
                path = found["Key"][len(self.prefix) :]
                if path or found["Size"]:  # else what marks the folder itself
                    yield path, Held(found["Size"], found["ETag"])
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def walk(self) -> Iterator[Found]:
        """As :func:`listing.walk`; keys that are no paths of files, and archives, are refused."""
        for path, held in self.listing():
            if path.endswith("/") and not held.size:  # marks a folder
                continue
            if is_no_path(path):
                yield Found(path, Reason.UNREADABLE, "a key that is no path of a file")
            elif path.lower().endswith(".zip"):
                yield Found(path, Reason.ARCHIVE, "in an object storage; unpack it there")
            else:
                yield Found(path)

    @contextmanager
    def fetched(self) -> Iterator[Path]:
        """A temporary folder of all objects, as files of a release.

        Raises:
            UsageError: keys that are no paths of files, or what cannot be a release's.
            StorageError: there is no room, or the store does not answer.
        """

        def fetch(path: str) -> None:
            if is_no_path(path):
                raise Refused(Reason.UNREADABLE, "a key that is no path of a file")
            write_whole(Path(folder, path), self.read(path)[0])

        with tempfile.TemporaryDirectory() as folder:
            calls = (partial(fetch, path) for path, _ in self.listing())
            with WorkerPool(AT_ONCE, Limits()) as threads, device_errors():
                try:
                    deque(threads.in_order(calls, window=AT_ONCE), maxlen=0)
                except Refused as refusal:
                    raise UsageError(f"OUT holds what no release does: {refusal}") from None
                except (FileExistsError, IsADirectoryError, NotADirectoryError):
                    raise UsageError(
                        "OUT holds what no release does: an object in another"
                    ) from None
            yield Path(folder)

    def read(self, path: str) -> tuple[bytes, State]:
        """An object, as it was at one moment.

        Raises:
            Partial: it is larger than is read.
            Refused: it is gone, or may not be read though others are listed.
            StoreError: the store does not answer.
        """
        from fsspec.asyn import sync

        try:
            for pause in (*PAUSES, None):
                try:
                    with _store_errors():
                        return sync(self._store.loop, self._get, path, timeout=LASTING)
                except (AbsentError, DeniedError):
                    raise
                except StoreError:
                    if pause is None:
                        raise
                    time.sleep(pause)
        except (AbsentError, DeniedError) as error:
            next(self.listing(), None)  # raises where it is the bucket, or all that is in it
            gone = isinstance(error, AbsentError)
            reason = Reason.VANISHED if gone else Reason.UNREADABLE
            raise Refused(reason, "" if gone else "the store does not let it be read") from None
        raise AssertionError("returned or raised")

    def write(self, path: str, data: bytes) -> str:
        """Writes an object whole, and reads it back; its ETag. Raises StoreError."""
        with _store_errors():
            tag = self._call("put_object", Key=self.prefix + path, Body=data)["ETag"]
        try:
            again = self.read(path)[0]
        except Refused as refusal:
            raise StoreError(f"what was written is not there: {refusal.reason.value}") from None
        if again != data:
            raise StoreError("what was written is read back as something else")
        return tag

    def remove(self, path: str) -> None:
        """Removes an object, where it is. Raises StoreError."""
        with _store_errors():
            self._call("delete_object", Key=self.prefix + path)

    def _call(self, method: str, **wanted: Any) -> Any:
        return self._store.call_s3(method, timeout=LASTING, Bucket=self.bucket, **wanted)

    async def _get(self, path: str) -> tuple[bytes, State]:
        found = await self._store._call_s3("get_object", Bucket=self.bucket, Key=self.prefix + path)
        size = found["ContentLength"]
        async with found["Body"] as body:
            if size > MAX_BYTES:
                raise Partial(Reason.TOO_LARGE, await _beginning(body))
            data = await body.read()
        if len(data) != size:
            raise OSError("broken off")
        return data, State(size, int(found["LastModified"].timestamp() * 1e9))

    @cached_property
    def _store(self) -> Any:
        import s3fs

        return s3fs.S3FileSystem(use_listings_cache=False, config_kwargs=SECONDS)


class AbsentError(StoreError):
    """There is no such bucket, or no such object."""


class DeniedError(StoreError):
    """The store does not let us."""


def require() -> None:
    """Raises UsageError where s3fs is not installed."""
    if find_spec("s3fs") is None:
        raise UsageError(MISSING)


@contextmanager
def _store_errors() -> Iterator[None]:
    """Turns whatever s3fs raises into a StoreError without a word of the server's."""
    try:
        yield
    except (Refused, StoreError):
        raise
    except FileNotFoundError:
        raise AbsentError("no such bucket or object") from None
    except PermissionError:
        raise DeniedError("no permission") from None
    except Exception as error:
        raise StoreError(type(error).__name__) from None


async def _beginning(body: Any) -> bytes:
    """The first bytes of an object, of which a call may give fewer than it is asked for."""
    data = b""
    while len(data) < HEAD and (more := await body.read(HEAD - len(data))):
        data += more
    return data
