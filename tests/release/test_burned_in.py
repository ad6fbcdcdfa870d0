"""Text burned into pictures."""

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from release_specimens import KINDS, Wave, command, fill, pillow, pixels, png, refused, rows, tree
from text_specimens import gray, letters, phantoms, specimen, specimens

import anonymize
from anonymize.errors import UsageError
from anonymize.release import pipeline, transform, verify
from anonymize.release.burned_in import along, find, policy, reader, remove, views
from anonymize.release.burned_in.find import Line
from anonymize.release.burned_in.options import MUCH, TextOptions
from anonymize.release.reasons import Reason, Refused

REMOVE = TextOptions("remove")
BOX = np.array([[10, 10], [90, 10], [90, 30], [10, 30]], np.float32)


@pytest.fixture(scope="session")
def phantom():
    return phantoms(1, size=512)[0]


@pytest.fixture(scope="session")
def written(phantom):
    """The phantom with a name."""
    choice = {"kind": "name", "font": "sans bold", "height": 28, "tone": "white"}
    rng = np.random.default_rng(0)
    return specimen(phantom, rng, text="DOE^JANE 1957", **choice, angle=0, place="edge")


@pytest.fixture
def quick(ocr, monkeypatch):
    """One look at one size, which is enough for large letters."""
    monkeypatch.setattr(find, "SIDES", (512,))


def line(read, *, found=0.7, sure=0.99, height=0.03):
    return Line(BOX, found, read, sure, height)


TEXT = [line("DOE"), line("12.03.57", sure=0.61), line("b"), line("wudesxog", sure=0.4)]
TEXT += [line("①", sure=0.95), line("b", sure=0.94, found=0.65), line("NO", sure=0.7)]
TEXT += [replace(line("0", found=0.77), faint=True), replace(line("DOE"), faint=True)]
TEXT += [replace(line("5HNR8ND", sure=0.42), faint=True), line("HP", found=0.6, sure=0.44)]
TEXT += [line("PVS", found=0.31), line("--: S", sure=0.7), line("C1", height=0.3), line("Ω 7")]
NO_TEXT = [line(""), line("--"), line("1", sure=0.9), line("中"), line("上一", sure=0.9)]
NO_TEXT += [line("le", height=0.15, sure=0.7), replace(line("b"), faint=True)]
NO_TEXT += [replace(line("DOE", sure=0.9), faint=True, sideways=True)]
NO_TEXT += [replace(line("5HNR8ND", sure=0.42), faint=True, clear=False)]
NO_TEXT += [replace(line("V"), ends=False), line("1", found=0.5), line("OL", sure=0.7, found=0.5)]
NO_TEXT += [line("11", height=0.1, found=0.3), line("O", height=0.2), line("DOE", height=0.4)]
NO_TEXT += [line("wudesxog", sure=0.2), line("DOE", sure=0.5, found=0.45)]
NO_TEXT += [replace(line("DOE", sure=0.5, found=0.55), sideways=True)]
NO_TEXT += [line("DOE", sure=0.5, found=0.55, height=0.06)]
NO_TEXT += [replace(line("DOE", sure=0.5, found=0.5), corners=BOX * [0.25, 1])]


def test_what_reads_like_text_is_text():
    assert [one for one in TEXT if not one.is_text or one.is_side_marker] == []


def test_what_may_be_anatomy_is_no_text():
    assert [one for one in NO_TEXT if one.is_text] == []


def test_side_markers():
    markers = ["L", "R", "(L)", "(R)", "LEFT", "Right", "RT"]
    others = ["L19", "LI", "D", "R.", "LR"]
    assert [read for read in markers + others if line(read).is_side_marker] == markers
    assert [read for read in markers if line(read, sure=0.8).is_side_marker] == []


def test_a_side_marker_that_lies_on_text_is_text(monkeypatch):
    moved = Line(BOX + 200, 0.7, "R", 0.99, 0.03)
    monkeypatch.setattr(find, "lines", lambda *asked: [line("L"), line("L 19"), moved])
    text, markers = find.find([], (8, 8))
    assert [x.read for x in text] == ["L 19", "L"]
    assert [x.read for x in markers] == ["R"]


def test_a_side_marker_goes_with_text_in_every_view_of_it():
    beside = [Line(BOX + np.array([shift, 0]), 0.7, "R", 0.99, 0.03) for shift in (70, 140, 300)]
    on_text, alone = find.divided(beside, [line("DOE")])
    assert [x.box[0] for x in on_text] == [80, 150]
    assert [x.box[0] for x in alone] == [310]


