"""Manifests, labels and folders of a release that somebody changed."""

import gzip
import io
import json
import os
import struct
from functools import partial

import numpy as np
from corpus import Case, each
from dicom_specimens import changed, file
from label_specimens import box_of, coco, ellipse, nifti_mask, palette_mask
from label_specimens import picture as shown
from PIL import Image
from release_specimens import KINDS, chunk, png, rows, table_of
from tampered import NOTE, agreeing, passed, public_key, released, spoiled

from anonymize.release.labels import account

# Manifests

PNG = {"a.png": KINDS["gray8.png"]}


def manifest(folder, *, change, table="manifest.csv", base=lambda: released(PNG)):
    return spoiled(folder, base(), table, change)


def cells(values, data):
    return table_of([{**row, **values} for row in rows(data)])


def cell(name, value):
    return partial(cells, {name: value})


MANIFEST = {
    "a date in the method": cell("method", "wave-19700302"),
    "a sentence for a method": cell("method", "wave-" * 9 + "anna"),
    "underscores in a number": cell("ssim", "0.1_9_7"),
    "digits behind a number": cell("ssim", "0.97019700302"),
    "zeros before a number": cell("mu", "000.05"),
    "a power for a number": cell("mu", "5e-2"),
    "a plus before a number": cell("min_jacobian", "+0.9"),
    "a similarity that there is not": cell("ssim", "1970.03"),
    "a displacement wider than any picture": cell("displacement_max_px", "1.97003e+07"),
    "a displacement in mm of nothing": cell("displacement_max_mm", "19.7003"),
    "a mean above the largest": cell("displacement_mean_px", "9999"),
    "a negative length": cell("displacement_mean_px", "-1"),
    "a strength below zero": cell("mu", "-0.05"),
    "regions of text": cell("text_regions", "4711077"),
    "regions of text with a point": cell("text_regions", "1.5"),
    "zeros before a count": partial(
        cells, {"release_inputs": "0001", "release_ok": "01", "release_quarantined": "000"}
    ),
    "counts of a data set": partial(
        cells, {"release_inputs": "19700302000", "release_skipped": "19700301999"}
    ),
    "quotes": lambda d: d.replace(b"a.png", b'"a.png"'),
    "other ends of lines": lambda d: d.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda d: b"\xef\xbb\xbf" + d,
    "an empty line": lambda d: d + b"\n",
    "no last end of line": lambda d: d[:-1],
    "quotes in the header": lambda d: b'"output"' + d.removeprefix(b"output"),
    "two files of one name": lambda d: d + d.splitlines(keepends=True)[1],
    "no row": lambda d: d.splitlines(keepends=True)[0],
    "a comment": lambda d: d + b"# " + NOTE + b"\n",
}

# Labels

ELLIPSE = ellipse()
BOX = {"bbox": box_of(ELLIPSE), "area": 100.0, "iscrowd": 0}
IMAGES = {"a.png": shown(ELLIPSE)}
GIVEN = {
    "a_lungs.png": palette_mask(ELLIPSE * 3),
    "a_heart.nii": nifti_mask(ELLIPSE, compressed=False),
    "a_aorta.nii.gz": nifti_mask(ELLIPSE),
    "boxes.json": coco(["a.png"], [(1, BOX), (1, {"keypoints": [20, 18, 2]})]),
    "t.csv": b"path,x_min,y_min,x_max,y_max,label\na.png,5,6,20,30,nodule\n",
}


def labelled():
    return released(IMAGES, GIVEN)


def label(folder, *, name, change):
    return spoiled(folder, labelled(), f"labels/{name}", change)


def annotated(change, data):
    content = json.loads(data)
    change(content)
    return json.dumps(content, sort_keys=True).encode() + b"\n"


def more(place, **values):
    def change(content):
        for part in content[place]:
            part.update(values)

    return partial(annotated, change)


def unused_colour(data):
    at = data.index(b"PLTE") + 4
    return png(
        np.asarray(Image.open(io.BytesIO(data))), 2, 3,
        palette=np.frombuffer(data[at : at + 6] + NOTE[:3] + data[at + 9 : at + 12], np.uint8),
    )  # fmt: skip


def used_colours(data):
    """What a class's colour is; whoever chooses it could write with it."""
    palette = np.zeros((4, 3), np.uint8)
    palette[[0, 3]] = 0x19, 0x70, 0x03  # no text to a search
    return png(np.asarray(Image.open(io.BytesIO(data))), 2, 3, palette=palette)


def header_byte(at, part, data):
    return data[:at] + part + data[at + len(part) :]


def zipped(data, **options):
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", **options) as stream:
        stream.write(gzip.decompress(data))
    return file.getvalue()


