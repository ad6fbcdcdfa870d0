"""Label files that break a reader, a spreadsheet or a promise."""

import json
import re
from functools import partial

import numpy as np
from corpus import Case, each, labelled
from dicom_specimens import changed, file
from label_specimens import png_mask
from release_specimens import Gray, fill, pillow, scene

MARKS = (b"4711081", b"DOE^JANE", b"HYPERLINK", b"unused finding")
IMAGE = {"id": 1, "file_name": "a.png", "width": 52, "height": 40}
LUNG = {"id": 1, "name": "lung"}
RING = [10.0, 10.0, 30.0, 10.0, 30.0, 25.0, 10.0, 25.0]


def coco(*annotations, images=(IMAGE,), categories=(LUNG,)):
    made = [{"id": i, "image_id": 1, "category_id": 1, **a} for i, a in enumerate(annotations, 1)]
    content = {"images": list(images), "annotations": made, "categories": list(categories)}
    return json.dumps(content).encode()


def runs(height, width, counts):
    return {"segmentation": {"size": [height, width], "counts": counts}}


HUGE = "9" * 401
MRN = 4711081
JSON = {
    "a list of objects": b'[{"a":1}]',
    "brackets": b"[" * 60_000 + b"]" * 60_000,
    "braces": b'{"a":' * 60_000 + b"1" + b"}" * 60_000,
    "brackets among the images": b'{"annotations":[],"images":' + b"[" * 60_000 + b"]" * 60_000,
    "a number": b"7",
    "null": b"null",
    "a large number": HUGE.encode(),
    "5000 digits": b'{"images":[],"annotations":[],"x":' + b"9" * 5000 + b"}",
    "a large id": coco({"id": int(HUGE)}),
    "a large image id": coco({"image_id": int(HUGE)}, images=[{**IMAGE, "id": int(HUGE)}]),
    "a large box": coco({"bbox": [1, 2, int(HUGE), 4]}),
    "a large point": coco({"keypoints": [int(HUGE), 2, 2]}),
    "a large ring": coco({"segmentation": [[*RING[:-1], int(HUGE)]]}),
    "a large area": coco({"area": int(HUGE), "bbox": [1, 2, 3, 4]}),
    "a large width": coco({}, images=[{**IMAGE, "width": int(HUGE), "height": int(HUGE)}]),
    "a large category": coco({"category_id": int(HUGE)}, categories=[{**LUNG, "id": int(HUGE)}]),
    "a large skeleton": coco(
        {}, categories=[{**LUNG, "keypoints": ["a"], "skeleton": [[1, int(HUGE)]]}]
    ),
    "large runs": coco(runs(40, 52, [int(HUGE)])),
    "runs of a large mask": coco(
        runs(1 << 20, 1 << 20, [1 << 40]), images=[{"id": 1, "file_name": "a.png"}]
    ),
    "runs of 2.8 GB": coco(
        runs(52_000, 54_000, [1, 52_000 * 54_000 - 1]), images=[{"id": 1, "file_name": "a.png"}]
    ),
    "runs that go below zero": coco(runs(40, 52, [-5, 2085])),
    "no numbers": b'{"images":[{"id":1,"file_name":"a.png","width":NaN}],"annotations":[]}',
    "half a pair": b'{"images":[{"id":1,"file_name":"\\ud800.png"}],"annotations":[]}',
    "a zero byte": b'{"images":[{"id":1,"file_name":"a\\u0000.png"}],"annotations":[]}',
    "a key twice": b'{"images":[],"images":[{"id":1,"file_name":"a.png"}],"annotations":[]}',
    "UTF-16": json.dumps({"images": [], "annotations": []}).encode("utf-16"),
}
TELLING = {
    "an image id": coco({"image_id": MRN}, images=[{**IMAGE, "id": MRN}]),
    "an annotation id": coco({"id": MRN}),
    "a category id": coco({"category_id": MRN}, categories=[{**LUNG, "id": MRN}]),
    "a category that is not listed": coco({"category_id": MRN}),
    "an unused category": coco({}, categories=[LUNG, {"id": 2, "name": "unused finding"}]),
    "an unused category id": coco({}, categories=[LUNG, {"id": MRN, "name": "x"}]),
    "a name as category": coco({}, categories=[{"id": 1, "name": "DOE^JANE"}]),
    "an id as category": coco({}, categories=[{"id": 1, "name": "lung 4711081"}]),
    "an id as category, parted": coco({}, categories=[{"id": 1, "name": "DOE^JANE 4-7-1-1"}]),
    "a formula as category": coco({}, categories=[{"id": 1, "name": '=HYPERLINK("x")'}]),
    "an area": coco({"area": MRN}),
    "an area beside a box": coco({"area": MRN, "bbox": [1, 2, 9, 9]}),
    "a hidden keypoint": coco({"keypoints": [MRN, 1970.0203, 0, 12, 9, 2]}),
    "a visibility": coco({"keypoints": [12, 9, MRN]}),
    "a size": coco({}, images=[{**IMAGE, "width": 52 * MRN, "height": 40 * MRN}]),
    "a skeleton": coco(
        {"keypoints": [12, 9, 2]},
        categories=[{**LUNG, "keypoints": ["apex"], "skeleton": [[MRN, 1]]}],
    ),
    "a name as keypoint": coco(
        {"keypoints": [12, 9, 2]}, categories=[{**LUNG, "keypoints": ["DOE^JANE"]}]
    ),
    "keypoints": coco(
        {"keypoints": [12, 9, 2, 0, 0, 0], "num_keypoints": 1, "bbox": [10, 8, 9, 9]},
        categories=[{**LUNG, "keypoints": ["apex", "base"], "skeleton": [[1, 2]]}],
    ),
    "further fields": coco(
        {"attributes": {"who": "DOE^JANE"}, "note": "DOE^JANE"},
        images=[{**IMAGE, "date_captured": "DOE^JANE", "license": MRN}],
        categories=[{**LUNG, "supercategory": "DOE^JANE"}],
    ),
}
CSV = {
    "a formula": b'path,x,y,label\na.png,1,2,"=HYPERLINK(""http://x"",""y"")"\n',
    "a formula with +": b"path,x,y,label\na.png,1,2,+HYPERLINK(1)\n",
    "a formula with -": b"path,x,y,label\na.png,1,2,-HYPERLINK(1)\n",
    "a formula with @": b"path,x,y,label\na.png,1,2,@HYPERLINK(1)\n",
    "a formula behind a tab": b'path,x,y,label\na.png,1,2,"\t=HYPERLINK(1)"\n',
    "a formula behind a space": b'path,x,y,label\na.png,1,2," =HYPERLINK(1)"\n',
    "a wide formula": "path,x,y,label\na.png,1,2,\uff1dHYPERLINK(1)\n".encode(),
    "an id as class": b"path,x,y,class_id\na.png,1,2,4711081\n",
    "a name as class": b"path,x,y,label\na.png,1,2,DOE^JANE\n",
    "a size": b"path,x,y,image_width,image_height\na.png,1,2,244976212,188443240\n",
    "brackets": b'path,polygon\na.png,"' + b"[" * 60_000 + b']"\n',
    "an object as polygon": b'path,polygon\na.png,"[{""a"":1}]"\n',
    "large numbers in a polygon": f'path,polygon\na.png,"[1,2,3,4,5,{HUGE}]"\n'.encode(),
    "ragged pairs": b'path,polygon\na.png,"[[1,2],[3],[4,5]]"\n',
    "large numbers": f"path,x,y\na.png,{HUGE},2\n".encode(),
    "a large size": f"path,x,y,image_width,image_height\na.png,1,2,{HUGE},{HUGE}\n".encode(),
    "a large cell": b"path,x,y,label\na.png,1,2," + b"n" * 200_000 + b"\n",
    "a zero byte": b"path,x,y\na.png\0,1,2\n",
    "an open quote": b'path,x,y\n"a.png,1,2\n',
}


