"""Files of ``torch.save``: the zip archive, and the plain stream of torch before 1.6.

Nothing is unpacked to disk and nothing is called (:mod:`anonymize.convert.inert_pickle`). What is
read is bounded by the size of the file, however much it promises to hold.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from anonymize.convert.containers import Container, open_container
from anonymize.convert.inert_pickle import TensorRecord
from anonymize.errors import ModelError, printable

LARGEST = 2 << 30  # bytes of a file; the published ones have at most some 100 MiB
WRAPPINGS = ("state_dict", "model_state_dict")
HINT = "only what torch.save(model.state_dict(), FILE) writes is converted"


class WeightFile:
    """The tensors of a file by name: ``shapes`` at once, values when they are asked for.

    Raises:
        ModelError: no such file, or one that holds anything but tensors; one line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                size = file.seek(0, io.SEEK_END)
                if size > LARGEST:
                    raise ModelError(f"it has {size >> 20} MiB, more than any weights known here")
                container = open_container(file, size)
                self._records = _state_dict(container.root)
                for record in self._records.values():
                    container.check(record.storage)
                self._budget = size
        except OSError as error:
            raise ModelError(
                f"weight file {path} cannot be read ({type(error).__name__})"
            ) from None
        except ModelError as error:
            raise self._refused(error) from None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor by name."""
        return {name: record.shape for name, record in self._records.items()}

    def tensors(self, names: Mapping[str, str]) -> dict[str, Tensor]:
        """Copies of the tensors ``names.values()`` under ``names.keys()``, contiguous.

        Raises:
            ModelError: tensors that share numbers add up to more than the file holds.
        """
        records = {ours: self._records[theirs] for ours, theirs in names.items()}
        try:
            if sum(r.numel * r.storage.dtype.itemsize for r in records.values()) > self._budget:
                raise ModelError("its tensors share numbers; each must have its own")
            with self.path.open("rb") as file:
                container = open_container(file, self._budget)
                return {name: _values(record, container) for name, record in records.items()}
        except ModelError as error:
            raise self._refused(error) from None

    def _refused(self, error: ModelError) -> ModelError:
        return ModelError(f"{self.path} is refused: {error}; {HINT}")


def _state_dict(root: Any) -> dict[str, TensorRecord]:
    """The named tensors of a file: its object itself, or what a checkpoint calls so."""
    if type(root) is dict:
        for name in WRAPPINGS:
            if type(root.get(name)) is dict:
                root = root[name]
                break
    if type(root) is not dict or not root:
        raise ModelError("it holds no dictionary of tensors")
    for name, value in root.items():
        if type(name) is not str or type(value) is not TensorRecord:
            raise ModelError(f"its entry {printable(str(name))} is no tensor")
    return root


def _values(record: TensorRecord, container: Container) -> Tensor:
    if not record.numel:
        return torch.empty(record.shape, dtype=record.storage.dtype)
    container.check(record.storage)
    flat = torch.frombuffer(container.numbers(record.storage), dtype=record.storage.dtype)
    return torch.as_strided(flat, record.shape, record.stride, record.offset).clone(
        memory_format=torch.contiguous_format
    )
