"""What was already measured, one small JSON file a measurement, so that a stop loses little.

A file lies in the folder of its subject, and its name ends with the fingerprint of what made it:
options, code, models. What other code or options made stays where it is, and is not found.
"""

import glob
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anonymize import whole_file
from anonymize.fingerprint import fingerprint
from attacks.measuring.classification import Reading
from attacks.measuring.statistics import Measured, MeasuredLabels

KEY = 16  # hexadecimal digits of a fingerprint in a name


def kept_at(folder: Path, name: str, made_by: str) -> Path:
    """Where a result of the name is kept that ``made_by`` made; ``made_by`` is a fingerprint."""
    return folder / f"{name}-{made_by[:KEY]}"


def outdated(path: Path, file: str) -> bool:
    """Whether there is none at ``path`` of :func:`kept_at`, but one that something else made.
    ``file``: pattern of what shows that it is there: an ending of its name, or a file in it."""
    if not re.search(rf"-[0-9a-f]{{{KEY}}}$", path.name):
        return False  # somebody named it

    def there(key: str) -> bool:
        return any(path.parent.glob(f"{glob.escape(path.name[:-KEY])}{key}{file}"))

    return not there(path.name[-KEY:]) and there("[0-9a-f]" * KEY)


def say_outdated(paths: Iterable[Path], say: Callable[[str], None], *, file: str) -> None:
    """Says how many are outdated, in one line; nothing where none is."""
    count = sum(outdated(path, file) for path in paths)
    if count:
        what = "results are" if count > 1 else "result is"
        again = "are" if count > 1 else "is"
        say(f"{count} kept {what} of other code or options and {again} measured again")


class Notes:
    """Measurements of one subject, such as a method. ``subject``: of :func:`fingerprint`: data,
    released images."""

    def __init__(self, folder: Path, *subject: Any) -> None:
        self.folder, self.root = folder, folder / fingerprint(*subject)[:KEY]

    def note(self, *name: object, made_by: str) -> "Note":
        """The note of a name that ``made_by`` made, a fingerprint."""
        return Note(kept_at(self.root, "-".join(map(str, name)), made_by))


class Note:
    """One measurement. ``folder``: where the training behind it may keep checkpoints; removed once
    it is done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path, self._scores = (
            folder.with_name(f"{folder.name}{suffix}") for suffix in (".json", ".npz")
        )

    @property
    def known(self) -> bool:
        """Whether it was measured before."""
        return self._path.is_file()

    @property
    def figures(self) -> dict[str, Measured]:
        """The figures of one attack that was measured before."""
        return {name: _measured(entry) for name, entry in self.value().items()}

    def keep_figures(self, figures: Mapping[str, Measured]) -> None:
        """Keeps the figures of one attack."""
        self.keep({name: _plain(measured) for name, measured in figures.items()})

    def end_training(self) -> None:
        """Its checkpoints go."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def has_scores(self) -> bool:
        """Whether scores were kept."""
        return self._scores.is_file()

    @property
    def scores(self) -> dict[str, np.ndarray]:
        """Scores of one attack by part, or logits of one classifier by what it read."""
        with np.load(self._scores) as kept:
            return dict(kept)

    def keep_scores(self, scores: Mapping[str, np.ndarray]) -> None:
        """Keeps scores."""
        with whole_file.replacing(self._scores) as path, path.open("wb") as file:
            np.savez(file, **scores)  # type: ignore[arg-type]  # numpy's annotation takes it for allow_pickle

    def reading(self, compute: Callable[[], Reading]) -> Reading:
        """The figures of one classifier, measured now or before."""
        if not self.known:
            found = compute()
            kept = {
                name: {"mean": _plain(labels.mean), "per_class": labels.per_class}
                for name, labels in found.items()
            }
            self.keep(kept)
        return {
            name: MeasuredLabels(_measured(entry["mean"]), entry["per_class"])
            for name, entry in self.value().items()
        }

    def keep(self, value: Any) -> None:
        """Keeps what JSON can hold."""
        whole_file.write(self._path, json.dumps(value))

    def value(self) -> Any:
        """What was kept; None where nothing was."""
        return json.loads(self._path.read_text(encoding="utf-8")) if self.known else None


def _plain(measured: Measured) -> dict:
    return {
        "value": float(measured.value),
        "draws": [float(d) for d in measured.draws],
        "patients": float(measured.patients),
        "rate": measured.rate,
    }


def _measured(entry: dict) -> Measured:
    return Measured(**entry | {"draws": np.array(entry["draws"])})