def said(folder, *, labels):
    """An identifier that came out, an error other than a refusal, or a release that is unsound."""
    files = {"a.png": pillow(scene(), "PNG")}
    outcome = labelled(folder, files, labels, model=Gray())
    if outcome is None:
        return None
    if not outcome.sound:
        return "a release that fails its own verify"
    return next((leak for mark in MARKS if (leak := outcome.holds(mark))), None)


def linked(folder, *, name):
    """A folder of masks behind a link, which a table names."""
    fill(folder / "elsewhere", {"m.png": png_mask(np.mgrid[:40, :52][1] > 30)})
    (folder / "given").mkdir()
    link, target, path = {
        "file": ("m.png", "m.png", "m.png"),
        "folder": ("deep", "", "deep/m.png"),
    }[name]
    (folder / "given" / link).symlink_to(folder / "elsewhere" / target)
    labels = {"t.csv": f"path,mask\na.png,{path}\n".encode()}
    files = {"a.png": pillow(scene(), "PNG")}
    outcome = labelled(folder, files, labels, given=("given/t.csv",), model=Gray())
    if outcome is not None and any(n.endswith("m.png") for n in outcome.images):
        return "what a link leads to was released"
    return None


CASES = [
    *(
        case
        for kind, group, table in (
            ("json", "JSON", JSON),
            ("json", "telling", TELLING),
            ("csv", "CSV", CSV),
        )
        for case in each(
            "label file",
            said,
            {f"{group} {name}": {f"k.{kind}": data} for name, data in table.items()},
            "labels",
            every=2,
        )
    ),
    *each("label file", linked, {"linked file": "file", "linked folder": "folder"}, "name"),
]


