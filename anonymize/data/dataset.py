"""A data set ready for use: table split, images cached, pairs drawn."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from anonymize.data.cache import prepare
from anonymize.data.cached_images import ImageCache
from anonymize.data.pairs import Pairs, balanced, read_list
from anonymize.data.skipped import problems_listed, skipped_list
from anonymize.data.sources.registry import read
from anonymize.data.splits import assign, follow_lists
from anonymize.data.table import Table
from anonymize.errors import DataError, UsageError
from anonymize.options import DataOptions
from anonymize.seeds import derive_seed


@dataclass(frozen=True)
class Dataset:
    """A split table, its images and its pairs; what every stage draws from."""

    table: Table
    images: ImageCache
    targets: np.ndarray
    options: DataOptions

    @classmethod
    def open(cls, options: DataOptions, progress: Callable[[int, int], None] | None = None) -> Self:
        """Reads, splits and caches the data set of ``options``."""
        with problems_listed(options):
            table = assign(read(options), seed=options.split_seed)
            table = follow_lists(table, _lists(options), on_missing=options.on_missing)
            table, images = prepare(table, options, progress)
        skipped_list(options, table)
        found = cls(table, images, table.targets(np.arange(len(table))), options)
        found.held_back  # noqa: B018  # labels that do not fit are refused here
        return found

    @property
    def held_back(self) -> tuple[str, ...]:
        """The labels that methods are not told of, in the table's order; where a share of one label
        is asked for, none. UsageError for a name that is no label, or all of them."""
        o, labels = self.options, self.table.labels
        named = ", ".join(labels) or "none"
        if unknown := [name for name in o.held_back if name not in labels]:
            raise UsageError(
                f"data.held_back must name labels of source {self.table.source} ({named}); "
                f"got {', '.join(unknown)}"
            )
        if o.held_back and set(o.held_back) == set(labels):
            raise UsageError(
                f"data.held_back must leave a label to tell; source {self.table.source} has "
                f"{named}, and all are held back"
            )
        chosen = set(o.held_back)
        if o.held_back_share and len(labels) > 1:
            number = min(max(round(o.held_back_share * len(labels)), 1), len(labels) - 1)
            rng = np.random.default_rng(derive_seed(o.split_seed, "held back"))
            chosen = set(rng.permutation(labels)[:number].tolist())
        return tuple(name for name in labels if name in chosen)

    @property
    def told(self) -> Self:
        """The same without the labels that are held back: what methods are made from."""
        held = self.held_back
        keep = [i for i, name in enumerate(self.table.labels) if name not in held]
        table = replace(self.table, labels=tuple(self.table.labels[i] for i in keep))
        return replace(self, table=table, targets=self.targets[:, keep]) if held else self

    @property
    def patients(self) -> np.ndarray:
        """int64 (table rows,) codes of the patients."""
        names = self.table.frame["patient_id"].to_numpy(str)
        return np.unique(names, return_inverse=True)[1]

    def training_pairs(self) -> Callable[[int], Pairs]:
        """The pairs of an epoch from its seed: a given list, fixed (FTS), or drawn afresh (RNP)."""
        o, rows = self.options, self.table.part("train")
        if o.pair_list is not None:
            listed = self._listed(o.pair_list, "train")
            return lambda seed: listed
        if o.negatives == "fixed":
            once = balanced(self.table, rows, most=o.pairs, seed=o.split_seed)
            return lambda seed: once
        return lambda seed: balanced(self.table, rows, most=o.pairs, seed=seed)

    def fixed_pairs(self, part: str) -> Pairs:
        """The same pairs of a part at every call: a given list, or balanced ones; DataError for a
        part without genuine pairs, or a list that does not fit it."""
        o, seed = self.options, derive_seed(self.options.split_seed, part)
        path = _lists(o)[part]
        most = {"train": o.pairs, "validation": o.validation_pairs, "test": o.test_pairs}[part]
        if path is not None:
            return self._listed(path, part)
        try:
            return balanced(self.table, self.table.part(part), most=most, seed=seed)
        except DataError as error:
            raise DataError(
                f"{part} part: {error}; use more patients with follow-ups, or another "
                "data.split_seed"
            ) from error

    def _listed(self, path: Path, part: str) -> Pairs:
        rows = self.table.part(part)
        return read_list(path, self.table, rows=rows, on_missing=self.options.on_missing)


def _lists(o: DataOptions) -> dict[str, Path | None]:
    return {"train": o.pair_list, "validation": o.validation_list, "test": o.test_list}
