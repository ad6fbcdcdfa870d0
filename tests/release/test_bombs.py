"""Small files that ask for much are refused at once: 40 of them, as far as they are quickly made.

All of them, through worker processes: ``python tests/benchmarks/reliability_bombs.py``.
"""

import time

import pytest
from bombs import BOMBS
from dicom_specimens import SECRET

from anonymize.release import decode
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.dicom.options import DicomOptions
from anonymize.release.reasons import Refused

LATE = ("idat", "ztxt", "itxt", "iccp", "deflate", "deflated")  # a gigabyte is packed first
LATE += ("entries", "zips", "lies", "chunks", "elements")  # or very many things; or archives
RULES = Deidentifier(SECRET, DicomOptions())


@pytest.mark.parametrize("name", [n for n in BOMBS if n.partition(".")[0] not in LATE])
def test_bombs_are_refused_before_they_are_decoded(name):
    data = BOMBS[name]()
    begun = time.process_time()
    with pytest.raises(Refused):
        decode.decode(name, data, RULES)
    assert time.process_time() - begun < 2
