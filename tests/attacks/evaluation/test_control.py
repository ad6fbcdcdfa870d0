"""The random warp beside a trained one: of its displacement, and of its kind."""

import pytest
import yaml
from asked import ask
from changing import altered
from test_results import made_up

import anonymize
from anonymize.errors import UsageError
from attacks.cli import main
from attacks.evaluation.differences import ALIKE, control_for
from attacks.evaluation.protocol import Choices, Protocol, entrants
from attacks.results import Displacement, ImageChange, Results

pytestmark = pytest.mark.whole


@pytest.fixture
def evaluated(smaller, tmp_path, undrawn):
    """``evaluated()``: what is said and found of a protocol whose trained method has a control, and
    stands there twice."""
    evaluation = smaller["evaluation"] | {"resamplings": 20, "utility": False}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(smaller | {"evaluation": evaluation}))
    protocol = {
        "base": "tiny.yaml",
        "trained": [{"sweep": {"generator.mu": [0.05, 0.05]}, "control": True}],
        "attackers": ["training-free"],
        "published": False,
    }
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(protocol))

    def evaluate():
        own, out = tmp_path / "own.yaml", tmp_path / "out"
        result = ask(main, "evaluate", "--config", own, "--out", out, "--device", "cpu")
        return result.output, Results.read(out / "results.json")

    return evaluate


def test_a_warp_of_equal_displacement_is_measured_beside_a_trained_one(evaluated):
    said, results = evaluated()
    _, learnt, control, twin = results.methods
    assert [m.name for m in results.methods[1:]] == ["prichexy-net", "random-warp", "prichexy-net"]
    far = learnt.image.displacement_px.rms
    assert control.image.displacement_px.rms == pytest.approx(far, rel=ALIKE)
    for one in (learnt, twin):  # it was made once
        found = one.privacy["training-free"].differences
        assert [d.to for d in found if d.role == "control"] == [results.titles()[2]]
    (check,) = [c for c in results.checks if "random warp of equal displacement" in c.name]
    assert "stands beside" not in check.message
    assert "[8/8]" in said  # two networks, a generator twice, four attacks
    again, same = evaluated()
    assert same.methods[2].privacy == control.privacy
    assert again.count("measured before") == 4


def moved(px, **options):
    method = made_up().methods[1]
    length = None if px is None else Displacement(mean=px, max=px, rms=px)
    image = ImageChange(displacement_px=length)
    return altered(method, image=image, options=options)


def test_a_control_is_of_the_kind_of_its_method():
    spec = control_for(moved(2.0, mu=0.01, kernel=7, sigma=1.5, controls=None), 101)
    assert spec == "random-warp:rms=0.04,size=101,kernel=7,sigma=1.5,seed=0"
    kind = {"controls": 8, "squarings": 4, "tone": 0.1}
    warp = anonymize.load(control_for(moved(2.0, kernel=9, sigma=2.0, **kind), 101))
    assert {name: warp.options[name] for name in kind} == kind
    framed = {border: moved(9.0, border=border) for border in ("replicate", "reference")}
    made = {b: anonymize.load(control_for(m, 64)).options for b, m in framed.items()}
    assert made["reference"]["border"] == "reference"
    assert "border" not in made["replicate"]


@pytest.mark.parametrize(
    "generator", [{"method": "privacy-net"}, {"method": "prichexy-net", "mu": 0.0}]
)
def test_a_control_that_cannot_be_is_refused_before_anything_is_trained(generator, tmp_path):
    protocol = Protocol(base="quick", trained=[{"set": {"generator": generator}, "control": True}])
    with pytest.raises(UsageError, match="of mu above 0; take it from " + generator["method"]):
        entrants(protocol, tmp_path, Choices())


@pytest.mark.parametrize("px", [None, 0.0])
def test_what_moves_nothing_has_no_control(px):
    with pytest.raises(UsageError, match="control: true is for trained methods that deform"):
        control_for(moved(px), 64)
