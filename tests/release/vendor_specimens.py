"""Radiographs as vendors' devices write them, built from what their conformance statements list.

Names of attributes, pixel formats, tables and private blocks are those of the devices; patients,
texts and pictures are made up.
"""

import dicom_specimens as dicom
import numpy as np
from pydicom.dataset import Dataset

SYNTAXES = {
    "explicit": dicom.EXPLICIT,
    "implicit": dicom.IMPLICIT,
    "jpeg-lossless": dicom.LOSSLESS_FIRST,
    "jpeg-ls": dicom.JPEG_LS,
    "jpeg-2000": dicom.JPEG_2000,
    "rle": dicom.RLE,
}
SIZE = (72, 64)
CANARY = "Wiesenthaler"  # a private text that must not come out


def table(count, bits, *, curve=1.0, vr="OW", falling=False):
    """An item of a look-up table whose entries follow a power."""
    entries = np.round(np.linspace(0, 1, count) ** curve * ((1 << bits) - 1))
    return dicom.lut(entries[::-1] if falling else entries, bits, vr=vr)


def explained(item, text):
    item.LUTExplanation = text
    return item


def private(made, group, creator, **values):
    """A private block: values by representation."""
    block = made.private_block(group, creator, create=True)
    for number, (vr, value) in enumerate(values.items(), 0x10):
        block.add_new(number, vr, value)


def without(made, *keywords):
    for keyword in keywords:
        if keyword in made:
            delattr(made, keyword)
    return made


WINDOW = ("WindowCenter", "WindowWidth", "WindowCenterWidthExplanation")
RESCALE = ("RescaleIntercept", "RescaleSlope", "RescaleType")


def ge():
    """Definium, Discovery XR: three tables of values of interest, 14 bits, exposure in private."""
    made = without(dicom.dx(), *WINDOW)
    made.Manufacturer, made.ManufacturerModelName = '"GE Healthcare"', "Discovery XR656"
    made.SoftwareVersions, made.DetectorType = "DM_Platform_Magic_Release", "SCINTILLATOR"
    made.VOILUTSequence = [
        explained(table(16384, 16, curve=c), t)
        for c, t in ((1, "NORMAL"), (1.4, "HARDER"), (0.8, "SOFTER"))
    ]
    made.ExposureIndex, made.TargetExposureIndex, made.DeviationIndex = "412.36", "400", "0.1"
    made.ExposureTimeInuS, made.XRayTubeCurrentInuA = "8214.99", "320000.5"
    made.FilterMaterial, made.Grid = ["ALUMINUM", "COPPER"], ["FOCUSED", "RECIPROCATING"]
    made.FilterThicknessMinimum = made.FilterThicknessMaximum = ["1", "0.1"]
    private(made, 0x0011, "GEIIS", UN=CANARY.encode(), LO=CANARY)
    private(made, 0x0045, "GEMS_FUNCTOOL_01", FD=[1.5, 2.5], OB=bytes(range(64)))
    return dicom.with_pixels(made, dicom.picture(14, size=SIZE), bits=14)


def fuji():
    """FCR: computed radiography, MONOCHROME1, 10 bits, S value, many private groups."""
    made = dicom.cr()
    made.Manufacturer, made.ManufacturerModelName = "FUJI PHOTO FILM Co., ltd.", "5000R"
    made.Sensitivity, made.PlateType = "212", "ST-VI"
    made.CassetteSize, made.ImagerPixelSpacing = "35CMX43CM", ["0.2", "0.2"]
    made.AcquisitionDeviceProcessingDescription = "CHEST,GENERAL"
    made.AcquisitionDeviceProcessingCode = "0101"
    made.WindowCenter, made.WindowWidth = "511", "1024"
    private(made, 0x0019, "FDMS 1.0", SH="ABCD", US=[1, 2, 3], DS="2.0")
    private(made, 0x0021, "FDMS 1.0", CS="CHEST", LO=CANARY, IS="4")
    private(made, 0x50F1, "FDMS 1.0", UN=CANARY.encode())
    return dicom.with_pixels(made, dicom.picture(10, size=SIZE), bits=10, photometric="MONOCHROME1")


def agfa():
    """ADC, CR 85-X: a table of values of interest behind a rescale, MONOCHROME1, 12 bits."""
    made = without(dicom.cr(), *WINDOW)
    made.Manufacturer, made.ManufacturerModelName = "Agfa-Gevaert AG", "CR85-X"
    made.RescaleIntercept, made.RescaleSlope, made.RescaleType = "0", "1", "US"
    made.VOILUTSequence = [explained(table(4096, 12, curve=1.6, vr="US"), "Sensitometry=Linear")]
    made.PixelAspectRatio, made.Sensitivity = ["1", "1"], "400"
    made.PlateID, made.ExposureIndex = "38V2113", "1854.32129"
    private(made, 0x0019, "AGFA", LO=CANARY, ST="LGM = 1.93\\bits", SH="THORAX")
    private(made, 0x0019, "AGFA_ADC_Compact", SL=-3, UN=b"\x01\x02")
    return dicom.with_pixels(made, dicom.picture(12, size=SIZE), bits=12, photometric="MONOCHROME1")


