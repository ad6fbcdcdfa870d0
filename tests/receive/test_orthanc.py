"""Orthanc as the archive, by C-STORE and by STOW-RS."""

import dicom_specimens as dicom
import pytest
from programs import DICOMWEB, ORTHANC, orthanc
from receiving import made, released, running, send, spooled, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        ORTHANC is None or not DICOMWEB.exists(),
        reason="needs Orthanc: apt-get install orthanc orthanc-dicomweb",
    ),
]


@pytest.mark.parametrize("way", ["store", "stow"])
def test_orthanc_holds_what_was_released(tmp_path, way):
    with orthanc(tmp_path / "orthanc") as theirs:
        with running(tmp_path, forward={"to": getattr(theirs, way)}) as node:
            assert send(node.port, *map(made, range(10))) == [0x0000] * 10
            until(lambda: not spooled(tmp_path))
        held = theirs.instances()
    assert node.summary.forwarded == len(held) == 10
    ours = [dicom.opened((tmp_path / "out" / name).read_bytes()) for name in released(tmp_path)]
    assert {d.SOPInstanceUID for d in ours} == {h["SOPInstanceUID"] for h in held}
    assert {d.PatientID for d in ours} == {h["PatientID"] for h in held}
    assert made(0).PatientID not in str(held)