@pytest.mark.parametrize(
    ("right", "down", "stays"), [(0, 16, True), (0, -16, True), (0, 14, False), (78, 0, False)]
)
def test_a_side_marker_above_text_stays_where_only_margins_touch(right, down, stays):
    """A box is higher than its letters; beside text the margin may hide the first of them."""
    marker = Line(BOX + np.array([right, down]), 0.7, "L", 0.99, 0.03)
    assert find.divided([marker], [line("PVS")]) == (([], [marker]) if stays else ([marker], []))


def test_a_side_marker_is_not_read_upside_down():
    said = iter([("", 0.0), ("", 0.0), ("7", 0.98), ("", 0.0)])

    class Upright:
        def read(self, crop):
            return next(said)

    read, sure, sideways = find.read(Upright(), np.zeros((20, 20, 3), np.uint8))
    assert (read, sure, sideways) == ("L", 0.98, False)


@pytest.mark.parametrize(("places", "said"), [((0,), "1 line"), ((0, 0, 40), "2 lines")])
def test_a_refusal_says_whether_text_was_detected_or_may_be_left(
    monkeypatch, phantom, places, said
):
    seen = [Line(BOX + place, 0.7, "DOE", 0.99, 0.03) for place in places]
    monkeypatch.setattr(policy, "_found", lambda *asked: (seen, []))
    monkeypatch.setattr(along, "beside", lambda *asked: seen)
    for call, end in (
        (lambda: policy.clean(gray(phantom), TextOptions("detect")), "detected"),
        (lambda: policy.clean(gray(phantom), REMOVE), "may be left"),
        (lambda: policy.look_again(gray(phantom), REMOVE), "may be left"),
    ):
        with refused(Reason.BURNED_IN_TEXT, f"{said} of text {end}"):
            call()


@pytest.mark.parametrize("fill", ["inpaint", "black"])
def test_a_name_is_removed_and_the_side_marker_stays(quick, written, phantom, fill):
    options = TextOptions("remove", fill)
    made, report = policy.clean(gray(written.picture), options)
    clean = made.pixels
    changed = clean[..., 0] != written.picture
    assert (changed | ~written.strokes)[written.strokes].mean() > 0.99
    # The edges of black are strokes, too: beside a letter, they may be taken for some.
    assert changed.mean() < {"inpaint": 0.05, "black": 0.08}[fill]
    assert report.regions >= 1
    assert report.side_markers == 1
    where = changed & written.strokes
    if fill == "black":
        assert (clean[..., 0][where] == 0).all()
    else:
        off = np.abs(clean[..., 0].astype(int) - phantom)[written.strokes]
        assert (
            off.mean() < np.abs(written.picture.astype(int) - phantom)[written.strokes].mean() / 4
        )
    policy.look_again(made, options)
    assert "DOE" not in repr(report) + report.method
    assert len(report.method) <= 64
    with refused(Reason.BURNED_IN_TEXT):
        policy.look_again(made, TextOptions("remove", side_markers=False))


def test_nothing_is_changed_where_there_is_no_text(quick, phantom):
    made, report = policy.clean(gray(phantom), REMOVE)
    np.testing.assert_array_equal(made.pixels[..., 0], phantom)
    assert report.regions == 0


def test_deep_and_coloured_pixels_are_cleaned_alike(quick, written):
    deep = written.picture.astype(np.uint16) * 16
    clean = policy.clean(gray(deep), REMOVE)[0].pixels
    assert clean.dtype == np.uint16
    assert (clean[..., 0] != deep)[written.strokes].mean() > 0.99
    colours = np.repeat(written.picture[..., None], 3, 2)
    colours[..., 2] //= 2
    clean = policy.clean(gray(colours), REMOVE)[0].pixels
    assert (clean != colours)[written.strokes].mean() > 0.99


