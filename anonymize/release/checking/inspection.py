"""One file of a finished release, looked at by a worker without its input, a key or a model."""

from anonymize.release import formats
from anonymize.release.checking import canonical
from anonymize.release.checking.reopen import Reopened, ReopenError, reopen
from anonymize.release.dicom import scan
from anonymize.release.raster import containers
from anonymize.release.reasons import ContainerError, Reason, Refused
from anonymize.release.uniform import Uniform


def image(
    name: str, data: bytes, uniform: Uniform | None = None, looked: bool | None = None
) -> None:
    """Raises Refused unless ``data`` is an image that a release may hold, one of ``uniform`` ones
    where it says that it does, in which text was ``looked`` for where its own header knows.

    It must be DICOM, PNG, JPEG or TIFF by its content, hold nothing that its allow-list does not
    name, be read by a second decoder, show something, and be written as this package writes it.
    """
    format = formats.recognise(name, data)
    seen = picture(format, data)
    if uniform is not None and (format, *seen.pixels.shape[:2]) != uniform.shape:
        raise Refused(Reason.VERIFICATION, "another format or size than the certificate says")
    if format == "DICOM" and looked not in (None, scan.looked_for_text(data)):
        raise Refused(Reason.VERIFICATION, "the manifest says otherwise of a look for text")
    try:
        canonical.check(format, data)
    except (ContainerError, Refused) as error:
        raise Refused(Reason.VERIFICATION, str(error)) from None


def picture(format: str, data: bytes) -> Reopened:
    """What a second decoder sees in ``data``, a file of ``format`` that a release may hold.

    Raises Refused: anything in it that its allow-list does not name, another decoder fails, or
    nothing is to be seen: a warp may have moved all that there was out of the picture."""
    try:
        if format == "DICOM":
            scan.check(data)
        else:
            containers.check(format, data)
        seen = reopen(format, data)
    except (ContainerError, ReopenError) as error:
        raise Refused(Reason.VERIFICATION, str(error)) from None
    if seen.blank:
        raise Refused(Reason.NO_CONTENT)
    return seen
