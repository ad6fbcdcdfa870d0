"""Who stands where in mosaics: every patch once, nobody twice in one mosaic."""

import numpy as np

TRIES = 16  # mosaics that are looked at before others are rearranged


def placed(
    images: list[np.ndarray], cells: int, m: int, uses: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows (mosaics, cells) of the images that give each mosaic its patches.

    Args:
        images: the rows of each patient; ``cells`` patients or more.
        cells: patches of a mosaic.
        m: patches that a patient gives, each of another cell; ``cells`` at most.
        uses: mosaics that show each patch.
    """
    given = _dealt(images, cells, m, rng)
    number = min(len(cell) for cell in given)
    columns = [rng.permutation(cell)[:number].repeat(uses, axis=0) for cell in given]
    return _arranged([rng.permutation(column) for column in columns], len(images), rng)


def _dealt(
    images: list[np.ndarray], cells: int, m: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """For each cell the patches (n, 2) that it is given, as patient and row.

    Every patient gives m patches of images drawn by lot, to the cells that were given least so far,
    so that all are given equally many, or one more.
    """
    given: list[list[tuple[int, int]]] = [[] for _ in range(cells)]
    count = np.zeros(cells)
    for patient in rng.permutation(len(images)).tolist():
        drawn = rng.permutation(np.resize(rng.permutation(images[patient]), m))
        least = np.argsort(count + rng.random(cells))[:m]
        count[least] += 1
        for cell, row in zip(least, drawn, strict=True):
            given[cell].append((patient, int(row)))
    return [np.array(cell) for cell in given]


def _arranged(columns: list[np.ndarray], patients: int, rng: np.random.Generator) -> np.ndarray:
    """Rows (mosaics, cells) of columns of patches (mosaics, 2), arranged so that nobody stands in a
    mosaic twice.

    Mosaics colour the edges of a bipartite graph, which joins each patient with the cells that he
    gives patches to. Nobody gives more patches than there are mosaics, so the colours suffice
    (Kőnig 1916): where the next patch finds no place, two mosaics exchange the cells of a chain.
    """
    mosaics = len(columns[0])
    whose = np.zeros((mosaics, len(columns)), np.int64)
    rows = np.zeros_like(whose)
    stands: list[dict[int, int]] = [{} for _ in range(patients)]  # in which mosaic, at which cell
    for cell, column in enumerate(columns):
        free = rng.permutation(mosaics).tolist()
        for patient, row in column.tolist():
            last = range(len(free) - 1, max(-1, len(free) - 1 - TRIES), -1)
            fits = (place for place in last if free[place] not in stands[patient])
            place = next(fits, len(free) - 1)
            free[place], free[-1] = free[-1], free[place]
            mosaic = free.pop()
            if mosaic in stands[patient]:
                other = rng.choice(np.setdiff1d(np.arange(mosaics), list(stands[patient])))
                _exchange(whose, rows, stands, (mosaic, int(other)), patient)
            whose[mosaic, cell], rows[mosaic, cell] = patient, row
            stands[patient][mosaic] = cell
    return rows


def _exchange(
    whose: np.ndarray,
    rows: np.ndarray,
    stands: list[dict[int, int]],
    two: tuple[int, int],
    patient: int,
) -> None:
    """Moves a patient from the first of two mosaics to the second, where he does not stand; whom he
    meets there at his cell moves the other way, and so on until nobody stands twice."""
    here, there = two
    chain = []
    while here in stands[patient]:
        chain.append(stands[patient][here])
        patient = int(whose[there, chain[-1]])
    for cell in chain:
        del stands[whose[here, cell]][here], stands[whose[there, cell]][there]
    for table in (whose, rows):
        table[np.ix_(two, chain)] = table[np.ix_(two[::-1], chain)]
    for cell in chain:
        stands[whose[here, cell]][here] = cell
        stands[whose[there, cell]][there] = cell
