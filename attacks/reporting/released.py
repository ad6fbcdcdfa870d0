"""What a release says of itself in public: its manifest, and the certificate of one of sets."""

import csv
import hashlib
import io
from collections import deque
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from anonymize.errors import DataError, UsageError, counted
from anonymize.release.places import CERTIFICATE, MANIFEST, SIGNATURE
from anonymize.release.records import manifests
from anonymize.release.records.tables import COUNTS
from anonymize.release.sets import certificate
from anonymize.release.sets.inspection import check_manifest
from attacks.results import Results

FIGURES = {
    "displacement_mean_px": "mean displacement of a file (px)",
    "displacement_max_px": "largest displacement of a file (px)",
    "min_jacobian": "smallest Jacobian determinant of a file",
    "ssim": "SSIM of a file to its original",
}
Facts = list[tuple[str, str]]


@dataclass(frozen=True)
class ReleaseFacts:
    """Name and value of what the manifest says, the same of a certificate, what is not promised,
    and what does not fit the evaluation."""

    facts: Facts
    certificate: Facts
    not_promised: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_release(out: Path, results: Results) -> ReleaseFacts:
    """The public tables of the release in ``out``; no other file of it is read.

    Raises:
        UsageError: there is no manifest.
        DataError: the manifest or the certificate is none that a release writes.
    """
    file, own = out / MANIFEST, out / CERTIFICATE
    if not file.is_file():
        raise UsageError(
            f"--release must be the folder that anonymize apply wrote; it has no {MANIFEST}"
        )
    data = file.read_bytes()
    try:
        told = certificate.read(own.read_bytes()) if own.is_file() else None
        check = None if told is None else partial(check_manifest, told=told)
        deque(manifests.images(io.BytesIO(data), check), maxlen=0)
    except ValueError as error:
        raise DataError(
            f"the tables of --release are not as anonymize apply writes them ({error}); look with "
            "anonymize verify"
        ) from None
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")))
    facts: Facts = [("released files", f"{len(rows):,}")]
    if rows:
        first = rows[0]
        inputs, _, quarantined, left_out = (int(first[key]) for key in COUNTS)
        facts += [
            ("inputs", f"{inputs:,}, of them {quarantined:,} in quarantine, {left_out:,} left out"),
            (
                "method",
                " ".join(filter(None, (first["method"], first["mu"] and f"μ={first['mu']}"))),
            ),
            ("sha256 of the model", first["model_sha256"] or "no model file"),
            *_figures(rows),
        ]
    signed = "signed; check it with anonymize verify --public-key" if (out / SIGNATURE).is_file() \
        else "not signed: who can change the files can change it, too"  # fmt: skip
    facts += [("sha256 of the manifest", hashlib.sha256(data).hexdigest()), ("signature", signed)]
    promised = () if told is None else tuple(told.not_promised)
    own_facts = [] if told is None else _certified(told)
    return ReleaseFacts(facts, own_facts, promised, tuple(_warnings(rows, results)))


def _figures(rows: list[dict[str, str]]) -> Facts:
    found = []
    for column, title in FIGURES.items():
        values = [float(row[column]) for row in rows if row[column]]
        if values:
            low, middle, high = np.quantile(values, (0, 0.5, 1))
            found.append((title, f"median {middle:.3g}, {low:.3g} to {high:.3g}"))
    return found


def _certified(told: certificate.Certificate) -> Facts:
    shown = told.model_dump(exclude={"certificate", "not_promised"}, exclude_none=True)
    return [(key.replace("_", " "), _plain(value)) for key, value in shown.items()]


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _warnings(rows: list[dict[str, str]], results: Results) -> list[str]:
    """Figures of another method, or of another model, say nothing about these files."""
    if not rows:
        return ["Nothing was released."]
    name, model = rows[0]["method"], rows[0]["model_sha256"]
    kin = [method for method in results.methods if method.name == name]
    if not kin:
        return [f"{name} was not evaluated: no figure of this report is of these files."]
    if model and all(method.fingerprint != model for method in kin):
        return [
            f"The evaluated {name} is another model than that of these files "
            f"({counted(len(kin), 'model')} evaluated): the figures are not theirs."
        ]
    return [
        "The figures are of the evaluated images, not of these files; attacks release attacks "
        "the files."
    ]