def test_a_release_removes_text_before_the_warp(quick, release, written, phantom):
    files = {"b.png": pillow(phantom, "PNG"), "c.jpg": pillow(written.picture, "JPEG", quality=90)}
    files["deep.png"] = png(written.picture.astype(np.uint16) * 257, 16, 0)
    result = release(files, Wave(0.005), text=REMOVE)
    assert result.summary.anonymized == 3
    assert (result.summary.text, result.summary.cleaned) == ("remove", 2)
    policy.look_again(gray(pixels(result.files["c.jpg"])), REMOVE)
    manifest = rows(result.files["manifest.csv"])
    assert [int(row["text_regions"]) > 0 for row in manifest] == [False, True, True]
    listed = rows((release.private / "text.csv").read_bytes())
    sheets = {row["input"]: row["sheet"] for row in listed}
    assert set(sheets) == {"c.jpg", "deep.png"}
    sheet = pixels((release.private / sheets["c.jpg"]).read_bytes())
    assert sheet.shape == (2 * policy.SHEET + policy.CAPTION, 2 * policy.SHEET)
    assert sheet[-policy.CAPTION :].max() == 255  # how much was filled
    changed = (pixels(result.files["c.jpg"]) != written.picture).mean()
    shares = {row["input"]: float(row["filled"]) for row in listed}
    assert 0 < shares["c.jpg"] < changed
    assert shares["c.jpg"] == pytest.approx(shares["deep.png"], abs=0.01)
    assert result.summary.much_filled == sum(share > MUCH for share in shares.values()) > 0
    report = verify.verify(release.out)
    assert (report.text_not_looked_for, report.text_not_told) == (0, 0)
    assert (release.private / sheets["c.jpg"]).stat().st_mode & 0o777 == 0o600
    assert release({}, Wave(0.005), text=REMOVE).summary.already_done == 3
    with pytest.raises(UsageError, match="as the extra ocr is installed or not"):
        release({}, Wave(0.005), text=TextOptions("remove", "black"))


def test_text_is_detected_or_kept_as_asked(quick, release, written, phantom):
    files = {"a.png": pillow(written.picture, "PNG"), "b.png": pillow(phantom, "PNG")}
    result = release(files, Wave(0.005), text=TextOptions("detect"))
    assert result.quarantine == {"a.png": "burned-in-text"}
    assert set(result.files) == {"b.png", "manifest.csv"}


def test_a_picture_in_which_text_is_left_is_quarantined(quick, release, written, monkeypatch):
    report = policy.TextReport(0, 0, "inpaint", "")
    monkeypatch.setattr(policy, "clean", lambda radiograph, options: (radiograph, report))
    result = release({"a.png": pillow(written.picture, "PNG")}, Wave(0.005), text=REMOVE)
    assert result.quarantine == {"a.png": "burned-in-text"}
    assert set(result.files) == {"manifest.csv"}


def test_without_the_extra_looking_is_refused_before_anything_is_written(release):
    with pytest.raises(UsageError, match=r"--text remove needs .*anonymize-cxr\[ocr\]"):
        release({"a.png": b"x"}, text=REMOVE)
    assert not release.out.exists()


def test_options_are_checked():
    with pytest.raises(UsageError, match="keep, detect, remove"):
        TextOptions("look")
    with pytest.raises(UsageError, match="inpaint, black"):
        TextOptions(fill="white")


def test_the_command_says_aloud_that_nobody_looked(tmp_path, phantom):
    fill(tmp_path / "in", {"a.png": pillow(phantom, "PNG")})
    paths = tmp_path / "in", tmp_path / "out"
    result = command(*paths, code=0)
    assert "NOT LOOKED FOR" in result.stderr
    assert "NOT LOOKED FOR" in result.stdout
    assert "warning: text" not in command(*paths, "--text", "keep").stderr
    assert "anonymize-cxr[ocr]" in command(*paths, "--text", "detect", code=2).stderr


def test_who_gives_no_options_has_what_the_command_does(quick, release, monkeypatch, tmp_path):
    fill(release.source, {"a.png": KINDS["gray8.png"]})
    for there, mode in ((True, "remove"), (False, "keep")):
        monkeypatch.setattr(reader, "available", lambda there=there: there)
        asked = release.source, tmp_path / mode, Wave()
        assert pipeline.apply(*asked).text == mode
        assert [planned.action for planned in pipeline.plan(*asked)] == ["done"]


@pytest.mark.slow
@pytest.mark.processes
def test_workers_give_the_same_bytes_and_write_nothing(ocr, release, written, tmp_path):
    """In real worker processes, with the command's default, which is to remove."""
    files = {"a.png": pillow(written.picture, "PNG"), "b.jpg": pillow(written.picture, "JPEG")}
    fill(release.source, files)
    trees = []
    for out, workers in (("one", "1"), ("two", "2")):
        asked = release.source, tmp_path / out, "--workers", workers
        result = command(*asked, model="down-sampling:factor=2", code=0)
        assert "removed from 2 images" in result.stdout
        trees.append(tree(tmp_path / out))
    assert trees[0] == trees[1]
    policy.look_again(gray(pixels(trees[0]["a.png"])), REMOVE)


