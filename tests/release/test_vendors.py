"""Honest files of the vendors go through worker processes and all; one pool for the lot."""

from pathlib import Path

import numpy as np
import pydicom
import pytest
from dicom_specimens import opened, rules, saved
from pydicom.data import get_testdata_file
from release_specimens import Wave, fill, quarantine, tree
from vendor_specimens import CANARY, SYNTAXES, VENDORS, files

from anonymize.release import decode, pipeline
from anonymize.release.options import ReleaseOptions

pytestmark = [pytest.mark.processes, pytest.mark.filterwarnings("ignore::UserWarning:pydicom")]
# Of pydicom's own test data: an Agfa CR directory, and gray secondary captures.
BUNDLED = {
    "agfa-1.dcm": "dicomdirtests/77654033/CR1/6154",
    "agfa-2.dcm": "dicomdirtests/77654033/CR2/6247",
    "agfa-3.dcm": "dicomdirtests/77654033/CR3/6278",
    "deflated.dcm": "image_dfl.dcm",
    "jpeg-2000.dcm": "JPEG2000.dcm",
    "jpeg-extended.dcm": "JPGExtended.dcm",
}


def bundled(path):
    """A file of pydicom's as a radiograph: some are scintigrams, and say so."""
    found = Path(get_testdata_file("image_dfl.dcm")).parent / path
    made = pydicom.dcmread(found)
    made.Modality = made.Modality if made.Modality == "CR" else "OT"
    made.PatientName = CANARY
    return saved(made, enforced=False)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Inputs, outputs and reasons of one release with two workers."""
    folder = tmp_path_factory.mktemp("vendors")
    given = files() | {f"pydicom/{name}": bundled(path) for name, path in BUNDLED.items()}
    fill(folder / "in", given)
    pipeline.apply(folder / "in", folder / "out", Wave(), ReleaseOptions(names="keep", workers=2))
    return given, tree(folder / "out"), quarantine(folder / "out-private")


def test_every_honest_file_is_released(released):
    given, made, reasons = released
    assert reasons == {}
    assert made.keys() - {"manifest.csv"} == given.keys()
    assert not any(CANARY.encode() in data for data in made.values())


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_transfer_syntax_changes_nothing_else(released, vendor):
    given, made, _ = released
    pixels = [opened(made[f"{vendor}/{s}.dcm"]).pixel_array for s in SYNTAXES]
    assert all((p == pixels[0]).all() for p in pixels)
    seen = [decode.picture("a", given[f"{vendor}/{s}.dcm"], rules()) for s in SYNTAXES]
    assert all((s.gray() == seen[0].gray()).all() for s in seen)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("syntax", ["explicit", "implicit", "jpeg-ls"])
def test_what_describes_the_picture_stays(released, vendor, syntax):
    given, made, _ = released
    before, after = (opened(part[f"{vendor}/{syntax}.dcm"]) for part in (given, made))
    for keyword in ("Rows", "Columns", "BitsStored", "PhotometricInterpretation", "KVP"):
        assert after[keyword].value == before[keyword].value
    for keyword in ("WindowCenter", "WindowWidth", "ImagerPixelSpacing"):
        assert np.allclose(values(after, keyword), values(before, keyword), rtol=1e-5)
    assert after.Manufacturer
    assert "ManufacturerModelName" not in after
    assert not [e for e in after.iterall() if e.tag.is_private]
    for sequence in ("VOILUTSequence", "ModalityLUTSequence"):
        if sequence in before:
            old, new = before[sequence][0], after[sequence][0]
            assert list(new.LUTDescriptor) == list(old.LUTDescriptor)
            assert np.ptp(entries(new) - entries(old)) <= entries(old).max() / 500
            assert "LUTExplanation" not in new


def values(made, keyword):
    return np.atleast_1d(np.array(made.get(keyword, []), np.float64))


def entries(item):
    found = item["LUTData"].value
    return np.frombuffer(found, "<u2").astype(int) if isinstance(found, bytes) else np.array(found)
