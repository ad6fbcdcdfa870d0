"""How a method is found: by run, by file, by name; and what is refused."""

import pytest
import torch
from method_table import saved

import anonymize
from anonymize import flow
from anonymize.anonymizer import GROUP, method_class
from anonymize.errors import ModelError, UsageError
from anonymize.model_file import save_model
from anonymize.options import FlowOptions
from anonymize.plugins import plugins
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from baselines.options import NoiseOptions


@pytest.fixture
def model_file(tmp_path):
    """A generator that was not trained, at 32 px."""
    return saved("prichexy-net", tmp_path / "run", features=4, mu=0.05)


def test_a_run_a_file_and_a_method_give_the_same_model(model_file, images):
    specs = (model_file.parent, model_file, f"prichexy-net:{model_file.parent}")
    outs = [anonymize.load(spec)(images) for spec in specs]
    assert all(torch.equal(outs[0], out) for out in outs)


def test_displacement_of_a_larger_image_is_the_same_field(model_file):
    model = anonymize.load(model_file)
    small = torch.rand(1, 1, 32, 32)
    large = torch.nn.functional.interpolate(small, size=(96, 96), mode="nearest")
    difference = model.displacement(large) - flow.resize(model.displacement(small), (96, 96))
    assert difference.abs().max() < 0.1 * model.mu


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no-such-thing", "neither a run, a model file nor a method; methods: .*dp-pix.*identity"),
        ("dp-pix:b", "key=value"),
        ("dp-pix:b=8,b=2", "b is given twice"),
        ("dp-pix:b=2.5", "dp-pix: option b: it must be a valid integer"),
        ("dp-pix:b=0", "dp-pix: option b: it must be greater than or equal to 1; got '0'"),
        ("dp-pix:m=0", "option m: it must be greater than or equal to 1"),
        ("dp-pix:epsilon=-1", "option epsilon: it must be greater than 0"),
        ("dp-pix:epsilon=0", "option epsilon: it must be greater than 0"),
        ("dp-pix:epsilon=inf", "option epsilon: it must be a finite number"),
        ("dp-pix:epsilon=x", "option epsilon: it must be a valid number"),
        ("dp-pix:seed=-1", "option seed: it must be greater than or equal to 0"),
        ("dp-pix:seed=1,key_file=k", "dp-pix: give seed or key_file, not both"),
        ("down-sampling:factor=0.5", "option factor: it must be greater than or equal to 1"),
        ("down-sampling:factor=inf", "option factor: it must be a finite number"),
        ("down-sampling:factor=2,side=12", "give factor or side, not both"),
        ("random-warp:mu=-0.1", "random-warp: option mu"),
        ("random-warp:mu=1.5", "random-warp: option mu"),
        ("random-warp:mu=nan", "random-warp: option mu"),
        ("random-warp:kernel=8", "kernel must be odd, got 8"),
        ("random-warp:sigma=0", "option sigma"),
        ("random-warp:size=8", "option size"),
        ("random-warp:rms=0", "option rms"),
        ("random-warp:mu=0.1,rms=0.1", "random-warp: give mu or rms, not both"),
        ("random-warp:squarings=7", "squarings needs controls"),
        ("random-warp:controls=8,border=reference", "border=reference is of the filter"),
        ("random-warp:mu=0.1,border=reference", "further than mu; give rms instead"),
        ("random-warp:size=16,controls=20", "controls must be at most size, 16, got 20"),
        ("k-same:k=1", "option k"),
        ("k-same:codes=0", "option codes"),
        ("k-same:small=join", "option small: it must be 'withhold'"),
        ("mosaic:g=2,m=5", "m must be at most g² = 4, got 5"),
        ("mosaic:g=1", "option g"),
        ("mosaic:m=0", "option m"),
        ("mosaic:uses=0", "option uses"),
        ("mosaic:feather=1.1", "option feather"),
        ("mosaic:warp=0.4", "option warp"),
        ("mosaic:band=middle", "option band"),
        ("mosaic:cut=0.3", "option cut"),
        ("utility-code:own=0.6", "utility-code: option own"),
        ("utility-code:donors=1", "utility-code: option donors"),
        ("utility-code:pool=0", "utility-code: option pool"),
        ("neural-obfuscation:rho=-0.1", "option rho"),
        ("neural-obfuscation:batch=1", "option batch"),
        ("neural-obfuscation:steps=0", "option steps"),
        ("neural-obfuscation:width=0", "option width"),
        ("neural-obfuscation:embedding=x", "option embedding"),
        ("prichexy-net", "needs a run or a model file"),
        ("privacy-net", "needs a run or a model file"),
    ],
)
def test_wrong_method(spec, message):
    with pytest.raises(UsageError, match=message):
        anonymize.load(spec)


def test_wrong_files(tmp_path, model_file):
    text = tmp_path / "a.safetensors"
    text.write_text("no model")
    with pytest.raises(ModelError, match="no safetensors file"):
        anonymize.load(text)
    with pytest.raises(ModelError, match=r"is no run: it holds no model\.safetensors; name one"):
        anonymize.load(tmp_path)
    with pytest.raises(ModelError, match="holds prichexy-net, not privacy-net"):
        anonymize.load(f"privacy-net:{model_file}")
    other = FlowGenerator(FlowOptions(features=8))
    wrong = PriCheXyNet(FlowGenerator(FlowOptions(features=4)), size=32)
    save_model(other.unet, wrong.card(data={}, figures={}), tmp_path / "b.safetensors")
    with pytest.raises(ModelError, match="has shape"):
        anonymize.load(tmp_path / "b.safetensors")


COUNTED = {
    "dp-pix": {"b", "epsilon", "m"},
    "k-same": {"by", "codes", "k"},
    "mosaic": {"by", "codes", "g", "m", "uses", "feather"},
    "neural-obfuscation": {"rho", "batch", "embedding", "width", "steps"},
    "random-warp": {"mu", "size", "kernel", "sigma"},
    "utility-code": {"codes", "donors", "per", "own", "pool"},
}


def test_an_option_that_comes_later_leaves_what_was_drawn_as_it_was():
    """Random numbers follow from the options that are not None: by default a later one is."""
    made = {name: method.Options() for name, method in plugins(GROUP, method_class)}
    drawn = {name: own for name, own in made.items() if isinstance(own, NoiseOptions)}
    counted = {
        name: {key for key, value in own if value is not None} for name, own in drawn.items()
    }
    assert counted == COUNTED
