"""Pairs of images for verification: genuine (one patient) and impostor (two patients).

A pair is two row numbers of the table. Only rows whose patient is identified make pairs, genuine
or impostor: an impostor pair with an unidentified image might be genuine, and a verifier could
tell such pairs by what the unidentified images have in common instead of by who is shown.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from anonymize.data.table import Table
from anonymize.errors import DataError


@dataclass(frozen=True)
class Pairs:
    """Verification pairs."""

    first: np.ndarray  # int64 (n,), rows of the table
    second: np.ndarray  # int64 (n,), rows of the table, another image each
    same: np.ndarray  # bool (n,), whether both show one patient
    skipped: int = 0  # pairs of a list that were left out

    def __len__(self) -> int:
        return len(self.first)


def genuine(table: Table, rows: np.ndarray) -> Pairs:
    """All pairs of images of one identified patient among the rows, the smaller row first."""
    rows = np.unique(np.asarray(rows, np.int64))
    rows = rows[table.frame["identified"].to_numpy(bool)[rows]]
    return _genuine(rows, _patients(table, rows))


def _genuine(rows: np.ndarray, patients: np.ndarray) -> Pairs:
    rows = rows[np.argsort(patients, kind="stable")]
    counts = np.bincount(patients)
    starts = np.cumsum(counts) - counts
    found = [np.empty((2, 0), np.int64)]
    for count in np.unique(counts[counts > 1]):
        i, j = np.triu_indices(count, 1)
        start = starts[counts == count][:, None]
        found.append(np.stack([rows[start + i].ravel(), rows[start + j].ravel()]))
    first, second = np.concatenate(found, axis=1)
    order = np.lexsort((second, first))
    return Pairs(first[order], second[order], np.ones(len(order), bool))


def balanced(table: Table, rows: np.ndarray, *, most: int | None = None, seed: int) -> Pairs:
    """Genuine pairs of the rows and as many impostor pairs; no pair twice in either order.

    Impostor pairs are drawn image by image, uniformly over all pairs of two identified patients.
    Which image of a pair is the first, which alone is deformed in training, a coin decides.
    Another seed draws both again: call it with one for fixed pairs (FTS), with one an epoch for
    fresh ones (RNP). ``most`` and errors as in :func:`draw_pairs`.
    """
    rows = np.unique(np.asarray(rows, np.int64))
    identified = table.frame["identified"].to_numpy(bool)[rows]
    drawn = draw_pairs(_patients(table, rows), identified, most=most, seed=seed)
    return Pairs(rows[drawn.first], rows[drawn.second], drawn.same)


def draw_pairs(
    patient: np.ndarray, identified: np.ndarray, *, most: int | None = None, seed: int
) -> Pairs:
    """Balanced pairs of images 0 … n−1 of the patients given, as :func:`balanced` draws them.

    Args:
        most: pairs in all, if there are so many; None: all genuine pairs.

    Raises:
        DataError: no identified patient has several images, or too few strangers.
    """
    rows = np.flatnonzero(identified)
    codes = np.unique(patient[rows], return_inverse=True)[1]
    pool = _genuine(rows, codes)
    if not len(pool):
        raise DataError("no identified patient has several images, so there are no genuine pairs")
    half = len(pool) if most is None else max(1, min(most // 2, len(pool)))
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(pool))[:half])
    strangers = _impostors(rows, codes, half, rng)
    first = np.concatenate([pool.first[chosen], strangers[0]])
    second = np.concatenate([pool.second[chosen], strangers[1]])
    turned = _coins(first, second, len(patient), seed)
    return Pairs(
        np.where(turned, second, first),
        np.where(turned, first, second),
        np.repeat([True, False], half),
    )


def read_list(
    path: Path, table: Table, *, rows: np.ndarray | None = None, on_missing: str = "error"
) -> Pairs:
    """A published list: two file names and 1.0 (genuine) or 0.0, separated by tabs.

    A name matches an ``image_id`` whole, or by its last path component, or by that without the
    suffix, where only one image has it. With ``rows``, both images of a pair must be among these.
    With ``on_missing="skip"``, pairs that do not fit the table are left out, and counted.

    Raises DataError: no such file, a malformed line, or a pair whose images are not among the rows,
    are one image, or whose patients contradict its third column."""
    first, second, same = _parse(path)
    first, second = (_rows_of(names, table.frame["image_id"]) for names in (first, second))
    known = (first >= 0) & (second >= 0)
    if rows is not None:
        inside = np.zeros(len(table) + 1, bool)  # the last one stands for row −1
        inside[rows] = True
        known &= inside[first] & inside[second]
    patients = table.frame["patient_id"].to_numpy(object)
    contradicted = known & ((patients[first] == patients[second]) != same)
    itself = known & (first == second)
    bad = ~known | contradicted | itself
    if bad.any() and on_missing == "error":
        raise DataError(
            f"the pair list does not fit source {table.source}: of {len(bad)} pairs "
            f"{(~known).sum()} name images that are not there (or not in this part), "
            f"{contradicted.sum()} contradict the table's patients, {itself.sum()} pair an image "
            "with itself; complete the data set, or leave these pairs out with --on-missing skip"
        )
    if bad.all():
        raise DataError(f"the pair list has no pair that fits source {table.source}")
    return Pairs(first[~bad], second[~bad], same[~bad], skipped=int(bad.sum()))


def _coins(first: np.ndarray, second: np.ndarray, images: int, seed: int) -> np.ndarray:
    """bool (n,): one for each pair, whichever others are drawn with it."""
    factors = np.random.default_rng((seed, 1)).integers(1 << 63, size=images, dtype=np.uint64)
    return (2 * factors[first] + 1) * (2 * factors[second] + 1) >= 1 << 63


def _patients(table: Table, rows: np.ndarray) -> np.ndarray:
    """Patients of the rows as numbers from 0."""
    return pd.factorize(table.frame["patient_id"].to_numpy(object)[rows], sort=True)[0]


def _impostors(
    rows: np.ndarray, patients: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    n = len(rows)
    sizes = np.bincount(patients)
    available = (n * (n - 1) - int((sizes * (sizes - 1)).sum())) // 2
    if available < count:
        raise DataError(
            f"{count} impostor pairs were asked for and there are {available}; "
            "use more patients or ask for fewer pairs"
        )
    if available < 4 * count or n < 1000:  # drawing by trial would take long to find the last ones
        i, j = np.triu_indices(n, 1)
        apart = np.flatnonzero(patients[i] != patients[j])
        chosen = rng.choice(apart, count, replace=False)
        return rows[i[chosen]], rows[j[chosen]]
    keys = np.empty(0, np.int64)
    while len(keys) < count:
        i, j = rng.integers(n, size=(2, 2 * (count - len(keys)) + 16))
        apart = patients[i] != patients[j]
        fresh = np.minimum(i, j)[apart] * n + np.maximum(i, j)[apart]
        keys = pd.unique(np.concatenate([keys, fresh]))  # keeps the order of drawing
    low, high = np.divmod(keys[:count], n)
    return rows[low], rows[high]


def _parse(path: Path) -> tuple[pd.Series, pd.Series, np.ndarray]:
    try:
        lines = pd.Series(Path(path).read_text(encoding="utf-8").splitlines(), dtype=object)
    except (OSError, UnicodeDecodeError):
        raise DataError("the pair list is not there or is no UTF-8 text") from None
    lines = lines[lines.str.strip() != ""]
    fields = lines.str.extract(r"^\s*([^\t]+?)\s*\t\s*([^\t]+?)\s*\t\s*([01](?:\.0*)?)\s*$")
    wrong = fields[0].isna()
    if wrong.any() or fields.empty:
        place = f"line {wrong.idxmax() + 1} is not" if wrong.any() else "it is empty"
        raise DataError(
            f"the pair list: {place}; each line must hold two file names and 1.0 or 0.0, "
            "separated by tabs"
        )
    return fields[0], fields[1], fields[2].astype(float).to_numpy() == 1


def _rows_of(names: pd.Series, image_ids: pd.Series) -> np.ndarray:
    """int64 rows of the images; −1 where no image, or no single one, has the name."""
    images = image_ids.astype(object).reset_index(drop=True)
    found = pd.Series(np.nan, index=names.index)
    for spell in (lambda text: text, _last, lambda text: _stem(_last(text))):
        known = spell(images).drop_duplicates(keep=False)
        found = found.fillna(spell(names).map(pd.Series(known.index, index=known)))
    return found.fillna(-1).to_numpy(np.int64)


def _last(names: pd.Series) -> pd.Series:
    return names.str.replace("\\", "/", regex=False).str.split("/").str[-1]


def _stem(names: pd.Series) -> pd.Series:
    return names.str.replace(r"(?i)\.(png|jpe?g|tiff?)$", "", regex=True)
