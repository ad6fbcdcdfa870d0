"""Lists of the images that could not be used: private files, since the messages name none."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from anonymize import whole_file
from anonymize.csv_cells import inert
from anonymize.data.cache import cache_directory
from anonymize.data.sources.listing import ImageError
from anonymize.data.table import Table
from anonymize.errors import DataError
from anonymize.options import DataOptions


@contextmanager
def problems_listed(options: DataOptions) -> Iterator[None]:
    """Unusable images end what is done inside; which they are goes into a file, not the message."""
    try:
        yield
    except ImageError as error:
        path = _write(error.images, _path(options))
        raise DataError(f"{error}; listed in {path}") from error


def skipped_list(options: DataOptions, table: Table) -> Path | None:
    """Writes which images were left out, and why; None where none was."""
    return _write(table.skipped, _path(options)) if table.skipped else None


def _path(options: DataOptions) -> Path:
    return cache_directory(options.cache) / f"{options.source}-skipped.csv"


def _write(images: Iterable[tuple[str, str]], path: Path) -> Path:
    """A CSV ``image_id, reason``, readable by its owner only."""
    rows = pd.DataFrame(
        [(inert(image), reason) for image, reason in images], columns=["image_id", "reason"]
    )
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    whole_file.write(path, rows.to_csv(index=False, lineterminator="\r\n"), mode=0o600)
    return path
