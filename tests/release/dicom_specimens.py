"""Synthetic DICOM radiographs, complete enough for the validators, in every transfer syntax."""

import io
from copy import deepcopy

import imagecodecs
import numpy as np
import pydicom
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.uid import UID
from release_specimens import scene

from anonymize.release import decode, encode
from anonymize.release.dicom import scan
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.dicom.options import DicomOptions

EXPLICIT, IMPLICIT = "1.2.840.10008.1.2.1", "1.2.840.10008.1.2"
DEFLATED, BIG_ENDIAN = "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2"
BASELINE, EXTENDED = "1.2.840.10008.1.2.4.50", "1.2.840.10008.1.2.4.51"
LOSSLESS, LOSSLESS_FIRST = "1.2.840.10008.1.2.4.57", "1.2.840.10008.1.2.4.70"
JPEG_LS, NEAR_LOSSLESS = "1.2.840.10008.1.2.4.80", "1.2.840.10008.1.2.4.81"
JPEG_2000, JPEG_2000_LOSSY = "1.2.840.10008.1.2.4.90", "1.2.840.10008.1.2.4.91"
RLE = "1.2.840.10008.1.2.5"
CR, DX = "1.2.840.10008.5.1.4.1.1.1", "1.2.840.10008.5.1.4.1.1.1.1"
SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"
ROOT = "1.2.826.0.1.3680043.8.498."
UIDS = {k: f"{ROOT}{n}" for n, k in enumerate(("study", "series", "instance", "frame"), 11)}
SECRET = bytes(range(32))


def code(value, scheme, meaning):
    made = Dataset()
    made.CodeValue, made.CodingSchemeDesignator, made.CodeMeaning = value, scheme, meaning
    return made


def patient(made):
    """Modules that every image has, with identifiers of a person that there is not."""
    made.SpecificCharacterSet = "ISO_IR 100"
    made.PatientName, made.PatientID = "Müller^Josefine", "PID-4711-77"
    made.PatientBirthDate, made.PatientSex, made.PatientAge = "19481224", "F", "072Y"
    made.StudyInstanceUID, made.SeriesInstanceUID = UIDS["study"], UIDS["series"]
    made.SOPInstanceUID = UIDS["instance"]
    made.StudyDate, made.StudyTime = "20210305", "101112.345"
    made.SeriesDate, made.SeriesTime = "20210305", "101213"
    made.AcquisitionDate, made.AcquisitionTime = "20210305", "101400"
    made.ContentDate, made.ContentTime = "20210306", "101500"
    made.AccessionNumber, made.StudyID = "ACC778899", "ST5566"
    made.ReferringPhysicianName = "Huber^Alois"
    made.StudyDescription = "Thorax pa, Fr. Müller"
    made.InstitutionName = "Klinik am Waldrand"
    made.Manufacturer, made.ManufacturerModelName = "Siemens Healthineers", "Ysio Max 8812"
    made.DeviceSerialNumber, made.StationName = "SN-99812", "ROENTGEN3"
    made.SeriesNumber, made.InstanceNumber, made.AcquisitionNumber = 2, 1, 1
    made.BodyPartExamined, made.PatientOrientation = "CHEST", ["L", "F"]
    return made


def cr():
    made = patient(Dataset())
    made.SOPClassUID, made.Modality = CR, "CR"
    made.ImageType = ["ORIGINAL", "PRIMARY"]
    made.ViewPosition, made.Laterality = "PA", ""
    made.KVP, made.ImagerPixelSpacing = "117", [0.143, 0.143]
    made.PlateID, made.CassetteOrientation = "PLATE77", "PORTRAIT"
    return made


