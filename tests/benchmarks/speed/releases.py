"""`anonymize apply` from end to end, beside its workers alone: decoding, encoding and checking.

A ratio of 1 is all that a second machine for the network could give; on the cores that the workers
have themselves, network and warp take time from them. The generator is as narrow as that of the
configuration `quick`; the paper's takes longer than the workers, and stands beside itself alone.
"""

import tempfile
from collections import deque
from contextlib import suppress
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import torch
from PIL import Image

from anonymize.anonymizer import Anonymizer, load
from anonymize.data.phantom import draw
from anonymize.options import FlowOptions
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from anonymize.release import encode, movement, pipeline
from anonymize.release.archives import Found
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.checking import verification
from anonymize.release.intake import read_candidate
from anonymize.release.options import ReleaseOptions
from anonymize.release.preparation import Release, prepare
from anonymize.release.reasons import Refused
from anonymize.release.workers.worker_pool import WorkerPool
from tests.benchmarks.speed import networks
from tests.benchmarks.speed.case import Case, Work

KINDS = {"PNG": (1024, 1024), "JPEG": (2000, 2000), "DICOM": (2500, 2048)}
GRAIN = 0.005  # standard deviation, of the range
FILES = 24  # so many that the workers' start does not count
NARROW, PAPERS = "model", "the paper's model"
FLOW = {NARROW: FlowOptions(features=8, levels=4, mu=0.01), PAPERS: networks.FLOW}


def _picture(kind: str, seed: int) -> np.ndarray:
    """A drawn radiograph, with the grain of a detector."""
    size = KINDS[kind]
    drawn = draw(seed=seed, patient_id="0", follow_up=0, size=min(max(size) // 2, 1024))
    film = cv2.resize(drawn, size[::-1], interpolation=cv2.INTER_CUBIC)
    grain = GRAIN * np.random.default_rng(seed).standard_normal(size, np.float32)
    return (film + grain).clip(0, 1)


def _write(kind: str, path: Path, seed: int) -> None:
    picture = _picture(kind, seed)
    if kind == "DICOM":
        from dicom_specimens import EXPLICIT, dx, with_pixels, written

        made = with_pixels(dx(), (picture * 65535).astype(np.uint16))
        path.write_bytes(written(made, EXPLICIT))
    else:
        Image.fromarray((picture * 255).astype(np.uint8)).save(path, quality=90)


def folder(kind: str, files: int) -> tuple[tempfile.TemporaryDirectory, Path]:
    kept = tempfile.TemporaryDirectory()
    source, ending = Path(kept.name, "in"), {"PNG": "png", "JPEG": "jpg", "DICOM": "dcm"}[kind]
    source.mkdir()
    for i in range(files):
        _write(kind, source / f"{i}.{ending}", i)
    return kept, source


def _model(method: str) -> Anonymizer:
    if method in FLOW:
        torch.manual_seed(0)
        return PriCheXyNet(FlowGenerator(FLOW[method]), size=networks.SIZE, fingerprint="0" * 64)
    return load("dp-pix:b=8,epsilon=0.1")


def _options(workers: int, text: bool) -> ReleaseOptions:
    return ReleaseOptions(workers=workers, text=TextOptions("remove" if text else "keep"))


def release(kind: str, method: str, workers: int, text: bool, times: int) -> Work:
    kept, source = folder(kind, FILES * times)

    def apply() -> None:
        with tempfile.TemporaryDirectory() as out:
            assert kept
            done = pipeline.apply(source, Path(out, "out"), _model(method), _options(workers, text))
            # A drawn spine looks like a bar code here and there.
            assert done.anonymized > done.quarantined, "a benchmark that releases nothing"

    return apply


def workers_alone(kind: str, method: str, workers: int, text: bool, times: int) -> Work:
    """Every file is read, decoded, encoded as its mirror image and looked at; nothing is kept."""
    kept, source = folder(kind, FILES * times)

    def one(found: Found, release: Release, pool: WorkerPool) -> None:
        seen = read_candidate(found, release, pool)
        if seen.radiograph is None:
            return  # refused, as in a release
        made = seen.radiograph.with_pixels(seen.radiograph.pixels[:, ::-1].copy())
        data = pool.call(encode.encode, made)
        probe = movement.probe(made.pixels, None)
        text = release.options.text
        with suppress(Refused):  # what looks like letters
            pool.call(verification.verify, data, made, seen.radiograph, seen.words, probe, text)

    def look() -> None:
        options = _options(workers, text)
        with tempfile.TemporaryDirectory() as out, WorkerPool(workers, options.limits) as pool:
            assert kept
            prepared = prepare(source, Path(out, "out"), _model(method), options, pool)
            with prepared.opened() as opened:
                calls = (partial(one, found, opened, pool) for found in opened.files)
                deque(pool.in_order(calls, window=workers), maxlen=0)

    return look


CASES = [
    Case(
        f"apply, {kind} {height} × {width}, {method}, {words}, workers {workers}",
        "images",
        FILES,
        partial(release, kind, method, workers, text),
        partial(workers_alone, kind, method, workers, text),
        grows=(kind, method, text, workers) == ("PNG", NARROW, False, 2),
    )
    for kind, (height, width) in KINDS.items()
    for method, text, words in (
        (NARROW, False, "no OCR"),
        (NARROW, True, "OCR"),
        ("dp-pix", False, "no OCR"),
    )
    for workers in (1, 2)
]
CASES += [
    Case(
        f"apply, PNG 1024 × 1024, {PAPERS}, no OCR, workers {workers}",
        "images",
        FILES,
        partial(release, "PNG", PAPERS, workers, False),
        partial(networks.inference, FILES),
    )
    for workers in (1, 2)
]
