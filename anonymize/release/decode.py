"""A file of a stranger → a radiograph that may be released. Pure; done by a worker."""

from dataclasses import dataclass, replace

import numpy as np

from anonymize.release import encode, formats, strings
from anonymize.release.burned_in.options import TextOptions, TextReport
from anonymize.release.dicom import paths
from anonymize.release.dicom import read as dicom
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.dicom.identifiers import Identifiers
from anonymize.release.dicom.pseudonyms import Pseudonyms
from anonymize.release.dicom.write import Outline
from anonymize.release.radiograph import Radiograph
from anonymize.release.raster import read as raster
from anonymize.release.reasons import Reason, Refused
from anonymize.release.uniform import Uniform, made_uniform


@dataclass(frozen=True)
class Decoded:
    """A radiograph, and the words in its file that must not be found in another one; the pseudonym
    of the patient that its header names, "" where it names none."""

    radiograph: Radiograph
    words: frozenset[bytes]
    text: TextReport | None = None
    sheet: bytes | None = None  # PNG: before and after the removal of text; private
    patient: str = ""


def decode(
    name: str,
    data: bytes,
    deidentifier: Deidentifier | None = None,
    text: TextOptions = TextOptions(),  # noqa: B008 (frozen)
    uniform: Uniform | None = None,
    instance: str = "",
) -> Decoded:
    """The radiograph in ``data``, a file called ``name``; ``deidentifier`` is for DICOM.

    Text that is burned into it is removed, if ``text`` says so; it is as all are, if there is a
    ``uniform``. It must have the SOP Instance UID ``instance``, if there is one.

    Raises Refused: it holds none that could be released."""
    radiograph = picture(name, data, deidentifier)
    if instance and deidentifier is not None and radiograph.source is not None:
        _check_instance(instance, radiograph.source, deidentifier)
    if radiograph.blank:
        raise Refused(Reason.NO_CONTENT)
    report = sheet = None
    if text.looks:
        from anonymize.release.burned_in import policy  # with the OCR

        seen = radiograph
        radiograph, report = policy.clean(seen, text)
        sheet = policy.sheet(seen, radiograph, report) if report.regions else None
    source = radiograph.source
    if source is None:
        words = strings.of_name(name) | strings.of_file(radiograph.format, data)
    else:
        said(source, report).check()
        telling = source.identifiers
        words = telling.words_of(name)
        kept = deidentifier is not None and deidentifier.names_kept
        if kept and (part := _telling_part(name, telling, data)):
            raise Refused(Reason.IDENTIFYING_NAME, part)
    if uniform is not None:
        radiograph = made_uniform(radiograph, uniform, name, deidentifier)
        if source is None and radiograph.format == "DICOM":
            blank = encode.encode(radiograph.with_pixels(np.zeros_like(radiograph.pixels)))
            words = frozenset(word for word in words if word not in blank)  # our own words
    if radiograph.source is not None:
        radiograph = replace(radiograph, source=said(radiograph.source, report))
    return Decoded(radiograph, words, report, sheet, "" if source is None else source.patient)


def _check_instance(instance: str, source: Outline, deidentifier: Deidentifier) -> None:
    """Raises Refused where the file has another SOP Instance UID."""
    if source.header.SOPInstanceUID != Pseudonyms(deidentifier.secret).uid(instance):
        raise Refused(Reason.INSTANCE, "another one in its header")


def _telling_part(path: str, identifiers: Identifiers, data: bytes) -> str:
    """The first folder of a path that tells, with those above it, else its name; "" if neither."""

    def tells(text: str) -> bool:
        return identifiers.found_in(text) or paths.tell([text], data)

    if not tells(path):
        return ""
    above = (k for k in range(1, path.count("/") + 1) if tells("/".join(path.split("/")[:k])))
    return "name" if (k := next(above, None)) is None else f"folder {k}"


def said(source: Outline, report: TextReport | None) -> Outline:
    """``source`` with what was done about text."""
    if report is None:
        return source
    return replace(source, text_method=report.method, text_removed=report.regions > 0)


def picture(name: str, data: bytes, deidentifier: Deidentifier | None = None) -> Radiograph:
    """The radiograph in ``data``, a file called ``name``, as it is; its content says of what kind.

    Raises Refused: no image, damaged, several pictures, too large or small, or pixels that could
    not be written back at their own depth."""
    format = formats.recognise(name, data)
    if format == "DICOM":
        return dicom.decode(data, deidentifier)
    return raster.decode(format, data)