@pytest.mark.slow
def test_made_up_names_dates_and_numbers_are_removed(ocr):
    """24 of the benchmark's; it measures more (tests/benchmarks/bench_text.py)."""
    gone = []
    for one in specimens(24, seed=5):
        try:
            clean = policy.clean(gray(one.picture), REMOVE)[0].pixels
        except Refused:
            gone.append(1)
            continue
        same = clean[..., 0] == one.picture
        gone.append(1 - (same & one.strokes & (one.picture != one.clean)).sum() / one.strokes.sum())
    assert np.mean(np.array(gone) > 0.97) >= 0.85


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("000001-3.png", (523, 13, 568, 23)),
        pytest.param("000003-4.png", (436, 11, 502, 24), marks=pytest.mark.whole),
    ],
)
def test_dates_that_were_made_smaller_are_found(ocr, shared, name, date):
    """They are legible to a person, and hardly to the reader."""
    picture = np.asarray(Image.open(shared / "data/covid19/images" / name).convert("L"))
    text, _ = find.find(views.views(gray(picture)), picture.shape)
    found = remove.region(text, picture[..., None])
    left, top, right, bottom = date
    assert found[top : bottom + 1, left : right + 1].mean() > 0.9


@pytest.mark.parametrize(
    ("height", "step"),
    [
        (12, 25),
        pytest.param(16, 20, marks=pytest.mark.whole),
        pytest.param(28, 15, marks=pytest.mark.whole),
        (56, -12),
    ],
)
def test_letters_of_little_contrast_in_noise_are_removed_whole(ocr, height, step):
    """A person reads them; without the view of less noise and a second look all of them stay."""
    rng, drawn = np.random.default_rng(0), letters("DOE^JANE 1957", "sans", height, 0) / 255
    picture = phantoms(1)[0] + rng.normal(0, 2, (1024, 1024))
    picture[500 : 500 + drawn.shape[0], 350 : 350 + drawn.shape[1]] += step * drawn
    picture = np.round(picture.clip(0, 255)).astype(np.uint8)
    clean, _ = policy.clean(gray(picture), REMOVE)
    changed = (clean.pixels[..., 0] != picture)[500:, 350:]
    assert changed[: drawn.shape[0], : drawn.shape[1]][drawn > 0.4].mean() > 0.95


@pytest.mark.whole
def test_small_letters_of_a_large_film_are_removed(ocr):
    """Legible as it is stored, and nowhere else; pixelated they would be a third as tall."""
    [one] = specimens(1, seed=2)
    large = cv2.resize(one.clean, (2600, 2600), interpolation=cv2.INTER_CUBIC)
    drawn = letters("SMITH JOHN 19700203", "sans", 8, 0)
    strokes = np.zeros(large.shape, bool)
    for top, left in ((130, 130), (1500, 1600)):
        part = slice(top, top + drawn.shape[0]), slice(left, left + drawn.shape[1])
        large[part], strokes[part] = np.maximum(large[part], drawn), drawn > 100
    text, _ = find.find(views.views(gray(large)), large.shape)
    assert not remove.region(text, large[..., None])[strokes].any()
    clean, report = policy.clean(gray(large), REMOVE)
    assert report.regions == 2
    assert (clean.pixels[..., 0] == large)[strokes].mean() < 0.03


@pytest.mark.parametrize(
    "name",
    [
        "11547_2020_1202_Fig1_HTML-a.png",
        pytest.param("11547_2020_1200_Fig2_HTML-a.png", marks=pytest.mark.whole),
    ],
)
def test_what_was_filled_is_no_text_once_it_is_moved(ocr, shared, name):
    """Smooth values, rounded, have steps of one gray level, and local contrast shows them."""
    picture = np.asarray(Image.open(shared / "data/covid19/images" / name).convert("L"))
    made, report = policy.clean(gray(picture), REMOVE)
    assert report.regions
    model = anonymize.load("random-warp:mu=0.01,seed=0")
    [field] = transform.predict(model, transform.view(made))
    policy.look_again(transform.anonymize(made, field, model)[0], REMOVE)


@pytest.mark.slow
def test_the_texts_of_real_files_are_found(ocr, shared):
    truth = json.loads(Path(__file__).with_name("burned_in_truth.json").read_text())["originals"]
    missed = total = 0
    for name, marks in truth.items():
        picture = np.asarray(Image.open(shared / "data/originals" / name).convert("L"))
        text, markers = find.find(views.views(gray(picture)), picture.shape)
        boxes = [x.box for x in text + markers]
        for kind, left, top, right, bottom in marks:
            if kind == "text":
                x, y = (left + right) / 2, (top + bottom) / 2
                total += 1
                missed += not any(b[0] < x < b[2] and b[1] < y < b[3] for b in boxes)
    assert total == 22
    assert missed == 0
