"""What was already measured, one small JSON file a measurement, so that a stop loses little."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from attacks.statistics import Measured, MeasuredLabels


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

    def identification(
        self, key: tuple, compute: Callable[[], dict[str, Measured]]
    ) -> dict[str, Measured]:
        """The figures of one attack, measured now or before."""
        value = self._remember(
            key, lambda: {name: _plain(measured) for name, measured in compute().items()}
        )
        return {name: _measured(entry) for name, entry in value.items()}

    def classification(self, key: tuple, compute: Callable[[], MeasuredLabels]) -> MeasuredLabels:
        """The figures of one classifier, measured now or before."""

        def plain() -> dict:
            labels = compute()
            return {"mean": _plain(labels.mean), "per_class": labels.per_class}

        value = self._remember(key, plain)
        return MeasuredLabels(_measured(value["mean"]), value["per_class"])

    def keep(self, key: tuple, value: Any) -> None:
        """Keeps what JSON can hold beside a measurement."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.partial")
        temporary.write_text(json.dumps(value), encoding="utf-8")
        temporary.replace(path)

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

    def _path(self, key: tuple) -> Path:
        folder = self.folder(*key)
        return folder.with_name(f"{folder.name}.json")


def _plain(measured: Measured) -> dict:
    return {"value": float(measured.value), "draws": [float(d) for d in measured.draws]}


def _measured(entry: dict) -> Measured:
    return Measured(entry["value"], np.array(entry["draws"]))
