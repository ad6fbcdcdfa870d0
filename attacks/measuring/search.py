"""Rankings from an exact flat faiss index, as deep as a figure looks and no deeper."""

from __future__ import annotations

import numpy as np

from attacks.measuring.metrics import Owners, slices
from attacks.measuring.related import Related
from attacks.measuring.retrieval import Retrieval

DEPTH = 15  # ranks that top-k figures look at
QUERIES = 4096
FOUND = 1 << 24  # neighbours held at a time
BEYOND = np.iinfo(np.int64).max  # rank of a genuine image deeper than any figure looks


def exact_index(vectors: np.ndarray):
    """A flat faiss index of float32 vectors (n, E) by inner product: exact, nothing is learnt."""
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    for rows in slices(len(vectors), QUERIES):
        index.add(np.ascontiguousarray(vectors[rows]))
    return index


def search(
    asked: np.ndarray,
    known: np.ndarray,
    probes: Owners,
    gallery: Owners,
    *,
    depth: int = DEPTH,
) -> Retrieval:
    """Ranks of the genuine images of every counted probe, as `retrieval.retrieve` gives them, but
    ``BEYOND`` where a rank is deeper than both R and ``depth``.

    Args:
        asked, known: float32 (P, E) and (G, E); their inner products are the scores.

    Raises:
        ValueError: no probe with a genuine gallery image.
    """
    related = Related(probes, gallery)
    genuine, excluded = related.tally()
    counted = np.flatnonzero(genuine)
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
