"""The tables of a set release: public manifest, labels and certificate; private map and lists."""

import hashlib
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anonymize.release.burned_in.options import MUCH
from anonymize.release.method import Method
from anonymize.release.places import CERTIFICATE, LABELS, MANIFEST, PAGE
from anonymize.release.reasons import Reason
from anonymize.release.records.csv_bytes import csv_bytes
from anonymize.release.records.entries import Entry
from anonymize.release.records.journal import Journal
from anonymize.release.records.tables import (
    MAP,
    MAPPED,
    QUARANTINE,
    REFUSED,
    TEXT,
    TOUCHED,
    manifest,
    number,
    share,
    sheet_of,
)
from anonymize.release.sets import page, state
from anonymize.release.sets.certificate import Certificate, Measured, is_plain
from anonymize.release.sets.in_common import in_common
from anonymize.release.sets.measured import SECRETS
from anonymize.release.sets.mixing import Mixed, Output
from anonymize.release.sets.spool import Spooled
from anonymize.release.sets.state import State
from anonymize.release.uniform import Uniform


@dataclass(frozen=True)
class SetTables:
    """What the tables of a set release say beside its journal.

    Attributes:
        mixed: who went into which output, without gray levels.
        refused, left_out: reason and detail, by path, of inputs that went into none.
        labels: names of ``mixed.targets``.
        begun: what the release is of.
        measured: of `certificate.Measured`, plain.
    """

    method: Method
    uniform: Uniform
    mixed: Mixed
    refused: dict[str, tuple[str, str]]
    left_out: dict[str, tuple[str, str]]
    labels: tuple[str, ...]
    begun: State
    measured: dict[str, Any] | None = None

    def inputs(self, entry: Entry) -> list[tuple[str, str]]:
        """Paths and sha256 of the images in an output."""
        output = next(output for output in self.mixed.outputs if output.name == entry.output)
        return [(image.path, image.sha256) for image in _members(self.mixed, output)]

    def made(self, journal: Journal) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Manifest, certificate and labels; map, quarantine list and the state."""
        published, refused = self._outcome(journal)
        made = self.certificate(journal)
        counts = (made.inputs, made.released, made.not_grouped + made.quarantined, made.left_out)
        public = {
            MANIFEST: b"".join(manifest(_alike(published), counts, self.method)),
            CERTIFICATE: made.written(),
            PAGE: page.written(made),
        }
        if made.labels:
            public[LABELS] = _labels(self.mixed, published, made.labels)
        why = [
            (path, reason, detail, Reason(reason).meaning)
            for path, (reason, detail) in (refused | self.left_out).items()
        ]
        private = {MAP: _map(self.mixed, published), QUARANTINE: csv_bytes(REFUSED, sorted(why))}
        rows = _touched(self.mixed, published)
        if rows:
            private[TEXT] = csv_bytes(TOUCHED, rows)
        there = {} if journal.unreviewed else public
        done = replace(
            self.begun,
            public={path: hashlib.sha256(data).hexdigest() for path, data in there.items()},
            reasons=dict(Counter(reason for reason, _ in refused.values())),
            released=made.released,
            cleaned=len({image for image, *_ in rows}),
            much_filled=len({image for image, _, _, part, _ in rows if float(part) > MUCH}),
        )
        private[state.FILE] = done.written()
        return public, private

    def certificate(self, journal: Journal) -> Certificate:
        """That of what is published."""
        published, refused = self._outcome(journal)
        reasons = Counter(reason for reason, _ in refused.values())
        alone = reasons.pop(Reason.NOT_GROUPED.value, 0)
        mixed, labels, outputs = self.mixed, self.labels, [output.rows for output, _ in published]
        groups: dict[int, np.ndarray] = {}
        for output, _ in published:
            before = groups.get(output.group, np.zeros(0, np.int64))
            groups[output.group] = np.union1d(before, output.rows)
        people = [len(np.unique(mixed.patients[rows])) for rows in outputs]
        members = [len(np.unique(mixed.patients[rows])) for rows in groups.values()]
        used = np.unique(np.concatenate([np.zeros(0, np.int64), *groups.values()]))
        shared = None
        if labels and outputs:
            shared = in_common([*groups.values()], outputs, mixed.patients, mixed.targets, labels)
        options, told = self.method.options.items(), self.measured
        return Certificate(
            method=self.method.name,
            options={k: v for k, v in options if k not in SECRETS and is_plain((k, v))},
            size=self.uniform.size,
            format=self.uniform.format,  # type: ignore[arg-type]  # Uniform admits these two
            inputs=len(self.begun.inputs) + len(self.left_out),
            released=len(used),
            not_grouped=alone,
            quarantined=reasons.total(),
            left_out=len(self.left_out),
            outputs=len(published),
            patients=len(np.unique(mixed.patients[used])),
            groups=len(groups),
            people_per_output_asked=self.method.people,
            people_per_output_min=min(people, default=None),
            people_per_output_median=float(np.median(people)) if people else None,
            patients_per_group_min=min(members, default=None),
            labels=list(labels),
            in_common=shared,
            largest_share_of_an_image=self.method.shown,
            guess_at_most=self.method.guess,
            measured=None if told is None else Measured.model_validate(told),
        )

    def _outcome(
        self, journal: Journal
    ) -> tuple[list[tuple[Output, Entry]], dict[str, tuple[str, str]]]:
        """The outputs that are published, and why an input stands in none of them, by its path."""
        entries = [(output, journal.entries[output.name]) for output in self.mixed.outputs]
        published = [(output, entry) for output, entry in entries if entry.released]
        shown = {row for output, _ in published for row in output.rows.tolist()}
        failed = [(output, entry) for output, entry in entries if not entry.released]
        why = {row: (e.reason, e.detail) for output, e in failed for row in output.rows.tolist()}
        alone = (Reason.NOT_GROUPED.value, "")
        rows = (row for row in range(len(self.mixed.images)) if row not in shown)
        nothing = {self.mixed.images[row].path: why.get(row, alone) for row in rows}
        return published, self.refused | nothing


def _alike(published: Sequence[tuple[Output, Entry]]) -> list[Entry]:
    """Entries as the manifest may tell them: 0 regions of text where it was looked for, since how
    many there were is known of whoever has one of the images, and tells which outputs show it."""
    found = [(entry, (entry.figures or {}).get("text_regions")) for _, entry in published]
    return [
        replace(entry, figures={"text_regions": None if regions is None else 0})
        for entry, regions in found
    ]


def _labels(
    mixed: Mixed, published: Sequence[tuple[Output, Entry]], labels: Sequence[str]
) -> bytes:
    rows = []
    for output, _ in published:
        said = mixed.labels[output.place].tolist()
        values = [number(None if math.isnan(value) else value) for value in said]
        rows.append((output.name, *values))
    return csv_bytes(("output", *labels), rows)


def _map(mixed: Mixed, published: Sequence[tuple[Output, Entry]]) -> bytes:
    rows = [
        (image.path, image.sha256, entry.output, entry.output_sha256, "")
        for output, entry in published
        for image in _members(mixed, output)
    ]
    return csv_bytes(MAPPED, sorted(rows, key=lambda row: (os.fsencode(row[0]), row[2])))


def _touched(
    mixed: Mixed, published: Sequence[tuple[Output, Entry]]
) -> list[tuple[str, str, int, str, str]]:
    """Images that lost text, and the outputs that show them."""
    return sorted(
        (image.path, output.name, text.regions, share(text.filled), sheet_of(image.path))
        for output, _ in published
        for image in _members(mixed, output)
        if (text := image.text) is not None and text.regions
    )


def _members(mixed: Mixed, output: Output) -> list[Spooled]:
    return [mixed.images[row] for row in output.rows.tolist()]
