"""What workers do: files of strangers in, plain values out. Pure; no file is read or written."""

from __future__ import annotations

from dataclasses import dataclass

from anonymize.release import formats, read, strings, verification, write
from anonymize.release.read import Radiograph
from anonymize.release.reasons import Reason, Refused

verify = verification.verify


@dataclass(frozen=True)
class Decoded:
    """A radiograph, and the words in its file that must not be found in another one."""

    radiograph: Radiograph
    words: frozenset[bytes]


def decode(name: str, data: bytes) -> Decoded:
    """The radiograph in ``data``, a file called ``name``.

    Raises:
        Refused: it holds none that could be released.
    """
    format = formats.recognise(name, data)
    radiograph = read.decode(format, data)
    if radiograph.blank:
        raise Refused(Reason.NO_CONTENT)
    return Decoded(radiograph, strings.of_name(name) | strings.of_file(format, data))


def encode(radiograph: Radiograph) -> bytes:
    """A file of what is nearest to ``radiograph``."""
    return write.encode(write.representable(radiograph))
