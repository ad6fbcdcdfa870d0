"""What identifies somebody, searched for in a release, byte by byte.

    python tests/benchmarks/reliability_canaries.py [N] [OUT.json] [--burned-in]

N files (by default 1,000: DICOM, PNG, JPEG and TIFF), each with 30 canaries in its path, tags, text
chunks, Exif, XMP, IPTC, private blocks and behind its end, and damaged copies of some of them, go
through `anonymize apply --names hashed`, a second call, and `anonymize verify`. Every canary is
searched for in every output, inflated too, in the names, the manifest, the consoles (the report of
the release among them) and the temporary folder. With --burned-in a canary is drawn into each
picture as well, `--text remove` is asked for, and the place where it was in every fifth picture is
read by the OCR, enlarged, before and after. The method is a warp, which leaves texts legible.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from reliability import finish

# isort: split

import canaries
from release_specimens import fill, rows

MODEL = "random-warp:mu=0.01"
READ = 5  # one in so many pictures is read
FORMATS = {"dcm": "DICOM", "png": "PNG", "jpg": "JPEG", "tif": "TIFF"}
DAMAGED = 20  # one in so many is there a second time, cut short


def make(folder: Path, count: int, *, burned_in: bool) -> tuple[list[str], int]:
    """The canaries of ``count`` files below ``folder``, and how many files there are."""
    texts, files = [], 0
    for seed in range(count):
        path, content, planted = canaries.specimen(seed, burned_in=burned_in)
        assert canaries.planted(path, content, planted) == planted, path
        texts += planted
        copies = {path: content}
        if seed % DAMAGED == 0:
            stem, _, extension = path.rpartition(".")
            copies[f"{stem}_cut.{extension}"] = content[: len(content) // 2]
        fill(folder, copies)
        files += len(copies)
    return texts, files


def reading(path: Path) -> str:
    """What the OCR reads where texts are burned in, the upper left of a picture, in small letters.

    No detector stands before it: what the release itself overlooked could be read here.
    """
    from PIL import Image

    from anonymize.release.burned_in.reader import reader
    from anonymize.release.checking.reopen import reopen

    pixels = reopen(FORMATS[path.suffix[1:]], path.read_bytes()).pixels[: canaries.TEXT_ROWS, :, 0]
    line = Image.fromarray((pixels / max(int(pixels.max()), 1) * 255).astype("uint8"))
    line = line.resize((4 * line.width, 4 * line.height), Image.Resampling.BICUBIC).convert("RGB")
    return reader().read(np.asarray(line))[0].lower()


def legible(source: Path, released: Path) -> dict[str, int]:
    """In how many pictures a part of the burned-in name is read, before and after."""
    mapped = rows(released.with_name("out-private").joinpath("map.csv").read_bytes())
    chosen = [row for row in mapped if row["output"]][::READ]
    counts = {"pictures read": len(chosen), "names read before": 0, "names read after": 0}
    for row in chosen:
        name = row["input"].partition("^")[0].lower()
        parts = [name[i : i + 4] for i in range(len(name) - 3)]
        for when, path in (("before", source / row["input"]), ("after", released / row["output"])):
            text = reading(path)
            counts[f"names read {when}"] += any(part in text for part in parts)
    return counts


def call(*arguments: str, temporary: Path) -> tuple[int, bytes]:
    """Exit status and everything that a command said."""
    program = [sys.executable, "-c", "from anonymize.cli import main; main()", *arguments]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(program, capture_output=True, env=environment)
    return done.returncode, done.stdout + done.stderr


def main(count: int = 1000, out: str | None = None, *, burned_in: bool = False) -> None:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, released, temporary = folder / "in", folder / "out", folder / "tmp"
        temporary.mkdir()
        texts, files = make(source, count, burned_in=burned_in)
        options = ["--names", "hashed", "--model", MODEL, "--device", "cpu"]
        options += ["--text", "remove" if burned_in else "keep"]
        apply = ["apply", str(source), str(released), *options]
        calls = {
            "apply": call(*apply, temporary=temporary),
            "apply again": call(*apply, "--json", temporary=temporary),
            "verify": call("verify", str(released), temporary=temporary),
            "verify --json": call("verify", str(released), "--json", temporary=temporary),
        }
        outputs = [p for p in released.rglob("*") if p.is_file()]
        places = {
            "outputs and their names": b"\n".join(
                canaries.searchable(p.name, p.read_bytes()) for p in outputs
            ),
            "manifest": (released / "manifest.csv").read_bytes(),
            "consoles": b"\n".join(said for _, said in calls.values()),
            "temporary folder": b"\n".join(
                p.name.encode() + (p.read_bytes() if p.is_file() else b"")
                for p in temporary.rglob("*")
            ),
        }
        read = legible(source, released) if burned_in else {}
        hits = {place: len(canaries.hits(text, texts)) for place, text in places.items()}
    result = {
        "files": files,
        "canaries": len(texts),
        "released": len(outputs) - 1,
        "bytes searched": sum(map(len, places.values())),
        "burned in": burned_in,
        **{f"hits in {place}": number for place, number in hits.items()},
        **read,
        "exit status": {name: status for name, (status, _) in calls.items()},
        "seconds": round(time.monotonic() - begun),
    }
    finish(result, out)


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--burned-in"]
    main(*map(int, arguments[:1]), *arguments[1:2], burned_in="--burned-in" in sys.argv)
