"""Fail closed: whatever goes wrong with a file, its pixels are not in OUT; all are counted."""

import os
import socket
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
from bombs import BOMBS, tagged
from dicom_specimens import capture, changed, file
from PIL import Image
from release_specimens import (
    KINDS,
    SCENE16,
    Broken,
    Constant,
    Still,
    fill,
    pillow,
    png,
    saved,
    scene,
    tiff,
)
from unreadable import shut

from anonymize.release import encode, formats, storage, transform, verify
from anonymize.release.checking import inspection, verification
from anonymize.release.raster import containers, read, write
from anonymize.release.reasons import Reason

GOOD = KINDS["gray8.png"]
JPEG = KINDS["gray.jpg"]


def animation(format, **options):
    frames = [Image.fromarray(scene()), Image.fromarray(scene()[::-1])]
    return saved(frames[0], format, save_all=True, append_images=frames[1:], **options)


def twelve_bit_jpeg():
    at = JPEG.index(b"\xff\xc0")
    return JPEG[: at + 4] + b"\x0c" + JPEG[at + 5 :]


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def captured(**header):
    return file(changed(capture, **header))


SPECIMENS = {
    "notes.txt": (b"Jane Doe, 1970", "not-an-image"),
    "table.csv": ("a,b\nä,1\n".encode("latin-1"), "not-an-image"),
    "empty": (b"", "not-an-image"),
    ".DS_Store": (b"\0\0\0\1Bud1", "not-an-image"),
    "Thumbs.db": (b"\xd0\xcf\x11\xe0\0\0", "not-an-image"),
    "._a.png": (b"\0\x05\x16\x07\0\2", "not-an-image"),
    "a.dcm": (bytes(128) + b"DICM" + bytes(20), "dicom"),
    "no-extension": (bytes(128) + b"DICM" + bytes(20), "dicom"),
    "old.ima": (b"\x08\0\x05\0\x0a\0\0\0ISO_IR 100", "dicom"),
    "no-preamble": (b"\x08\0\x05\0\x0a\0\0\0ISO_IR 100", "dicom"),
    "a.gif": (animation("GIF"), "unsupported-format"),
    "gif.png": (animation("GIF"), "unsupported-format"),
    "a.webp": (pillow(scene(), "WEBP"), "unsupported-format"),
    "a.bmp": (pillow(scene(), "BMP"), "unsupported-format"),
    "a.jp2": (b"\0\0\0\x0cjP  \r\n\x87\n", "unsupported-format"),
    "a.pdf": (b"%PDF-1.4", "unsupported-format"),
    "a.svg": (b"<svg/>", "unsupported-format"),
    "a.nii": (bytes(400), "unsupported-format"),
    "fewer-strips.tif": (tagged(t257=1 << 20), "damaged"),
    "big.tif": (tiff(scene(), bigtiff=True), "unsupported-format"),
    "binary": (bytes(range(256)), "unrecognised"),
    "empty.png": (b"", "damaged"),
    "text.png": (b"no image at all", "damaged"),
    "zeros.jpg": (bytes(500), "damaged"),
    "truncated.png": (GOOD[:-40], "damaged"),
    "no-end.png": (GOOD[:-12], "damaged"),
    "checksum.png": (flipped(GOOD, 60), "damaged"),
    "truncated.jpg": (JPEG[: len(JPEG) // 2], "damaged"),
    "head.jpg": (JPEG[:20], "damaged"),
    "truncated.tif": (KINDS["gray8.tif"][:-200], "damaged"),
    "head.tif": (KINDS["gray8.tif"][:6], "damaged"),
    "animated.png": (animation("PNG"), "multi-frame"),
    "pages.tif": (tiff(np.stack([scene(), scene()])), "multi-frame"),
    "phone.jpg": (animation("MPO"), "multi-frame"),
    "float.tif": (tiff(scene().astype(np.float32)), "unsupported-pixels"),
    "signed.tif": (tiff(SCENE16.astype(np.int16)), "unsupported-pixels"),
    "32.tif": (tiff(SCENE16.astype(np.uint32)), "unsupported-pixels"),
    "rgb16.tif": (tiff(scene(65535, 3, dtype=np.uint16), photometric="rgb"), "unsupported-pixels"),
    "rgb16.png": (png(scene(65535, 3, dtype=np.uint16), 16, 2), "unsupported-pixels"),
    "12.jpg": (twelve_bit_jpeg(), "unsupported-pixels"),
    "huge.png": (BOMBS["100-megapixel.png"](), "too-large"),
    "tiny.png": (png(scene(size=(15, 40)), 8, 0), "too-small"),
    "blank.png": (png(scene() * 0 + 9, 8, 0), "no-content"),
    "blank.jpg": (pillow(scene() * 0, "JPEG"), "no-content"),
    "report.dcm": (captured(SOPClassUID="1.2.840.10008.5.1.4.1.1.88.33"), "dicom"),
    "DICOMDIR": (captured(SOPClassUID="1.2.840.10008.1.3.10"), "dicomdir"),
    "frames.dcm": (captured(NumberOfFrames=2), "multi-frame"),
    "said.dcm": (captured(BurnedInAnnotation="YES"), "burned-in-annotation"),
    "dx-said.dcm": (file(changed(BurnedInAnnotation="YES")), "burned-in-annotation"),
    "cut.dcm": (file(changed())[:-5], "damaged"),
    "text.dcm": (b"no image", "damaged"),
}


def test_specimens_are_refused_with_their_reason(release):
    files = {name: content for name, (content, _) in SPECIMENS.items()}
    good = {"good.png": GOOD, "good.dcm": captured()}
    done = release({**files, **good}, workers=2)
    assert done.quarantine == {name: reason for name, (_, reason) in SPECIMENS.items()}
    assert set(done.files) == {*good, "manifest.csv"}
    s = done.summary
    assert (s.inputs, s.anonymized, s.left_out) == (len(SPECIMENS) + 2, 2, 7)
    assert s.quarantined == len(SPECIMENS) - 7
    assert not s.complete


def test_text_alone_beside_radiographs_is_no_failure(release):
    done = release({"a.png": GOOD, "notes.txt": b"x"})
    assert done.summary.complete
    assert done.quarantine == {"notes.txt": "not-an-image"}


def test_links_pipes_sockets_and_folders_that_cannot_be_read(release, tmp_path, monkeypatch):
    fill(tmp_path / "elsewhere", {"real.png": GOOD})
    fill(release.source, {"good.png": GOOD, "locked/a.png": GOOD, "secret.png": GOOD})
    (release.source / "file-link.png").symlink_to(tmp_path / "elsewhere" / "real.png")
    (release.source / "folder-link").symlink_to(tmp_path / "elsewhere")
    (release.source / "dangling").symlink_to("nowhere")
    os.mkfifo(release.source / "pipe.png")
    monkeypatch.chdir(release.source)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket.png")
    really_open = os.open

    def no_open(path, *args, **kwargs):
        if str(path).endswith("secret.png"):
            raise PermissionError(13, "denied")
        return really_open(path, *args, **kwargs)

    shut(monkeypatch, "locked")
    monkeypatch.setattr(os, "open", no_open)
    done = release()
    assert done.quarantine == {
        "file-link.png": "symlink",
        "folder-link": "symlink",
        "dangling": "symlink",
        "pipe.png": "not-a-regular-file",
        "socket.png": "not-a-regular-file",
        "locked": "unreadable",
        "secret.png": "unreadable",
    }
    assert set(done.files) == {"good.png", "manifest.csv"}


def test_names_that_would_overwrite_one_another(release):
    names = ["A.png", "a.png", "b/É.png", "b/E\u0301.png", "manifest.csv", ".anonymize-x.png"]
    names.append("Scan")  # and a folder is called so
    good = dict.fromkeys(["c.png", "scan/1.png"], GOOD)
    done = release({**dict.fromkeys(names, GOOD), **good, "n.txt": b"x", "N.txt": b"x"})
    collisions = dict.fromkeys(names, "name-collision")
    assert done.quarantine == {**collisions, "n.txt": "not-an-image", "N.txt": "not-an-image"}
    assert set(done.files) == {*good, "manifest.csv"}


def test_names_that_are_hashed_overwrite_nothing(release):
    names = ["A.png", "a.png", "manifest.csv", "b", "B/c.png"]
    done = release(dict.fromkeys(names, GOOD), names="hashed")
    assert done.quarantine == {}
    assert len(done.files) == len(names) + 1


def test_a_file_that_vanishes_or_changes(release, monkeypatch):
    real = storage.read_regular

    def disturbed(path, *rest):
        if path.name == "gone.png":
            path.unlink()
        found = real(path, *rest)
        if path.name == "growing.png":
            path.write_bytes(GOOD + b"x")
        return found

    monkeypatch.setattr(storage, "read_regular", disturbed)
    done = release({"gone.png": GOOD, "growing.png": GOOD, "a.png": GOOD})
    assert done.quarantine == {"gone.png": "vanished", "growing.png": "changing"}


@pytest.mark.parametrize(
    ("model", "reason"), [(Still(), "unchanged"), (Broken(), "invalid-result")]
)
def test_a_method_that_fails_releases_nothing(release, model, reason):
    done = release({"a.png": GOOD, "a.jpg": JPEG, "b.tif": KINDS["gray16.tif"]}, model)
    assert set(done.quarantine.values()) == {reason}
    assert set(done.files) == {"manifest.csv"}
    assert done.summary.quarantined == 3


STAGES = [
    (storage, "read_regular"),
    (formats, "recognise"),
    (read, "decode"),
    (transform, "view"),
    (transform, "predict"),
    (transform, "anonymize"),
    (write, "representable"),
    (encode, "encode"),
    (containers, "check"),
    (verification, "verify"),
    (inspection, "reopen"),
    (verification, "similarity"),
]


@pytest.mark.parametrize(("module", "name"), STAGES, ids=[n for _, n in STAGES])
def test_any_stage_that_raises_quarantines(release, monkeypatch, module, name):
    for error in (RuntimeError, MemoryError, OSError, KeyError):
        with monkeypatch.context() as broken:
            stage = Mock(side_effect=error("Jane Doe"))
            broken.setattr(module, name, stage)
            done = release({"a/Jane.png": GOOD})
        assert stage.called
        assert done.files.keys() == {"manifest.csv"}
        assert list(done.quarantine) == ["a/Jane.png"]
        assert "Jane Doe" not in (release.private / "quarantine.csv").read_text()
        assert "Jane Doe" not in (release.private / "journal.jsonl").read_text()
    again = release()
    assert again.quarantine == {}
    assert set(again.files) == {"a/Jane.png", "manifest.csv"}


def test_one_hostile_file_does_not_stop_the_others(release, monkeypatch):
    real = transform.anonymize

    def sometimes(radiograph, *args, **kwargs):
        if radiograph.format == "JPEG":
            raise RuntimeError
        return real(radiograph, *args, **kwargs)

    monkeypatch.setattr(transform, "anonymize", sometimes)
    done = release({"a.png": GOOD, "b.jpg": JPEG, "c.png": GOOD}, batch_size=3)
    assert done.quarantine == {"b.jpg": "failed"}
    assert "RuntimeError" in (release.private / "quarantine.csv").read_text()


@pytest.mark.parametrize(
    "change",
    [
        lambda real, r: GOOD,
        lambda real, r: real(r) + b"trailing",
        lambda real, r: real(r)[:-20],
        lambda real, r: real(r.with_pixels(r.pixels[1:])),
        lambda real, r: real(r.with_pixels(r.pixels ^ 1)),
        lambda real, r: JPEG,
    ],
    ids=["the input", "more", "less", "another size", "other pixels", "another format"],
)
def test_a_wrong_file_is_never_published(release, monkeypatch, change):
    monkeypatch.setattr(encode, "encode", partial(change, encode.encode))
    done = release({"a.png": GOOD})
    assert done.quarantine == {"a.png": "verification"}
    assert set(done.files) == {"manifest.csv"}


def test_a_jpeg_that_decodes_to_the_input_is_not_published(release, monkeypatch):
    monkeypatch.setattr(verification, "JPEG_TOLERANCE", 1000)
    monkeypatch.setattr(containers, "check", lambda format, data: None)
    monkeypatch.setattr(encode, "encode", lambda radiograph: JPEG)
    done = release({"a.jpg": JPEG})
    assert done.quarantine == {"a.jpg": "unchanged"}


@pytest.mark.parametrize("name", ["edge.png", "edge.jpg", "edge.tif"])
def test_a_picture_that_is_moved_out_of_sight_is_not_published(release, name):
    """`anonymize verify` would find nothing in it, and so must the release itself."""
    edge = np.zeros((48, 48), np.uint8)
    edge[:, :16] = 200
    content = pillow(edge, {"png": "PNG", "jpg": "JPEG", "tif": "TIFF"}[name[-3:]], quality=95)
    done = release({name: content, "a.png": GOOD}, Constant(24, 0))
    assert done.quarantine == {name: "no-content"}
    assert set(done.files) == {"a.png", "manifest.csv"}
    assert verify.verify(release.out).sound


def test_an_input_that_turns_bad_takes_its_output_away(release):
    assert "a.png" in release({"a.png": GOOD, "b.png": GOOD}).files
    done = release({"a.png": GOOD[:-30]})
    assert done.quarantine == {"a.png": "damaged"}
    assert set(done.files) == {"b.png", "manifest.csv"}
    assert b"a.png" not in done.files["manifest.csv"]


def test_every_reason_says_what_it_means():
    assert all(r.meaning and r.value == r.name.lower().replace("_", "-") for r in Reason)
    assert [r for r in Reason if r.left_out] == [Reason.NOT_AN_IMAGE, Reason.DICOMDIR]
