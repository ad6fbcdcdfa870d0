"""Coverage-guided fuzzing of all that reads files of strangers (atheris, libFuzzer).

    pip install atheris
    python tests/benchmarks/fuzz.py TARGET SECONDS CORPUS [OUT.json]

CORPUS is a folder that grows and is kept; the suite's own files are its seeds. An input may be
refused. Where a worker reads, another exception refuses its file too, and is counted; where the
release itself reads ("manifest"), and wherever the process dies, it is a crash. Who computes for a
minute or takes gigabytes meets the limits of a worker; libFuzzer keeps these inputs, too, in
CORPUS-crashes, and the run goes on.
"""

import io
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from reliability import finish

from anonymize import whole_file

HERE = Path(__file__).resolve()
LIMITS = ["-timeout=60", "-rss_limit_mb=4096", "-max_len=65536"]
LIMITED = ("oom-", "timeout-", "slow-unit-")  # names that libFuzzer gives
NOTE_EVERY = 200  # inputs


def targets():
    """{name: (function of bytes, seeds, what it may raise)}."""
    import label_specimens as labels
    import mutants
    from dicom_specimens import rules
    from release_specimens import KINDS

    from anonymize.release import decode
    from anonymize.release.checking import inspection
    from anonymize.release.dicom.options import RETAINABLE
    from anonymize.release.labels import masks, read
    from anonymize.release.reasons import ContainerError, Refused
    from anonymize.release.records import manifests
    from anonymize.release.records.tables import MANIFEST_COLUMNS

    wishes = rules(retain=frozenset(RETAINABLE), clean_descriptors=True)
    originals = mutants.originals()
    refused = (Refused, ContainerError)

    def picture(name):
        return lambda data: decode.picture(name, data, wishes)

    def mask(data):
        masks.decode(("a.png", "a.nii", "a.nii.gz")[data[0] % 3] if data else "a.png", data[1:])

    def table(suffix):
        return lambda data: read.parsed(read.of_kind, suffix, data, 1, ("note",))

    ellipse = labels.ellipse()
    box = [(1, {"bbox": labels.box_of(ellipse), "segmentation": [[1, 1, 9, 1, 9, 9]]})]
    counted = [(1, {"segmentation": {"size": [40, 52], "counts": "0`P21"}, "iscrowd": 1})]
    row = b"path,x,y,width,height,label\na.png,1,2,3,4,lung\n"
    plain, packed = (labels.nifti_mask(ellipse, compressed=c) for c in (False, True))
    manifest = ",".join(MANIFEST_COLUMNS).encode()

    def rows(data: bytes) -> list:
        return list(manifests.images(io.BytesIO(data)))

    return {
        "dicom": (picture("a.dcm"), originals["DICOM"], refused),
        "png": (picture("a.png"), originals["PNG"], refused),
        "jpeg": (picture("a.jpg"), originals["JPEG"], refused),
        "tiff": (picture("a.tif"), originals["TIFF"], refused),
        "coco": (table(".json"), [labels.coco(["a.png"], a) for a in (box, counted)], refused),
        "table": (table(".csv"), [row, b"path,points,label\na.png,1 2 3 4 5 6,heart\n"], refused),
        "mask": (mask, [b"\0" + labels.png_mask(ellipse), b"\1" + plain, b"\2" + packed], refused),
        "verify": (lambda data: inspection.image("a", data), list(KINDS.values()), refused),
        "manifest": (rows, [manifest, manifest + b"\r\n"], manifests.ManifestError),
    }


def fuzz(name: str, corpus: str, notes: str, seconds: str) -> None:
    """In a process of its own: libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["anonymize.release", "pydicom", "tifffile"]):
        read, seeds, refused = targets()[name]
    for number, seed in enumerate(seeds):
        Path(corpus, f"seed-{number}").write_bytes(seed)
    counts: Counter[str] = Counter()

    def one(data: bytes) -> None:
        counts["inputs"] += 1
        try:
            read(data)
        except refused:
            counts["refused"] += 1
        except MemoryError:
            counts["MemoryError"] += 1
        except Exception as error:
            if name == "manifest":
                raise
            counts[type(error).__name__] += 1
        if counts["inputs"] % NOTE_EVERY == 0:
            whole_file.write(Path(notes), json.dumps(counts))

    options = [*LIMITS, f"-max_total_time={seconds}", f"-artifact_prefix={corpus}-crashes/"]
    atheris.Setup([sys.argv[0], *options, corpus], one)
    atheris.Fuzz()


def main(name: str, seconds: str, corpus: str, out: str | None = None) -> None:
    notes, crashes = Path(f"{corpus}-notes.json"), Path(f"{corpus}-crashes")
    for folder in (Path(corpus), crashes):
        folder.mkdir(parents=True, exist_ok=True)
    totals: Counter[str] = Counter()
    ends = time.monotonic() + float(seconds)
    while (left := int(ends - time.monotonic())) > 0:
        notes.write_text("{}")
        command = [sys.executable, str(HERE), "--inside", name, corpus, str(notes), str(left)]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        totals.update(json.loads(notes.read_text()))
    kept = sorted(path.name for path in crashes.iterdir())
    result = {"target": name, "seconds": int(seconds), "inputs": totals.pop("inputs", 0)}
    result["refused"] = totals.pop("refused", 0)
    limited = [found for found in kept if found.startswith(LIMITED) and name != "manifest"]
    result |= {"other exceptions in a worker": dict(totals), "stopped by limits": limited}
    result |= {"crashes": len(kept) - len(limited), "kept": kept}
    finish({**result, "corpus": len(list(Path(corpus).iterdir()))}, out)


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        fuzz(*sys.argv[2:6])
    else:
        main(*sys.argv[1:5])
