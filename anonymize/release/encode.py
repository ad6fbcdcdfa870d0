"""A radiograph → the bytes of its file. Pure; done by a worker."""

from anonymize.release.dicom import write as dicom
from anonymize.release.radiograph import Radiograph
from anonymize.release.raster import write as raster


def encode(radiograph: Radiograph) -> bytes:
    """A file of what is nearest to ``radiograph``; the same pixels always give the same bytes.
    Raises Refused: a DICOM file of which it is not known whether text is burned in."""
    meant = raster.representable(radiograph)
    if meant.format == "DICOM":
        assert meant.source is not None  # every DICOM radiograph has one
        return dicom.encode(raster.stored_samples(meant), meant.source)
    return raster.encode(meant)
