"""Paths that would lead a release astray. {name: prepare}, where ``prepare(folder)`` fills
``folder``/in and what lies around it, and gives options of ``apply``.

``folder``/elsewhere is what nobody may write to; a prepared OUT is one of an earlier call.
"""

import os
from functools import partial

import archive_specimens
import dicom_specimens as dicom
from release_specimens import KINDS, Wave, fill

from anonymize.release import pipeline
from anonymize.release.labels.options import LabelOptions
from anonymize.release.options import ReleaseOptions

GOOD = KINDS["gray8.png"]


def archived(content, folder):
    fill(folder / "in", {"a.zip": content})
    return {}


def linked(target, folder, *, name="link.png"):
    (folder / "in" / name).symlink_to(target)
    return {}


def hard_linked(folder):
    (folder / "in" / "hard.png").hardlink_to(folder / "elsewhere" / "kept.png")
    return {}


def named(name, folder):
    with open(os.path.join(os.fsencode(folder / "in"), name), "wb") as stream:
        stream.write(GOOD)
    return {}


def indexed(folder):
    meta = bytes(128) + b"DICM" + b"\2\0\2\0UI\x1a\0" + b"1.2.840.10008.1.3.10".ljust(26, b"\0")
    fill(folder / "in", {"DICOMDIR": meta + b"..\\..\\elsewhere\\kept.png"})
    return {}


def listed(text, folder):
    return {"listed": [text]}


def uids(folder):
    """Identifiers that are paths."""
    made = dicom.changed()
    made.SOPInstanceUID = "../../elsewhere/1"
    made.PatientID = "../../elsewhere/kept"
    fill(folder / "in", {"a.dcm": dicom.file(made)})
    return {"names": "hashed"}


def boxes(folder):
    fill(
        folder, {"labels/boxes.csv": b"image,x,y,width,height\n../../elsewhere/kept.png,1,1,9,9\n"}
    )
    return {"labels": LabelOptions((folder / "labels",))}


def begun(folder):
    """OUT of an earlier call, with b/1.png in it."""
    fill(folder / "in", {"b/1.png": GOOD})
    pipeline.apply(folder / "in", folder / "out", Wave(), ReleaseOptions())
    fill(folder / "in", {"b/2.png": KINDS["gray16.png"]})


def exchanged(name, target, folder):
    begun(folder)
    path = folder / "out" / name
    path.rename(folder / "moved")
    path.symlink_to(folder / "elsewhere" / target)
    return {}


def private_exchanged(name, folder):
    begun(folder)
    path = folder / "out-private" / name
    kept = folder / "elsewhere" / name
    path.rename(kept)
    path.symlink_to(kept)
    return {}


def temporary_waiting(folder):
    begun(folder)
    for number in range(2000):
        path = folder / "out" / "b" / f".anonymize-{os.getpid()}-{number}"
        path.symlink_to(folder / "elsewhere" / "kept.png")
    return {}


PATHS = {
    **{name: partial(archived, content) for name, content in archive_specimens.REFUSED.items()},
    "link.zip": partial(archived, archive_specimens.UNFIT["link.zip"][0]),
    "pipe.zip": partial(archived, archive_specimens.UNFIT["pipe.zip"][0]),
    "link to a file": partial(linked, "../elsewhere/kept.png"),
    "link to a folder": partial(linked, "../elsewhere", name="link"),
    "link to nothing": partial(linked, "../elsewhere/new.png"),
    "link to itself": partial(linked, "link.png"),
    "hard link": hard_linked,
    "backslashes": partial(named, b"..\\..\\elsewhere\\new.png"),
    "control characters": partial(named, b"a\n\x1b[2J\r.png"),
    "no text": partial(named, b"\xff\xfe\x80.png"),
    "longest name": partial(named, b"n" * 251 + b".png"),
    "dots": partial(named, b"... .png"),
    "an option": partial(named, b"--private=elsewhere.png"),
    "DICOMDIR": indexed,
    "list that climbs": partial(listed, "../elsewhere/kept.png"),
    "list from the root": partial(listed, "/etc/passwd"),
    "UIDs and ids": uids,
    "labels that climb": boxes,
    "folder of OUT exchanged for a link": partial(exchanged, "b", ""),
    "output exchanged for a link": partial(exchanged, "b/1.png", "kept.png"),
    "journal exchanged for a link": partial(private_exchanged, "journal.jsonl"),
    "map exchanged for a link": partial(private_exchanged, "map.csv"),
    "links at the temporary names": temporary_waiting,
}