def siemens():
    """Ysio, Axiom Aristos: windows, dose, a header within the header, padding of the collimator."""
    made = dicom.dx()
    made.Manufacturer, made.ManufacturerModelName = "SIEMENS", "Fluorospot Compact FD"
    made.SoftwareVersions = ["VB10H", "12345"]
    made.WindowCenter, made.WindowWidth = ["2048", "1875"], ["4095", "3000"]
    made.WindowCenterWidthExplanation = ["Standard", "Weich"]
    made.ImageAndFluoroscopyAreaDoseProduct, made.EntranceDoseInmGy = "0.6912", "0.113"
    made.FieldOfViewShape, made.FieldOfViewDimensions = "RECTANGLE", ["427", "352"]
    made.ShutterShape = "RECTANGULAR"
    made.ShutterLeftVerticalEdge, made.ShutterRightVerticalEdge = "5", "60"
    made.ShutterUpperHorizontalEdge, made.ShutterLowerHorizontalEdge = "1", "72"
    made.ShutterPresentationValue = 0
    values = dicom.picture(12, size=SIZE)
    values[:, :5] = 0
    private(made, 0x0021, "SIEMENS MED SP DXMG WH AWS 1", LO=CANARY, DS=["1", "2"], UI="1.3.12.2.1")
    private(made, 0x0029, "SIEMENS CSA HEADER", CS="IMAGE NUM 4", OB=b"SV10\4\3\2\1" + bytes(56))
    private(made, 0x0029, "SIEMENS MEDCOM HEADER", OB=CANARY.encode())
    return dicom.with_pixels(made, values, bits=12, **dicom.padding(0))


def philips():
    """DigitalDiagnost, Eleva: 15 bits, a large table, private sequences, codes of SNOMED."""
    made = without(dicom.dx(), *WINDOW)
    made.Manufacturer, made.ManufacturerModelName = "Philips Medical Systems", "DigitalDiagnost"
    made.VOILUTSequence = [table(32768, 15, curve=0.7)]
    made.AnatomicRegionSequence = [dicom.code("51185008", "SCT", "Chest")]
    made.PatientOrientationCodeSequence = [dicom.code("F-10440", "SNM3", "erect")]
    made.RelativeXRayExposure, made.DistanceSourceToPatient = "400", "1684.5"
    made.GridFocalDistance, made.GridAspectRatio = "1800", ["12", "1"]
    private(made, 0x2001, "Philips Imaging DD 001", LO=CANARY, FL=1.25, SS=-4)
    inner = Dataset()
    private(inner, 0x2005, "Philips MR Imaging DD 001", LO=CANARY)
    made.private_block(0x2005, "Philips Imaging DD 129", create=True).add_new(1, "SQ", [inner])
    return dicom.with_pixels(made, dicom.picture(15, size=SIZE), bits=15)


def canon():
    """CXDI: 12 bits of 16 with rescale to P-values, magnification, detector."""
    made = dicom.dx()
    made.Manufacturer, made.ManufacturerModelName = "Canon Inc.", "CXDI Control Software NE"
    made.RescaleSlope, made.RescaleIntercept = "0.99975586", "0.0"
    made.WindowCenter, made.WindowWidth, made.VOILUTFunction = "2047.5", "4095", "SIGMOID"
    made.DetectorDescription, made.DetectorMode = "CXDI-710C Wireless", "STILL"
    made.DetectorActiveDimensions, made.DetectorBinning = ["426", "350"], ["1", "1"]
    made.EstimatedRadiographicMagnificationFactor = "1.00"
    made.ExposureInuAs, made.Exposure = "2140", "2"
    private(made, 0x0009, "CANON_INC", SH="CXDI", LO=CANARY, UL=77)
    return dicom.with_pixels(made, dicom.picture(12, size=SIZE), bits=12)


def carestream():
    """DRX, DirectView CR: a falling modality table to optical density, windows over it, 12 bits."""
    made = without(dicom.dx(), *RESCALE)
    made.Manufacturer, made.ManufacturerModelName = "CARESTREAM HEALTH", "DRX-EVOLUTION"
    modality = table(4096, 12, falling=True)
    modality.ModalityLUTType = "OD"
    made.ModalityLUTSequence = [modality]
    made.WindowCenter, made.WindowWidth = "2048", "4096"
    made.ExposureIndex, made.DetectorTemperature = "1650", "30.812"
    made.PresentationLUTShape = "INVERSE"
    private(made, 0x0029, "KODAK PRIVATE", LO=CANARY, UN=b"\0\1\2\3", DS="0.168")
    private(made, 0x0021, "CARESTREAM IMAGE INFORMATION", ST=CANARY, IS=["1", "2"])
    return dicom.with_pixels(made, dicom.picture(12, size=SIZE), bits=12, photometric="MONOCHROME1")


VENDORS = {m.__name__: m for m in (ge, fuji, agfa, siemens, philips, canon, carestream)}


def files():
    """{"vendor/syntax.dcm": content} of each vendor in each transfer syntax."""
    return {
        f"{vendor}/{syntax}.dcm": dicom.file(made(), uid)
        for vendor, made in VENDORS.items()
        for syntax, uid in SYNTAXES.items()
    }
