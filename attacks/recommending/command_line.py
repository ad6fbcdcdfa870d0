"""What to type to release the images as recommended, and the table of patients that it names."""

import csv
import io
import os
import shlex
from pathlib import Path

import numpy as np

from anonymize import whole_file
from anonymize.anonymizer import load
from anonymize.csv_cells import inert
from anonymize.data.dataset import Dataset
from anonymize.data.sources.listing import folder_of
from anonymize.set_anonymizer import SetAnonymizer
from attacks.results import FILE

PATIENTS = "patients.csv"
RELEASED = "released"


def has_files(data: Dataset) -> bool:
    """Whether there is something to release: drawn images have no files."""
    return bool((data.table.frame["path"] != "").all())


def command_line(spec: str, data: Dataset, out: Path) -> str:
    """The call of `anonymize apply` that releases the files of a data set with the method ``spec``,
    at the size at which it was measured.

    Writes ``out``/patients.csv where the method has to know whose an image is: path (below the
    data set's folder), patient_id, and a column for each finding that methods are told of. The
    certificate of such a release says what was measured (``out``/results.json).
    """
    root, size = folder_of(data.options), data.options.size
    words = ["anonymize", "apply", str(root), RELEASED, "--model", spec, "--canonical", str(size)]
    if isinstance(load(spec), SetAnonymizer):
        table = out / PATIENTS
        whole_file.write(table, _people(data, root), mode=0o600)
        words += ["--patients", str(table), "--measured", str(out / FILE)]
    return shlex.join(words)


def _people(data: Dataset, root: Path) -> str:
    told = data.told
    frame = told.table.frame
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["path", "patient_id", *map(inert, told.table.labels)])
    paths = (os.path.relpath(path, root) for path in frame["path"])
    for path, patient, targets in zip(paths, frame["patient_id"], told.targets, strict=True):
        known = ("" if np.isnan(value) else int(value) for value in targets)
        rows.writerow([inert(path), inert(patient), *known])
    return text.getvalue()
