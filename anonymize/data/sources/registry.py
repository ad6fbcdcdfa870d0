"""Find the reader of a data set by its name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anonymize.data.sources.chestxray14 as chestxray14
import anonymize.data.sources.chexpert as chexpert
import anonymize.data.sources.covid19 as covid19
import anonymize.data.sources.folder as folder
import anonymize.data.sources.pediatric_pneumonia as pediatric_pneumonia
import anonymize.data.sources.phantom as phantom
from anonymize.data.sources.listing import folder_of
from anonymize.data.table import Table
from anonymize.errors import DataError
from anonymize.options import DataOptions

SOURCES: dict[str, Callable[[DataOptions, Any], Table]] = {
    "phantom": phantom.read,
    "chestxray14": chestxray14.read,
    "chexpert": chexpert.read,
    "covid19": covid19.read,
    "pediatric-pneumonia": pediatric_pneumonia.read,
    "folder": folder.read,
}


def check(options: DataOptions) -> Path | None:
    """The folder of the source; DataError where it is missing, or the source unknown."""
    if options.source not in SOURCES:
        raise DataError(f"source must be one of {', '.join(SOURCES)}; got {options.source!r}")
    return options.root if options.source == "phantom" else folder_of(options)


def read(options: DataOptions) -> Table:
    """The table of ``options.source``, its ``part`` empty or as the data set's own lists say.

    DataError for an unknown source, a missing or unexpected root, a table that lacks a column; with
    ``options.on_missing == "error"`` also ImageError, if any listed image cannot be used.
    """
    root = check(options)
    return SOURCES[options.source](options, root)