def dx():
    made = patient(Dataset())
    made.SOPClassUID, made.Modality = DX, "DX"
    made.ImageType = ["ORIGINAL", "PRIMARY"]
    made.PresentationIntentType, made.BurnedInAnnotation = "FOR PRESENTATION", "NO"
    made.ImageLaterality, made.ViewPosition = "U", "PA"
    made.AnatomicRegionSequence = [code("T-D3000", "SRT", "Chest")]
    made.ViewCodeSequence = [code("R-10214", "SRT", "postero-anterior")]
    made.ViewCodeSequence[0].ViewModifierCodeSequence = []
    made.AcquisitionContextSequence = []
    made.DetectorType, made.DetectorID = "DIRECT", "DET-33-01"
    made.PositionerType, made.ImagerPixelSpacing = "COLUMN", [0.139, 0.139]
    made.PixelSpacing = [0.125, 0.125]
    made.PixelIntensityRelationship, made.PixelIntensityRelationshipSign = "LOG", -1
    made.RescaleIntercept, made.RescaleSlope, made.RescaleType = 0, 1, "US"
    made.PresentationLUTShape, made.LossyImageCompression = "IDENTITY", "00"
    made.WindowCenter, made.WindowWidth = [2048, 1000], [4096, 900]
    made.WindowCenterWidthExplanation = ["NORMAL", "Dr Huber"]
    made.KVP, made.ExposureInuAs, made.DistanceSourceToDetector = "125", "1830", "1800"
    made.ExposureIndex, made.DeviationIndex = "330", "-1.2"
    made.CollimatorShape = "RECTANGULAR"
    made.CollimatorLeftVerticalEdge, made.CollimatorRightVerticalEdge = 1, 51
    made.CollimatorUpperHorizontalEdge, made.CollimatorLowerHorizontalEdge = 1, 39
    return made


def capture():
    made = patient(Dataset())
    made.SOPClassUID, made.Modality = SECONDARY_CAPTURE, "OT"
    made.ImageType, made.ConversionType = ["DERIVED", "SECONDARY"], "WSD"
    made.SecondaryCaptureDeviceID, made.NominalScannedPixelSpacing = "SCAN-5", [0.2, 0.25]
    return made


def with_pixels(made, values, *, bits=None, photometric="MONOCHROME2", signed=False, **header):
    """Uncompressed ``values`` (H, W) or (H, W, 3), stored as they are, and what a header says."""
    values = np.asarray(values)
    made.Rows, made.Columns = values.shape[:2]
    made.SamplesPerPixel = 1 if values.ndim == 2 else 3
    made.PhotometricInterpretation = photometric
    made.BitsAllocated = 8 * values.itemsize
    made.BitsStored = bits or 8 * values.itemsize
    made.HighBit, made.PixelRepresentation = made.BitsStored - 1, int(signed)
    if values.ndim == 3:
        made.PlanarConfiguration = 0
    data = values.astype(values.dtype.newbyteorder("<")).tobytes()
    made.add_new(0x7FE00010, "OW" if values.itemsize == 2 else "OB", data + b"\0" * (len(data) % 2))
    for keyword, value in header.items():
        setattr(made, keyword, value)
    return made


def padding(value=None, limit=None):
    """What a header says of padding, for ``with_pixels``; ``limit``: of values up to this one."""
    said = {"PixelPaddingValue": value, "PixelPaddingRangeLimit": limit}
    return {keyword: v for keyword, v in said.items() if v is not None}


def changed(make=dx, **header):
    """A radiograph of 12 bits with other values in its header."""
    return with_pixels(make(), picture(), bits=12, **header)


def lut(entries, bits, *, first=0, vr="OW"):
    """An item of a look-up table for the values from ``first`` on."""
    entries = np.asarray(entries, "<u2")
    made = Dataset()
    made.add_new(0x00283002, "US", [len(entries) % 65536, first, bits])
    made.add_new(0x00283006, vr, entries.tobytes() if vr == "OW" else entries.tolist())
    return made


def picture(bits=12, signed=False, size=(40, 52)):
    """A scene of this depth."""
    top = (1 << bits) - 1
    values = scene(top, size=size, dtype=np.int64)
    if signed:
        return (values - (1 << (bits - 1))).astype(np.int8 if bits == 8 else np.int16)
    return values.astype(np.uint8 if bits == 8 else np.uint16)


