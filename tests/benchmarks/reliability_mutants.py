"""Damaged files through a release: python tests/benchmarks/reliability_mutants.py [N] [OUT.json]

N mutants (by default 10,000) of DICOM, PNG, JPEG and TIFF files, made from a seed, half of them
with whole containers, are released as a user would, by worker processes. The run must not crash, no
file may hang, and whatever was released must pass `anonymize verify`.
"""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from reliability import finish, timed

# isort: split

import mutants
from release_specimens import Wave, fill

from anonymize.release import pipeline, verify
from anonymize.release.options import ReleaseOptions

LOST = ("timeout", "memory", "crashed", "failed")
EXTENSIONS = {"PNG": "png", "JPEG": "jpg", "TIFF": "tif", "DICOM": "dcm"}
FORMATS = {extension: format for format, extension in EXTENSIONS.items()}


def make(folder: Path, count: int) -> None:
    originals = mutants.originals()
    for i in range(count):
        format = list(originals)[i % len(originals)]
        data = mutants.mutant(i // len(originals), format, originals[format])
        fill(folder, {f"{i // 1000}/{i}.{EXTENSIONS[format]}": data})


def main(count: int = 10_000, out: str | None = None) -> None:
    totals, formats, findings = Counter(), Counter(), Counter()
    crashes, begun = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as name, timed() as watch:
        folder = Path(name)
        make(folder / "in", count)
        for part in sorted((folder / "in").iterdir()):
            released = folder / "out" / part.name
            try:
                summary = pipeline.apply(part, released, Wave(), ReleaseOptions(workers=2))
            except Exception as error:
                print(f"the run over {part.name} crashed: {error!r}")
                crashes += 1
                continue
            totals.update(released=summary.anonymized, quarantined=summary.quarantined)
            totals.update({"left out": summary.left_out, **summary.reasons})
            outputs = [p for p in released.rglob("*.*") if p.name != "manifest.csv"]
            formats.update(FORMATS[path.suffix[1:]] for path in outputs)
            found = verify.verify(released, workers=2).findings
            findings.update(f"{finding.flaw.value} {finding.detail}".strip() for finding in found)
    result = {
        "mutants": count,
        **{key: totals.pop(key, 0) for key in ("released", "quarantined", "left out")},
        "released by format": dict(sorted(formats.items())),
        "crashes of the run": crashes,
        "calls that computed over 10 s": watch.over(10),
        "longest call (s of computing)": watch.longest,
        "workers lost": {code: totals.pop(code, 0) for code in LOST},
        "reasons": dict(totals.most_common()),
        "released, not sound": findings.total(),
        "findings": dict(findings),
        "seconds": round(time.monotonic() - begun),
    }
    finish(result, out)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:3])
