"""What commands train on, and what they say of it."""

import pytest

from anonymize import inference
from anonymize.commands.common import find_compute
from anonymize.options import TrainOptions


@pytest.mark.parametrize(
    ("precision", "units", "said"),
    [("bf16", False, True), ("bf16", True, False), ("no", False, False)],
)
def test_emulated_bfloat16_is_told(capsys, monkeypatch, precision, units, said):
    monkeypatch.setattr(inference, "computes_bfloat16", lambda device: units)
    compute = find_compute(TrainOptions(precision=precision), "cpu")
    assert compute.precision == precision
    heard = capsys.readouterr()
    assert ("--set precision=no" in heard.err) == said
    assert not heard.out
