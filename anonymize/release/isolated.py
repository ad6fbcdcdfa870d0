"""What workers do: files of strangers in, plain values out. Pure; no file is read or written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anonymize.release import formats, read, strings, verification, write
from anonymize.release.burned_in import policy
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.burned_in.policy import TextReport
from anonymize.release.read import Radiograph
from anonymize.release.reasons import Reason, Refused

if TYPE_CHECKING:
    from anonymize.release.dicom.deidentify import Deidentifier

verify = verification.verify


@dataclass(frozen=True)
class Decoded:
    """A radiograph, and the words in its file that must not be found in another one."""

    radiograph: Radiograph
    words: frozenset[bytes]
    text: TextReport | None = None


def decode(
    name: str,
    data: bytes,
    deidentifier: Deidentifier | None = None,
    text: TextOptions = TextOptions(),  # noqa: B008 (frozen)
) -> Decoded:
    """The radiograph in ``data``, a file called ``name``; ``deidentifier`` is for DICOM.

    Text that is burned into it is removed, if ``text`` says so.

    Raises:
        Refused: it holds none that could be released.
    """
    format = formats.recognise(name, data)
    radiograph = read.decode(format, data, deidentifier)
    if radiograph.blank:
        raise Refused(Reason.NO_CONTENT)
    report = None
    if text.looks:
        radiograph, report = policy.clean(radiograph, text)
    if radiograph.source is not None:
        if report is not None:
            source = replace(radiograph.source, text_method=report.method)
            radiograph = replace(radiograph, source=source)
        radiograph.source.check()
        telling = radiograph.source.identifiers
        if deidentifier.names_kept and telling.found_in(name):
            raise Refused(Reason.IDENTIFYING_NAME)
        return Decoded(radiograph, telling.words_of(name), report)
    return Decoded(radiograph, strings.of_name(name) | strings.of_file(format, data), report)


def encode(radiograph: Radiograph) -> bytes:
    """A file of what is nearest to ``radiograph``."""
    return write.encode(write.representable(radiograph))
