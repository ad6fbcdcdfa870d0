"""What was already measured, one small JSON file a measurement, so that a stop loses little."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anonymize import whole_file
from attacks.measuring.statistics import Measured, MeasuredLabels


class Notes:
    """Measurements of one method; any change of what they depend on is another notebook.

    Args:
        root: folder of all notes.
        depends: strings or bytes: data, options, released images.
    """

    def __init__(self, root: Path, *depends: str | bytes) -> None:
        digest = hashlib.sha256()
        for part in depends:
            digest.update(part.encode() if isinstance(part, str) else part)
            digest.update(b"\0")
        self.root = root / digest.hexdigest()[:16]

    def folder(self, *key: object) -> Path:
        """Where the training behind a measurement may keep checkpoints; removed once it is done."""
        return self.root / "-".join(map(str, key))

    def knows(self, *key: object) -> bool:
        """Whether it was measured before."""
        return self._path(key).is_file()

    def figures(self, key: tuple) -> dict[str, Measured]:
        """The figures of one attack that was measured before."""
        return {name: _measured(entry) for name, entry in self.kept(key).items()}

    def keep_figures(self, key: tuple, figures: Mapping[str, Measured]) -> None:
        """Keeps the figures of one attack; its checkpoints go."""
        self.keep(key, {name: _plain(measured) for name, measured in figures.items()})
        shutil.rmtree(self.folder(*key), ignore_errors=True)

    def has_scores(self, key: tuple) -> bool:
        """Whether the scores of one attack were kept."""
        return self._scores(key).is_file()

    def scores(self, key: tuple) -> dict[str, np.ndarray]:
        """The scores of one attack by part, for attackers that combine others."""
        with np.load(self._scores(key)) as kept:
            return dict(kept)

    def keep_scores(self, key: tuple, scores: Mapping[str, np.ndarray]) -> None:
        """Keeps the scores of one attack."""
        with whole_file.replacing(self._scores(key)) as path, path.open("wb") as file:
            np.savez(file, **scores)

    def classification(self, key: tuple, compute: Callable[[], MeasuredLabels]) -> MeasuredLabels:
        """The figures of one classifier, measured now or before."""

        def plain() -> dict:
            labels = compute()
            return {"mean": _plain(labels.mean), "per_class": labels.per_class}

        value = self._remember(key, plain)
        return MeasuredLabels(_measured(value["mean"]), value["per_class"])

    def keep(self, key: tuple, value: Any) -> None:
        """Keeps what JSON can hold beside a measurement."""
        whole_file.write(self._path(key), json.dumps(value))

    def kept(self, key: tuple) -> Any:
        """What was kept; None where nothing was."""
        path = self._path(key)
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def _remember(self, key: tuple, compute: Callable[[], dict]) -> dict:
        value = self.kept(key)
        if value is None:
            value = compute()
            self.keep(key, value)
            shutil.rmtree(self.folder(*key), ignore_errors=True)
        return value

    def _scores(self, key: tuple) -> Path:
        return self._path(key).with_suffix(".npz")

    def _path(self, key: tuple) -> Path:
        folder = self.folder(*key)
        return folder.with_name(f"{folder.name}.json")


def _plain(measured: Measured) -> dict:
    return {"value": float(measured.value), "draws": [float(d) for d in measured.draws]}


def _measured(entry: dict) -> Measured:
    return Measured(entry["value"], np.array(entry["draws"]))
