"""Stored values are warped, whatever way they are stored and shown; nothing of them is lost."""

import dicom_specimens as dicom
import numpy as np
import pytest
from pydicom.dataset import Dataset
from pydicom.pixels.processing import apply_modality_lut, apply_voi_lut
from release_specimens import Wave, gray_rgb, refused, scene
from scipy.ndimage import map_coordinates

from anonymize.release import decode, transform
from anonymize.release.checking import reopen
from anonymize.release.dicom.deidentify import NEEDED
from anonymize.release.reasons import Reason

EXACT = [dicom.EXPLICIT, dicom.IMPLICIT, dicom.DEFLATED, dicom.BIG_ENDIAN, dicom.LOSSLESS]
EXACT += [dicom.LOSSLESS_FIRST, dicom.JPEG_LS, dicom.JPEG_2000, dicom.RLE]
LOSSY = [(dicom.BASELINE, 8), (dicom.EXTENDED, 12), (dicom.NEAR_LOSSLESS, 12)]
LOSSY += [(dicom.JPEG_2000_LOSSY, 12)]


def upright(made, values):
    """Unsigned values, bright where a viewer shows bright."""
    values = values.astype(np.int64) + (1 << (made.BitsStored - 1)) * made.PixelRepresentation
    if made.PhotometricInterpretation == "MONOCHROME1":
        return (1 << made.BitsStored) - 1 - values
    return values


@pytest.mark.parametrize("syntax", EXACT)
@pytest.mark.parametrize(
    ("make", "bits", "signed", "photometric"),
    [
        (dicom.cr, 8, False, "MONOCHROME1"),
        (dicom.cr, 10, False, "MONOCHROME2"),
        (dicom.dx, 12, True, "MONOCHROME2"),
        (dicom.dx, 14, False, "MONOCHROME1"),
        (dicom.capture, 16, False, "MONOCHROME2"),
        (dicom.capture, 16, True, "MONOCHROME1"),
    ],
)
def test_values_come_and_go_as_they_are(syntax, make, bits, signed, photometric):
    values = dicom.picture(bits, signed)
    made = dicom.with_pixels(make(), values, bits=bits, photometric=photometric, signed=signed)
    radiograph = dicom.taken(made, syntax)
    assert (radiograph.pixels[..., 0] == upright(made, values)).all()
    data = dicom.checked(radiograph)
    assert (dicom.opened(data).pixel_array == values).all()
    assert (decode.picture("DICOM", data).pixels == radiograph.pixels).all()
    assert (reopen.reopen("DICOM", data).pixels == radiograph.pixels).all()
    assert reopen.reopen("DICOM", data).kind == radiograph.kind
    again = dicom.opened(data)
    described = "BitsAllocated BitsStored HighBit PixelRepresentation PhotometricInterpretation"
    assert all(again[k] == made[k] for k in described.split())


@pytest.mark.parametrize("size", [(40, 52), (41, 51)])
def test_words_of_two_pixels_are_read_in_the_order_of_their_bytes(size):
    """In big endian the pixels of a word, and the padding behind an odd number, change places."""
    values = dicom.picture(8, size=size)
    made = dicom.with_pixels(dicom.cr(), values, bits=8)
    words = np.frombuffer(made.PixelData, "u2").byteswap().tobytes()
    made.add_new(0x7FE00010, "OW", words)
    assert (dicom.opened(dicom.file(made, dicom.BIG_ENDIAN)).pixel_array == values).all()
    assert (dicom.taken(made, dicom.BIG_ENDIAN).pixels[..., 0] == values).all()


@pytest.mark.parametrize(("syntax", "bits"), LOSSY)
def test_lossy_history_is_kept_in_a_lossless_file(syntax, bits):
    made = dicom.with_pixels(dicom.cr(), dicom.picture(bits, size=(160, 208)), bits=bits)
    again = dicom.opened(dicom.checked(dicom.taken(made, syntax)))
    assert again.file_meta.TransferSyntaxUID == dicom.JPEG_2000
    assert again.LossyImageCompression == "01"
    methods = {dicom.JPEG_LS[:-1]: "ISO_14495_1", dicom.JPEG_2000[:-1]: "ISO_15444_1"}
    assert again.LossyImageCompressionMethod == methods.get(syntax[:-1], "ISO_10918_1")
    raw = made.Rows * made.Columns * made.BitsAllocated // 8
    ratio = again.LossyImageCompressionRatio
    assert 1 < ratio < raw / 100
    assert ratio == float(f"{ratio:.2g}")  # more would tell the length of the file that went in


def test_lossy_history_of_earlier_steps_is_kept():
    ratio, methods = [12, 3.5], ["ISO_10918_1", "ISO_15444_1"]
    made = dicom.changed(LossyImageCompression="01", LossyImageCompressionRatio=ratio)
    made.LossyImageCompressionMethod = methods
    again = dicom.opened(dicom.released(made))
    assert again.LossyImageCompressionRatio == ratio
    assert again.LossyImageCompressionMethod == methods