def in_blocks(data):
    """A gzip file of stored blocks as long as the letters of a note are high."""
    plain, parts, at = gzip.decompress(data), [], 0
    for size in NOTE:
        parts.append(b"\0" + struct.pack("<HH", size, size ^ 0xFFFF) + plain[at : at + size])
        at += size
    rest = len(plain) - at
    parts.append(b"\1" + struct.pack("<HH", rest, rest ^ 0xFFFF) + plain[at:])
    return data[:10] + b"".join(parts) + data[-8:]


LABELS = {
    ("labels/a_lungs.png", "a colour that is not in use"): unused_colour,
    ("labels/a_lungs.png", "colours that are in use"): used_colours,
    ("labels/a_lungs.png", "a text"): lambda d: d[:33] + chunk(b"tEXt", b"a\0" + NOTE) + d[33:],
    ("labels/a_heart.nii", "a description"): partial(header_byte, 148, NOTE),
    ("labels/a_heart.nii", "an intent"): partial(header_byte, 328, NOTE[:16]),
    ("labels/a_heart.nii", "bytes behind the end"): lambda d: d + NOTE,
    ("labels/a_aorta.nii.gz", "a name"): partial(zipped, filename="Zlatarov", mtime=0),
    ("labels/a_aorta.nii.gz", "a time"): partial(zipped, filename="", mtime=5_184_000),
    ("labels/a_aorta.nii.gz", "two parts"): lambda d: d + gzip.compress(NOTE, mtime=0),
    ("labels/a_aorta.nii.gz", "blocks of chosen lengths"): in_blocks,
    ("boxes.json", "a field of an image"): more("images", flickr="Zlatarov"),
    ("boxes.json", "a field of an annotation"): more("annotations", name="Zlatarov"),
    ("boxes.json", "a keypoint's name of an annotation"): more("annotations", counts="Zlatarov"),
    ("boxes.json", "a list of texts"): more("annotations", keypoints=["Zlatarov", 1, 2]),
    ("boxes.json", "a picture of a category"): more("categories", file_name="Zlatarov"),
    ("boxes.json", "a category that is not in use"): partial(
        annotated, lambda c: c["categories"].append({"id": 19700302, "name": "Zlatarov"})
    ),
    ("boxes.json", "an image that is not released"): more("images", file_name="Zlatarov.png"),
    ("boxes.json", "digits behind a number"): more("annotations", bbox=[1.19700302, 2.0, 3.0, 4.0]),
    ("boxes.json", "a text for a number"): more("annotations", area="Zlatarov"),
    ("boxes.json", "one key twice"): lambda d: d.replace(
        b'{"annotations"', b'{"annotations": [], "annotations"'
    ),
    ("boxes.json", "white space"): lambda d: json.dumps(json.loads(d), indent=3).encode(),
    ("boxes.json", "letters by their numbers"): lambda d: d.replace(b'"lung"', b'"l\\u0075ng"'),
    ("boxes.json", "bytes behind the end"): lambda d: d + b" " * 19,
    ("t.csv", "an image that is not released"): lambda d: d.replace(b"a.png", b"Zlatarov.png"),
    ("t.csv", "a text for a number"): lambda d: d.replace(b"nodule", b'=HYPERLINK("x")'),
    ("t.csv", "a formula for a name"): lambda d: d.replace(b",label", b",@label"),
    ("t.csv", "digits behind a number"): lambda d: d.replace(b",nodule", b"19700302,nodule"),
    ("t.csv", "a cell of words"): lambda d: d.replace(b"nodule", b"Zlatarov Anna " * 9),
    ("t.csv", "quotes"): lambda d: d.replace(b"nodule", b'"nodule"'),
    ("t.csv", "an empty row"): lambda d: d + b",,,,,\n",
    ("t.csv", "a byte order mark"): lambda d: b"\xef\xbb\xbf" + d,
    ("t.csv", "other columns"): lambda d: b"a,b\n1,Zlatarov\n",
}
ACCOUNT = {
    "zeros before a count": lambda d: d.replace(b",1,", b",0001,"),
    "a miss of years": lambda d: d.replace(b",0.0", b",1970.0", 1),
    "digits behind a miss": lambda d: d.replace(b",0.0", b",0.019700302", 1),
    "a picture for a table": lambda d: d.replace(b",coco,,", b",coco,a.png,"),
    "a mask of nobody": lambda d: d.replace(b",mask,a.png,", b",mask,Zlatarov.png,"),
    "a mask of no image": lambda d: d.replace(b",mask,a.png,", b",mask,,"),
    "points that fold": lambda d: d.replace(b",0\n", b",19700302000\n", 1),
    "points of a mask that fold": lambda d: d.replace(b",1,,\n", b",1,,47110\n", 1),
    "a miss of a mask": lambda d: d.replace(b",1,,\n", b",1,0.197003,\n", 1),
    "parts of a mask": lambda d: d.replace(b",1,,\n", b",47110,,\n", 1),
    "points that neither fold nor do not": lambda d: d.replace(b",0\n", b",\n", 1),
    "no row": lambda d: d.splitlines(keepends=True)[0],
}