MADE = changed()
DICOM = file(MADE)
RANDOM = re.compile(r"\b[0-9a-f]{64}\b|\b2\.25\.[0-9]+")  # checksums and new UIDs
PATIENT = {
    "a class": {"t.csv": b"path,x,y,label\n1.dcm,3,4,opacity Josefine\n"},
    "a class, another spelling": {"t.csv": b"path,x,y,label\n1.dcm,3,4,Mueller mass\n"},
    "a category": {"k.json": coco({}, images=[{"id": 1, "file_name": "1.dcm"}],
                                  categories=[{"id": 1, "name": "MuellerJ"}])},
    "a keypoint": {"k.json": coco({"keypoints": [1, 1, 2]},
                                  images=[{"id": 1, "file_name": "1.dcm"}],
                                  categories=[{**LUNG, "keypoints": ["josefine"]}])},
    "a mask's name": {"1_jmueller.png": None},
    "a folder's name": {"PID471177/1.png": None},
    "a table's name": {"Mueller.csv": b"path,x,y\n1.dcm,3,4\n"},
    "a folder of masks": {"Mueller/1.png": None},
}  # fmt: skip


def told(folder, *, labels, names, other=False):
    """Labels of a DICOM file that tell its patient; or ``other``: those of the same picture without
    a header, beside a DICOM file whose patient they tell."""
    size = MADE.Rows, MADE.Columns
    mask = png_mask(np.mgrid[: size[0], : size[1]][1] > 9)
    labels = {name: mask if data is None else data for name, data in labels.items()}
    if other:
        labels = {name: data.replace(b"1.dcm", b"1.png") for name, data in labels.items()}
        files = {"1.png": pillow(scene(size=size), "PNG")}
        files |= {"0.dcm": DICOM, "2.dcm": DICOM}  # read before, and after
    else:
        files = {"1.dcm": DICOM}
    outcome = labelled(folder, files, labels, model=Gray(), names=names)
    if outcome is None:
        return None
    public = " ".join([*outcome.files, *(d.decode("latin-1") for d in outcome.files.values())])
    public = RANDOM.sub("", public)  # where one of so many cases finds six digits by chance
    return next((f"{w} in public" for w in ("osefine", "ueller", "471177") if w in public), None)


CASES += [
    Case(
        "label that tells the patient",
        f"{name}, {names}{', of another file' * other}",
        partial(told, labels=labels, names=names, other=other),
    )
    for name, labels in PATIENT.items()
    for names in ("keep", "hashed")
    for other in (False, True)
]