@pytest.mark.parametrize(
    ("wish", "found", "expected"),
    [
        ("keep", dicom.EXPLICIT, dicom.EXPLICIT),
        ("keep", dicom.RLE, dicom.JPEG_2000),
        ("explicit", dicom.JPEG_LS, dicom.EXPLICIT),
        ("jpeg2000", dicom.BIG_ENDIAN, dicom.JPEG_2000),
        ("rle", dicom.LOSSLESS_FIRST, dicom.RLE),
    ],
)
def test_transfer_syntax_is_as_asked_for(wish, found, expected):
    again = dicom.opened(
        dicom.checked(dicom.taken(dicom.changed(dicom.cr), found, transfer_syntax=wish))
    )
    assert again.file_meta.TransferSyntaxUID == expected
    assert (again.pixel_array == dicom.picture()).all()


def test_stored_values_are_interpolated_and_not_what_is_shown():
    values = dicom.picture(14, signed=True)
    made = dicom.with_pixels(dicom.dx(), values, bits=14, signed=True, photometric="MONOCHROME1")
    made.RescaleSlope, made.RescaleIntercept = 3, -50
    radiograph, model = dicom.taken(made), Wave(0.04)
    (displacement,) = transform.predict(model, transform.view(radiograph))
    moved, figures = transform.anonymize(radiograph, displacement, model)
    h, w = values.shape
    dx_, dy = displacement[0].double().numpy()
    y, x = np.mgrid[0:h, 0:w].astype(np.float64)
    places = [y + dy * (h - 1) / 2, x + dx_ * (w - 1) / 2]
    expected = map_coordinates(values.astype(np.float64), places, order=1, mode="nearest")
    again = dicom.opened(dicom.checked(moved)).pixel_array
    assert np.abs(again - expected).max() <= 0.51
    row, column = made.PixelSpacing
    lengths = np.hypot(dx_ * (w - 1) / 2 * column, dy * (h - 1) / 2 * row)
    assert figures.displacement_max_mm == pytest.approx(lengths.max(), rel=1e-5)


def test_padding_never_mixes_with_the_picture():
    values = dicom.picture(12, signed=True).clip(-1900)
    values[:, :9] = -2000
    made = dicom.with_pixels(dicom.cr(), values, bits=12, signed=True, **dicom.padding(-2000))
    radiograph, model = dicom.taken(made), Wave(0.1)
    assert radiograph.background.sum() == 9 * 40
    assert (radiograph.gray()[:, :9] == 0).all()
    (displacement,) = transform.predict(model, transform.view(radiograph))
    moved, _ = transform.anonymize(radiograph, displacement, model)
    result = dicom.opened(dicom.checked(moved)).pixel_array
    real = np.sort(values[:, 9:], axis=None)
    assert (result == -2000).any()
    assert (result == -2000).sum() != 9 * 40
    assert result[result != -2000].min() >= real[0]


def test_bits_beyond_those_stored_hold_no_overlay():
    values = dicom.picture(12)
    overlay = np.where(scene() > 128, 0x9000, 0x3000).astype(np.uint16)
    made = dicom.with_pixels(dicom.cr(), (values << 2) | overlay & 0xC000 | 3, bits=12)
    made.HighBit = 13
    radiograph = dicom.taken(made)
    assert (radiograph.pixels[..., 0] == values).all()
    again = dicom.opened(dicom.checked(radiograph))
    assert again.HighBit == 11
    assert (np.frombuffer(again.PixelData, "<u2").reshape(values.shape) == values).all()


def test_icons_and_presentation_tables_are_removed():
    made = dicom.changed()
    icon = dicom.with_pixels(Dataset(), dicom.picture(8, size=(16, 16)), bits=8)
    made.IconImageSequence = [icon]
    made.PresentationLUTSequence = [dicom.lut(range(256), 8)]
    again = dicom.opened(dicom.released(made))
    assert "IconImageSequence" not in again
    assert "PresentationLUTSequence" not in again
    assert again.PresentationLUTShape == "IDENTITY"


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("function", ["LINEAR", "LINEAR_EXACT", "SIGMOID"])
def test_the_view_is_what_pydicom_shows(function, signed):
    values = dicom.picture(12, signed)
    made = dicom.with_pixels(dicom.dx(), values, bits=12, signed=signed)
    made.RescaleSlope, made.RescaleIntercept = 2, -100
    made.WindowCenter, made.WindowWidth, made.VOILUTFunction = 1700, 1500, function
    shown = apply_voi_lut(apply_modality_lut(values, made), made)
    low, high = -100 + 2 * np.array([-2048, 2047] if signed else [0, 4095])
    expected = (shown - low) / (high - low)
    assert np.abs(dicom.taken(made).gray() - expected).max() < 1e-5
    made.PhotometricInterpretation = "MONOCHROME1"
    assert np.abs(dicom.taken(made).gray() - (1 - expected)).max() < 1e-5


