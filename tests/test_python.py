"""What a notebook imports: names, reading files, the transform of MONAI."""

import dicom_specimens as dicom
import numpy as np
import pytest
import torch
from monai.data import MetaTensor
from PIL import Image
from small import FEW

import anonymize
import attacks
from anonymize.errors import DataError, UsageError
from attacks.results import Results


@pytest.mark.parametrize("package", [anonymize, attacks])
def test_names_are_listed_and_there(package):
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_read_gives_what_a_method_takes(tmp_path):
    levels = (np.arange(48 * 64, dtype=np.uint32) * 21 % 65536).astype(np.uint16).reshape(48, 64)
    Image.fromarray(levels).save(tmp_path / "a.png")
    image = anonymize.read(tmp_path / "a.png")
    assert image.shape == (1, 1, 48, 64)
    assert image.dtype == torch.float32
    assert torch.equal(image[0, 0], torch.from_numpy(levels / np.float32(65535)))
    assert anonymize.load("dp-pix:b=4")(image).shape == image.shape


@pytest.mark.parametrize("inverted", [False, True])
def test_read_gives_dicom_as_a_viewer_shows_it(tmp_path, inverted):
    ramp = np.tile(np.arange(64, dtype=np.uint16) * 64, (48, 1))
    kind = "MONOCHROME1" if inverted else "MONOCHROME2"
    made = dicom.with_pixels(dicom.dx(), ramp, bits=12, photometric=kind)
    (tmp_path / "a.dcm").write_bytes(dicom.file(made))
    image = anonymize.read(tmp_path / "a.dcm")[0, 0]
    assert image.shape == (48, 64)
    assert (image[:, 0] > image[:, -1]).all() == inverted
    assert image.min() >= 0
    assert image.max() <= 1


def test_read_names_no_file(tmp_path):
    path = tmp_path / "Smith^Anna.png"
    with pytest.raises(DataError, match="must be a file that can be read") as caught:
        anonymize.read(path)
    assert "Smith" not in str(caught.value)
    path.write_text("no image")
    with pytest.raises(DataError, match="holds no radiograph") as caught:
        anonymize.read(path)
    assert "Smith" not in str(caught.value)


def test_the_transform_is_the_method_without_metadata():
    image = MetaTensor(torch.rand(1, 16, 24), meta={"filename_or_obj": "smith.dcm"})
    transform = anonymize.Anonymized("image", "down-sampling:factor=4")
    found = transform({"image": image, "label": 1})
    assert type(found["image"]) is torch.Tensor
    expected = anonymize.load("down-sampling:factor=4")(image.as_tensor()[None])[0]
    assert torch.equal(found["image"], expected)
    assert found["label"] == 1
    with pytest.raises(UsageError, match=r"image 'image' must have shape \(1, H, W\)"):
        transform({"image": torch.rand(16, 24)})
    with pytest.raises(KeyError):
        transform({"picture": image})
    assert anonymize.Anonymized("image", "identity", allow_missing_keys=True)({}) == {}


@pytest.mark.usefixtures("undrawn")
def test_evaluate_gives_frames_and_a_figure(tmp_path):
    method = anonymize.load("down-sampling:factor=8")
    found = attacks.evaluate(
        [method, "identity"], attackers=["training-free"], options=FEW, out=tmp_path / "out"
    )
    rows = found.frame.query("kind == 'privacy' and figure == 'auc'")
    assert rows["method"].tolist() == ["real images", "down-sampling factor=8"]
    direct = [m.privacy["training-free"].auc.mean for m in found.results.methods]
    assert rows["mean"].tolist() == direct
    assert direct[0] > direct[1] > 0.5
    assert {"name", "passed", "message"} <= set(found.checks.columns)
    assert found.figure().axes
    assert Results.read(tmp_path / "out/results.json") == found.results
    assert (tmp_path / "out/report.html").is_file()
    assert repr(found).startswith("Evaluated(real images, down-sampling factor=8; failed checks: ")
    with pytest.raises(UsageError, match="neither a run, a model file nor a method"):
        attacks.evaluate(["no-such"], options=FEW, out=tmp_path / "other")
    with pytest.raises(UsageError, match=r"results of something else .*choose another out"):
        attacks.evaluate(["dp-pix"], attackers=["training-free"], options=FEW, out=tmp_path / "out")


@pytest.mark.whole
def test_link_gives_the_ranking_and_what_it_is_worth(tmp_path):
    found = attacks.link("phantom:", "phantom:", options=FEW, out=tmp_path / "attack")
    assert len(found.frame) == 120 * 5
    assert found.frame["rank"].max() == 5
    assert found.frame["probability"].between(0, 1).all()
    assert 0.5 < found.figures.loc["auc", "mean"] <= 1
    assert found.figures.index[0] == "auc, matched"  # drawn images have findings, sex, age, view
    assert {"linkage_risk", "R_s"} < {*found.figures.index}
    learnt = found.prepared.learnt
    assert learnt.matched_by == ("findings", "sex", "age", "view")
    assert learnt.matched or learnt.unmatched == "none is alike in findings, sex, age, view"
    assert found.sheet().startswith(b"\x89PNG")
    assert repr(found) == "Linked(120 released against 120 real images)"
    assert (tmp_path / "attack").stat().st_mode & 0o777 == 0o700
