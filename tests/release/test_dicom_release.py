"""DICOM files through a whole release, beside other files."""

import json
from dataclasses import replace

import pytest
from dicom_specimens import (
    LOSSLESS_FIRST,
    ROOT,
    capture,
    changed,
    cr,
    dx,
    file,
    opened,
    picture,
    rules,
    with_pixels,
)
from release_specimens import KINDS, Wave, command, fill, quarantine, refused, rows, tree

from anonymize.errors import UsageError
from anonymize.release import decode, encode, movement, pipeline
from anonymize.release.checking import verification
from anonymize.release.dicom import scan
from anonymize.release.dicom.options import DATES, DicomOptions
from anonymize.release.options import ReleaseOptions
from anonymize.release.reasons import Reason

CANARIES = (
    *(b"Josefine", "Müller".encode("latin-1"), b"PID-4711-77", b"19481224", b"20210305"),
    *(b"ACC778899", b"ST5566", b"Huber", b"Waldrand", b"8812", b"SN-99812", b"ROENTGEN3"),
    *(b"WALDRAND", b"DET-33-01", b"1.2.826.0.1.3680043.8.498"),
)


def files():
    twelve = picture()
    return {
        "a/dx.dcm": file(with_pixels(dx(), twelve, bits=12)),
        "a/cr.dcm": file(with_pixels(cr(), twelve, bits=12, photometric="MONOCHROME1")),
        "capture": file(with_pixels(capture(), picture(8), bits=8), LOSSLESS_FIRST),
        "b.png": KINDS["gray8.png"],
    }


def test_a_release_of_dicom_tells_nobody(release, key):
    # By chance, the pseudonyms of another key may hold four digits.
    done = release(files(), workers=2, key_file=key)
    assert done.quarantine == {}
    assert set(done.files) == {*files(), "manifest.csv"}
    assert not [c for c in CANARIES for data in done.files.values() if c in data]
    for name in ("a/dx.dcm", "a/cr.dcm", "capture"):
        scan.check(done.files[name])
    said = {row["output"]: row for row in rows(done.files["manifest.csv"])}
    assert said["b.png"]["displacement_max_mm"] == ""
    ratio = {
        n: float(r["displacement_max_mm"]) / float(r["displacement_max_px"])
        for n, r in said.items()
        if n != "b.png"
    }
    assert ratio["a/dx.dcm"] == pytest.approx(0.125, rel=1e-4)
    assert ratio["a/cr.dcm"] == pytest.approx(0.143, rel=1e-4)
    assert 0.2 < ratio["capture"] < 0.25


def test_a_key_makes_later_batches_fit_and_options_belong_to_a_release(release, key, tmp_path):
    first = release(files(), key_file=key)
    later = release.to(tmp_path / "later", Wave(0.02), names="keep", key_file=key)
    for name in ("a/dx.dcm", "capture"):
        one, two = opened(first.files[name]), opened(later[name])
        assert one.PatientID == two.PatientID
        assert one.StudyInstanceUID == two.StudyInstanceUID
        assert one.PixelData != two.PixelData
    other = release.to(tmp_path / "other", names="keep")
    assert opened(other["capture"]).PatientID != one.PatientID
    with pytest.raises(UsageError, match="other --retain"):
        release(key_file=key, dicom=DicomOptions(frozenset({DATES})))


@pytest.mark.parametrize(
    "name",
    ["pid-4711-77.dcm", "x/MÜLLER Josefine.dcm", "2021-03-05/a", f"{ROOT}13.dcm", "ACC778899"],
)
def test_a_path_that_tells_the_patient_needs_another_name(release, tmp_path, name):
    data = files()["a/dx.dcm"]
    assert release({name: data}).quarantine == {name: "identifying-name"}
    (output,) = set(release.to(tmp_path / "hashed", names="hashed")) - {"manifest.csv"}
    assert len(output.partition(".")[0]) == 64


def test_an_identifier_in_the_finished_file_is_found():
    retaining = rules(retain=frozenset({"device-identity"}))
    decoded = decode.decode("x", files()["a/dx.dcm"], retaining)
    made, source = decoded.radiograph, decoded.radiograph.source
    moved = made.with_pixels(made.pixels[::-1].copy())
    probe = movement.probe(moved.pixels, None)
    verification.verify(encode.encode(moved), moved, made, decoded.words, probe)
    header = source.header.copy()
    header.StationName = "for JOSEFINE"
    leaky = replace(moved, source=replace(source, header=header))
    data = encode.encode(leaky)
    scan.check(data)  # any text is possible there
    with refused(Reason.VERIFICATION):
        verification.verify(data, leaky, made, decoded.words, movement.probe(made.pixels, None))


def test_the_command_retains_what_it_is_asked_to(tmp_path):
    fill(tmp_path / "in", files())
    args = ["--retain", "longitudinal-modified-dates", "--retain", "patient-characteristics"]
    args += ["--clean-descriptors", "--dicom-transfer-syntax", "rle", "--json", "--names", "keep"]
    done = command(tmp_path / "in", tmp_path / "out", *args, model="dp-pix:b=2,epsilon=9", code=0)
    assert json.loads(done.stdout)["anonymized"] == 4
    made = opened((tmp_path / "out" / "a" / "dx.dcm").read_bytes())
    assert made.file_meta.TransferSyntaxUID == "1.2.840.10008.1.2.5"
    assert made.PatientSex == "F"
    assert made.StudyDate
    assert made.StudyDescription == "THORAX PA"
    assert quarantine(tmp_path / "out-private") == {}


def test_dicom_of_others_comes_through(shared, tmp_path):
    source = shared / "data" / "dicom"
    summary = pipeline.apply(source, tmp_path / "out", Wave(), ReleaseOptions())
    assert (summary.anonymized, summary.quarantined) == (2, 0)
    for name, data in tree(tmp_path / "out").items():
        if name.endswith(".dcm"):
            made = opened(data)
            assert made.LossyImageCompression == "01"
            assert made.pixel_array.shape == (1024, 1024)
            assert made.PixelSpacing == [0.168, 0.168]


def test_a_patient_id_of_no_known_representation_is_the_same_patient(release, key):
    """As gateways write what their dictionary lacks (PS3.5 6.2.2)."""
    known = file(changed())
    at = known.index(b"\x10\0\x20\0LO") + 4
    size = known[at + 2 : at + 4]
    unknown = known[:at] + b"UN\0\0" + size + b"\0\0" + known[at + 4 :]
    unknown = unknown.replace(b"1.2.826.0.1.3680043.8.498.3", b"1.2.826.0.1.3680043.8.498.4")
    done = release({"1.dcm": known, "2.dcm": unknown}, key_file=key)
    assert done.quarantine == {}
    first, second = (opened(done.files[name]).PatientID for name in ("1.dcm", "2.dcm"))
    assert first == second != ""