def test_a_table_of_values_of_interest_counts_before_a_window_and_loses_its_text():
    values = dicom.picture(12)
    made = dicom.with_pixels(dicom.dx(), values, bits=12)
    made.VOILUTSequence = [dicom.lut(np.linspace(0, 1, 3000) ** 2 * 1023, 10, first=500)]
    made.VOILUTSequence[0].LUTExplanation = "for Dr Huber"
    radiograph = dicom.taken(made)
    expected = apply_voi_lut(values, dicom.opened(dicom.file(made)), prefer_lut=True) / 1023
    assert np.abs(radiograph.gray() - expected).max() < 1e-6
    again = dicom.opened(dicom.checked(radiograph))
    assert len(again.VOILUTSequence) == 1
    assert "LUTExplanation" not in again.VOILUTSequence[0]
    assert again.VOILUTSequence[0].LUTData == made.VOILUTSequence[0].LUTData
    assert (dicom.taken(made, dicom.IMPLICIT).gray() == radiograph.gray()).all()
    made.VOILUTSequence = [dicom.lut(scene(1023, dtype=int).ravel(), 10)]
    with refused(Reason.UNSUPPORTED_PIXELS):
        dicom.taken(made)


def test_without_a_window_the_picture_is_spread():
    made = dicom.with_pixels(dicom.cr(), dicom.picture(16) // 9 + 1000, bits=16)
    shown = dicom.taken(made).gray()
    assert shown.min() == 0
    assert shown.max() == 1
    assert 0.2 < shown.mean() < 0.8


@pytest.mark.parametrize(
    "syntax", [dicom.EXPLICIT, dicom.LOSSLESS_FIRST, dicom.JPEG_LS, dicom.JPEG_2000, dicom.RLE]
)
def test_gray_stored_as_colour_stays_so_and_colours_are_refused(syntax):
    made = dicom.with_pixels(dicom.capture(), gray_rgb(), bits=8, photometric="RGB")
    radiograph = dicom.taken(made, syntax)
    assert (radiograph.pixels == gray_rgb()).all()
    moved, _ = transform.anonymize(
        radiograph, transform.predict(Wave(), transform.view(radiograph))[0], Wave()
    )
    again = dicom.opened(dicom.checked(moved))
    assert again.PhotometricInterpretation == "RGB"
    assert (again.pixel_array[..., :1] == again.pixel_array[..., 1:]).all()
    coloured = dicom.with_pixels(dicom.capture(), scene(255, 3), bits=8, photometric="RGB")
    with refused(Reason.UNSUPPORTED_PIXELS):
        dicom.taken(coloured, syntax)


def test_gray_in_planes_and_in_luminance():
    made = dicom.with_pixels(dicom.capture(), gray_rgb(), bits=8, photometric="RGB")
    made.PixelData, made.PlanarConfiguration = np.moveaxis(gray_rgb(), 2, 0).tobytes(), 1
    assert (dicom.taken(made).pixels == gray_rgb()).all()
    luminance = gray_rgb()
    luminance[..., 1:] = 128
    made = dicom.with_pixels(dicom.capture(), luminance, bits=8, photometric="YBR_FULL")
    assert (dicom.taken(made).pixels == gray_rgb()).all()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"NumberOfFrames": 2}, Reason.MULTI_FRAME),
        ({"BitsAllocated": 32, "BitsStored": 32, "HighBit": 31}, Reason.UNSUPPORTED_PIXELS),
        ({"BitsStored": 7, "HighBit": 6}, Reason.UNSUPPORTED_PIXELS),
        ({"PhotometricInterpretation": "PALETTE COLOR"}, Reason.UNSUPPORTED_PIXELS),
        ({"WindowWidth": 0}, Reason.UNSUPPORTED_PIXELS),
        ({"RescaleSlope": 0}, Reason.UNSUPPORTED_PIXELS),
        ({"Rows": 15}, Reason.TOO_SMALL),
        ({"Rows": 39}, Reason.DAMAGED),
        ({"Rows": 41}, Reason.DAMAGED),
        ({"Rows": 20000, "Columns": 20000}, Reason.TOO_LARGE),
        ({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.2"}, Reason.DICOM),
        ({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.88.11"}, Reason.DICOM),
        ({"SOPClassUID": "1.2.840.10008.5.1.4.1.1.104.1"}, Reason.DICOM),
        ({"SOPClassUID": ["1.2.840.10008.5.1.4.1.1.1.1", "1.2.3"]}, Reason.DICOM),
        ({"SOPClassUID": "1.2.840.10008.1.3.10"}, Reason.DICOMDIR),
        ({"Modality": "MR"}, Reason.DICOM),
        ({"StudyInstanceUID": ""}, Reason.DICOM_METADATA),
        ({"StudyInstanceUID": "", "PatientID": ""}, Reason.DICOM_METADATA),
        ({"SOPInstanceUID": ""}, Reason.DICOM_METADATA),
        *(({k: ["1.2.3", "1.2.4"]}, Reason.DICOM_METADATA) for k in NEEDED),
    ],
)
def test_what_is_no_such_radiograph_is_refused(changes, reason):
    with refused(reason):
        dicom.taken(dicom.changed(**changes))