def compressed(made, syntax):
    """The same data set with its pixels in another transfer syntax."""
    if syntax in (EXPLICIT, IMPLICIT, DEFLATED):  # not one element is changed
        return Dataset(dict(made.items()))
    made = deepcopy(made)
    if syntax == BIG_ENDIAN:
        return made
    kind = np.dtype(f"{'i' if made.PixelRepresentation else 'u'}{made.BitsAllocated // 8}")
    shape = (made.Rows, made.Columns, made.SamplesPerPixel)
    values = np.frombuffer(made.PixelData, kind, int(np.prod(shape))).reshape(shape)
    values = values[..., 0] if shape[2] == 1 else values
    if syntax in (BASELINE, EXTENDED):
        colour = shape[2] == 3
        if colour:
            made.PhotometricInterpretation = "YBR_FULL_422"
        data = imagecodecs.jpeg8_encode(values, level=90, bitspersample=made.BitsStored)
    elif syntax in (LOSSLESS, LOSSLESS_FIRST):
        data = imagecodecs.jpeg8_encode(
            values.view(f"u{kind.itemsize}"),
            lossless=True,
            predictor=1 if syntax == LOSSLESS_FIRST else 4,
            bitspersample=int(made.BitsStored),
        )
    elif syntax == JPEG_2000_LOSSY:
        data = imagecodecs.jpeg2k_encode(values, level=60, codecformat="j2k", reversible=False)
    else:
        plugin = {RLE: "pydicom", JPEG_2000: "pylibjpeg"}.get(syntax, "pyjpegls")
        options = {"encoding_plugin": plugin, "generate_instance_uid": False}
        options |= {"jls_error": 2} if syntax == NEAR_LOSSLESS else {}
        made.compress(UID(syntax), values, **options)
        return made
    made.add_new(0x7FE00010, "OB", encapsulate([data]))
    made["PixelData"].is_undefined_length = True
    return made


def file(made, syntax=EXPLICIT):
    """The file of a data set with uncompressed pixels."""
    return written(compressed(made, syntax), syntax)


def written(made, syntax):
    """The file of a data set whose pixels are in ``syntax`` already."""
    if syntax == BIG_ENDIAN and made.BitsAllocated == 16:
        made.PixelData = np.frombuffer(made.PixelData, "<u2").astype(">u2").tobytes()
    made.preamble = bytes(128)
    made.file_meta = FileMetaDataset()
    made.file_meta.MediaStorageSOPClassUID = made.get("SOPClassUID", CR)
    made.file_meta.MediaStorageSOPInstanceUID = made.get("SOPInstanceUID") or UIDS["instance"]
    made.file_meta.TransferSyntaxUID = UID(syntax)
    made.file_meta.ImplementationClassUID = ROOT + "99"
    made.file_meta.SourceApplicationEntityTitle = "WALDRAND_PACS"
    return saved(made)


def saved(made, *, enforced=True):
    """The file of a data set that has its meta information; ``enforced``: all of it."""
    stream = io.BytesIO()
    pydicom.dcmwrite(stream, made, enforce_file_format=enforced)
    return stream.getvalue()


def opened(data):
    """A finished file, read by pydicom."""
    return pydicom.dcmread(io.BytesIO(data))


def rules(secret=SECRET, **options):
    """How headers are de-identified, under options of :class:`DicomOptions`."""
    return Deidentifier(secret, DicomOptions(**options))


def taken(made, syntax=EXPLICIT, **options):
    """The radiograph that a worker makes of a data set or a file; ``options`` as of ``rules``."""
    data = made if isinstance(made, bytes) else file(made, syntax)
    return decode.picture("DICOM", data, rules(**options))


def released(made, **options):
    """The file that a release makes of a data set or a file, unmoved; it passes the scan."""
    return checked(taken(made, **options))


def again_of(made, *retain, **options):
    """What of a header is released, under options of ``rules``."""
    return opened(released(made, retain=frozenset(retain), **options))


def checked(radiograph):
    """The file of a radiograph, which passes the scan."""
    data = encode.encode(radiograph)
    scan.check(data)
    return data
