"""1,000 images from two senders while the node is killed and started again."""

import pytest
from accounting import run
from programs import ARCHIVES, DCMTK, DICOMWEB, ORTHANC, dcmtk

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(dcmtk, DCMTK)), reason="needs dcmtk: apt-get install dcmtk"),
]


@pytest.mark.parametrize("archive", ARCHIVES)
def test_a_thousand_sent_are_a_thousand_accounted_for(tmp_path, archive):
    if archive.startswith("orthanc") and (ORTHANC is None or not DICOMWEB.exists()):
        pytest.skip("needs Orthanc: apt-get install orthanc orthanc-dicomweb")
    found = run(tmp_path, 1000, kills=5, archive=archive)
    assert found["accounted for"] == found["released"] == found["in the archive"] == 1000
    assert found["journalled as delivered"] == 1000
    for name in ("quarantined", "released twice", "left in the spool"):
        assert found[name] == 0, name
    assert found["in the archive, and not released"] == 0
    assert found["release is sound"]
    assert found["exit status of the last node"] == 0
