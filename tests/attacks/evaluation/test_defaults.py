"""Where the published program and the tool's defaults part, as docs/training.md lists it."""

import re

import pytest
import yaml
from test_protocol import ROOT, leaves, value

from anonymize.configuration import load_options
from anonymize.options import TrainOptions

PAPER, OURS, QUICK = load_options("prichexy_net"), TrainOptions(), load_options("quick")
SMALLER = ("data.pairs", "adversarial.course.attacker_every")  # in `quick`
HEADER = "| option | published | default | why |\n|---|---|---|---|\n"
PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
TABLE = PAGE.partition(HEADER)[2].partition("\n\n")[0]
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines()]


def stated(key):
    """The source beside the value in the file of the published program, in one word."""
    text = (ROOT / "configs" / "prichexy_net.yaml").read_text(encoding="utf-8")
    section, _, name = key.partition(".")
    own = re.search(rf"(?ms)^{section}:\n(.*?)(?=^\w|\Z)", text)[1]
    return re.search(rf"\b{name.rpartition('.')[2]}: .*?# (\w+)", own)[1]


def test_every_option_that_differs_is_listed():
    differ = {key for key, own in leaves(OURS.model_dump()) if value(PAPER, key) != own}
    assert sorted(row[0].strip("`") for row in ROWS) == sorted(differ)


@pytest.mark.parametrize(("option", "theirs", "default", "why"), ROWS)
def test_both_values_are_listed_with_source_and_reason(option, theirs, default, why):
    key = option.strip("`")
    found, source = re.fullmatch(r"`(.+)` \((.+)\)", theirs).groups()
    assert yaml.safe_load(found) == value(PAPER, key)
    assert source.startswith(stated(key))
    assert (None if default == "none" else yaml.safe_load(default.strip("`"))) == value(OURS, key)
    assert key in SMALLER or value(QUICK, key) == value(OURS, key)
    assert len(why) > 10
