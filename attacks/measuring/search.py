"""Rankings from an exact flat faiss index, as deep as a figure looks and no deeper; and which of
P × G pairs share a patient or an image, found without looking at every pair."""

import numpy as np

from attacks.measuring.metrics import Owners, slices
from attacks.measuring.retrieval import Retrieval

DEPTH = 15  # ranks that top-k figures look at
QUERIES = 4096
FOUND = 1 << 24  # neighbours held at a time
BEYOND = np.iinfo(np.int64).max  # rank of a genuine image deeper than any figure looks


class Related:
    """The pairs of probes and gallery images that `metrics` does not count as impostors."""

    def __init__(self, probes: Owners, gallery: Owners) -> None:
        self._probes, self._gallery = probes, gallery
        self._shared = [
            _Shared(probes.patient, gallery.patient),
            _Shared(probes.image, gallery.image),
        ]

    def pairs(self, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows (n,) and columns (n,) of the related pairs of some probes, each once, and which of
        them are genuine, bool (n,); the others are excluded."""
        found = np.hstack([shared.pairs(rows) for shared in self._shared])
        row, column = np.unique(found, axis=1)
        return row, column, self.genuine(row, column)

    def genuine(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """bool: the pairs are genuine; rows and columns broadcast."""
        probes, gallery = self._probes, self._gallery
        known = probes.identified[row] & gallery.identified[column]
        same_image = probes.image[row] == gallery.image[column]
        return known & (probes.patient[row] == gallery.patient[column]) & ~same_image

    def impostor(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """bool: the pairs are impostor pairs; rows and columns broadcast."""
        probes, gallery = self._probes, self._gallery
        other_image = probes.image[row] != gallery.image[column]
        return other_image & (probes.patient[row] != gallery.patient[column])

    def tally(self) -> tuple[np.ndarray, np.ndarray]:
        """int64 (P,): how many genuine, and how many excluded, gallery images a probe has."""
        counts = np.zeros((2, len(self._probes)), np.int64)
        for rows in slices(len(self._probes), QUERIES):
            row, _, genuine = self.pairs(rows)
            np.add.at(counts, (np.where(genuine, 0, 1), row), 1)
        return counts[0], counts[1]


class _Shared:
    """Pairs of equal codes."""

    def __init__(self, first: np.ndarray, second: np.ndarray) -> None:
        self._order = np.argsort(second, kind="stable")
        ordered = second[self._order]
        self._start = np.searchsorted(ordered, first, side="left")
        self._count = np.searchsorted(ordered, first, side="right") - self._start

    def pairs(self, rows: slice) -> np.ndarray:
        """int64 (2, n): row and column of the pairs of some rows."""
        start, count = self._start[rows], self._count[rows]
        row = np.repeat(np.arange(rows.start, rows.stop), count)
        # 0, 1, …, count − 1 for each row
        within = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        return np.stack([row, self._order[np.repeat(start, count) + within]])


def exact_index(vectors: np.ndarray):
    """A flat faiss index of float32 vectors (n, E) by inner product: exact, nothing is learnt."""
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    for rows in slices(len(vectors), QUERIES):
        index.add(np.ascontiguousarray(vectors[rows]))
    return index


def search(
    asked: np.ndarray, known: np.ndarray, probes: Owners, gallery: Owners, *, depth: int = DEPTH
) -> Retrieval:
    """Ranks of the genuine images of every counted probe, as `retrieval.retrieve` gives them, but
    ``BEYOND`` where a rank is deeper than both R and ``depth``.

    Args:
        asked, known: float32 (P, E) and (G, E); their inner products are the scores.

    Raises:
        ValueError: no probe with a genuine and an impostor gallery image.
    """
    related = Related(probes, gallery)
    genuine, excluded = related.tally()
    counted = np.flatnonzero((genuine > 0) & (genuine + excluded < len(gallery)))
    if not len(counted):
        raise ValueError("no identified probe has another image of its patient in the gallery")
    index, wanted = exact_index(known), np.maximum(genuine, depth)
    # Probes that look about equally deep are searched together, to a power of two.
    power = np.ceil(np.log2(wanted + excluded + 1)).astype(int)
    ranks: dict[int, np.ndarray] = {}
    pending = counted
    while len(pending):
        level = power[pending].min()
        nearest = min(2**level, len(known))
        now = pending[power[pending] == level]
        for part in slices(len(now), min(QUERIES, max(1, FOUND // nearest))):
            some = now[part]
            scores, columns = _in_order(*index.search(asked[some], int(nearest)))
            # Where a ranking goes on, the order of its last equal scores is not known yet.
            settled = (scores > scores[:, -1:]) | (nearest == len(known))
            own = related.genuine(some[:, None], columns) & settled
            place = np.cumsum(own | (related.impostor(some[:, None], columns) & settled), axis=1)
            deep = (place[:, -1] >= wanted[some]) | (nearest == len(known))
            for i, row in enumerate(some):
                if deep[i]:
                    found = place[i, own[i]]
                    deeper = np.full(genuine[row] - len(found), BEYOND)
                    ranks[int(row)] = np.concatenate([found, deeper])
            power[some[~deep]] += 1
        pending = np.array([row for row in pending if row not in ranks], np.int64)
    return Retrieval(probes.patient[counted], tuple(ranks[row] for row in counted.tolist()))


def _in_order(scores: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rankings by falling score, on a tie by rising index."""
    order = np.lexsort((columns, -scores), axis=1)
    return np.take_along_axis(scores, order, 1), np.take_along_axis(columns, order, 1)