def looked(folder, *, dicom):
    """That text was looked for, in a release in which nobody did; a DICOM file knows it itself, and
    of two other files the one."""
    files = {"a.dcm": file(changed())} if dicom else {**PNG, "b.png": KINDS["gray4.png"]}

    def change(data):
        first, *others = rows(data)
        return table_of([{**first, "text_regions": "0"}, *others])

    return spoiled(folder, released(files), "manifest.csv", change)


# Folders


def folder_of(folder, *, change):
    return passed(folder, released(PNG), change)


def attribute(path, out, *, name="user.patient"):
    os.setxattr(out / path, name, NOTE)


def acl(out):
    """A user of number 19700302 who may read a file."""
    entries = [(1, 6, -1), (2, 4, 19700302), (4, 4, -1), (16, 4, -1), (32, 4, -1)]
    content = struct.pack("<I", 2)
    content += b"".join(struct.pack("<HHI", t, p, i & 0xFFFFFFFF) for t, p, i in entries)
    os.setxattr(out / "a.png", "system.posix_acl_access", content)


def second_name(path, out):
    os.link(out / path, out.parent / "Zlatarov")


def twice(out):
    (out / "b.png").unlink()
    os.link(out / "a.png", out / "b.png")


FOLDERS = {
    "an attribute of a file": partial(attribute, "a.png"),
    "an attribute of the manifest": partial(attribute, "manifest.csv"),
    "an attribute of the folder": partial(attribute, ""),
    "an access list": acl,
    "a bit of the mode": lambda out: (out / "a.png").chmod(0o4644),
    "a second name": partial(second_name, "a.png"),
    "a second name of the manifest": partial(second_name, "manifest.csv"),
    "a hidden file": lambda out: (out / ".note").write_bytes(NOTE),
    "a signature that is none": lambda out: (out / "manifest.sig").write_bytes(NOTE),
    "a signature that is a link": lambda out: (out / "manifest.sig").symlink_to("/etc/hostname"),
    "a dangling link for a signature": lambda out: (out / "manifest.sig").symlink_to(NOTE.decode()),
    "a folder for a signature": lambda out: (out / "manifest.sig").mkdir(),
}
if os.geteuid() == 0:
    FOLDERS["an attribute that only root may write"] = partial(
        attribute, "a.png", name="security.patient"
    )

# Signatures


def signed(folder, *, change):
    files = released(PNG, sign=True)
    key = folder / "key.pub"
    key.write_bytes(public_key(PNG, sign=True))
    return passed(folder, change(files), public_key=key)


def another_picture(files):
    other = released({"a.png": KINDS["gray4.png"]})
    return agreeing({**files, "a.png": other["a.png"]})


def by_another(files):
    return {**files, "manifest.sig": released({"b.png": PNG["a.png"]}, sign=True)["manifest.sig"]}


def all_of_another(files):
    return released({"a.png": KINDS["gray4.png"]}, sign=True)


def put(change):
    return lambda files: {**files, "manifest.sig": change(files["manifest.sig"])}


def with_labels(files):
    return {**files, "labels/manifest.csv": ",".join(account.COLUMNS).encode() + b"\n"}


SIGNATURES = {
    "another picture": another_picture,
    "another figure": lambda files: {
        **files, "manifest.csv": cells({"ssim": "0.5"}, files["manifest.csv"])
    },
    "no signature": lambda files: {k: v for k, v in files.items() if k != "manifest.sig"},
    "an empty signature": put(lambda s: b""),
    "a signature of another release": by_another,
    "all of another owner": all_of_another,
    "one digit": put(lambda s: bytes((s[0] ^ 1,)) + s[1:]),
    "capitals": put(bytes.upper),
    "a space in it": put(lambda s: s[:9] + b" " + s[9:]),
    "bytes behind it": put(lambda s: s + NOTE),
    "an empty table of labels": with_labels,
}  # fmt: skip


TABLE = "labels/manifest.csv"
LOOKED = {"text looked for, DICOM": True, "text looked for, one of two": False}
CASES = [
    *each("tampered manifest", manifest, MANIFEST, "change"),
    *each("tampered manifest", looked, LOOKED, "dicom"),
    *each("tampered label manifest", manifest, ACCOUNT, "change", table=TABLE, base=labelled),
    *(
        Case("tampered labels", f"{what} ({name})", partial(label, name=name, change=change))
        for (name, what), change in LABELS.items()
    ),
    *each("tampered folder", folder_of, FOLDERS, "change"),
    *each("tampered signed release", signed, SIGNATURES, "change"),
]
