"""A data set ready for use: table split, images cached, pairs drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anonymize.data.batches import Images
from anonymize.data.cache import prepare
from anonymize.data.pairs import Pairs, balanced, genuine, read_list
from anonymize.data.sources import read
from anonymize.data.splits import assign
from anonymize.data.table import Table
from anonymize.options import DataOptions
from anonymize.seeds import derive_seed

MOST_PAIRS = 5000


@dataclass(frozen=True)
class Dataset:
    """A split table, its images and its pairs; what every stage draws from."""

    table: Table
    images: Images
    targets: np.ndarray
    options: DataOptions

    @classmethod
    def open(
        cls, options: DataOptions, progress: Callable[[int, int], None] | None = None
    ) -> Dataset:
        """Reads, splits and caches the data set of ``options``."""
        table = assign(read(options), seed=options.split_seed)
        table, images = prepare(
            table,
            size=options.size,
            directory=options.cache,
            workers=options.workers,
            on_missing=options.on_missing,
            progress=progress,
        )
        return cls(table, images, table.targets(np.arange(len(table))), options)

    def training_pairs(self) -> Callable[[int], Pairs]:
        """The pairs of an epoch from its seed: a given list, fixed, or drawn afresh."""
        o = self.options
        if o.pair_list is not None:
            listed = read_list(o.pair_list, self.table)
            return lambda seed: listed
        rows = self.table.part("train")
        if o.negatives == "fixed":
            once = self._balanced(rows, o.pairs, o.split_seed)
            return lambda seed: once
        return lambda seed: self._balanced(rows, o.pairs, seed)

    def fixed_pairs(self, part: str) -> Pairs:
        """The same balanced pairs of a part at every call, at most ``MOST_PAIRS``."""
        seed = derive_seed(self.options.split_seed, part)
        return self._balanced(self.table.part(part), MOST_PAIRS, seed)

    def _balanced(self, rows: np.ndarray, most: int | None, seed: int) -> Pairs:
        available = 2 * len(genuine(self.table, rows))
        count = min(most - most % 2, available) if most and available else None
        return balanced(self.table, rows, count=count, seed=seed)
