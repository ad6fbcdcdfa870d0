"""Files with look-up tables (PS3.3 C.11.1, C.11.2), as many vendors write them, pass a worker."""

import numpy as np
import pytest
from dicom_specimens import SECRET, dx, file, opened, picture, with_pixels
from pydicom.dataset import Dataset

from anonymize.release import decode, encode
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.dicom.options import DicomOptions
from anonymize.release.worker_pool import Limits, WorkerPool

RULES = Deidentifier(SECRET, DicomOptions())
TABLES = {"VOILUTSequence": "LUTExplanation", "ModalityLUTSequence": "ModalityLUTType"}


def with_table(sequence):
    """A radiograph whose 12-bit values go through a table to 16 bits."""
    made = with_pixels(dx(), picture(), bits=12)
    for name in ("WindowCenter", "WindowWidth", "RescaleSlope", "RescaleIntercept", "RescaleType"):
        if name in made:
            delattr(made, name)
    table = Dataset()
    table.add_new(0x00283002, "US", [4096, 0, 16])
    table.add_new(0x00283006, "OW", np.arange(0, 1 << 16, 16, dtype="<u2").tobytes())
    setattr(table, TABLES[sequence], "US")
    setattr(made, sequence, [table])
    return file(made)


@pytest.mark.processes
@pytest.mark.parametrize("sequence", TABLES)
def test_a_table_travels_to_a_worker_and_back(sequence):
    data = with_table(sequence)
    with WorkerPool(1, Limits()) as pool:
        read = pool.call(decode.picture, "DICOM", data, RULES)
        written = pool.call(encode.encode, read)
    assert written == encode.encode(decode.picture("DICOM", data, RULES))
    (table,) = opened(written)[sequence]
    assert list(table.LUTDescriptor) == [4096, 0, 16]
    assert len(table["LUTData"].value) in (4096, 8192)  # values, or their bytes
