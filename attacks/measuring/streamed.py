"""The figures of `metrics` from embeddings, without a score matrix: 100,000 × 100,000 images.

Scores are inner products of vectors that :func:`comparable` makes. Rankings come from an exact
index (`search`), the pair AUC from a histogram of all scores that is filled a block of rows at a
time: it is known to within a bound that is measured with it.
"""

from dataclasses import replace

import numpy as np

from anonymize.statistics import RESAMPLINGS, Measured, draw_patients, effective
from attacks.measuring.binned import count_scores, lost_by_image
from attacks.measuring.drawn_pairs import projected_auc
from attacks.measuring.estimates import MISSED
from attacks.measuring.independence import independent_comparisons
from attacks.measuring.metrics import FALSE_MATCH_RATES, Owners
from attacks.measuring.search import Related, search
from attacks.measuring.statistics import background, mean_of, retrieval_figures, roc_figures


def measure_vectors(
    asked: np.ndarray,
    known: np.ndarray,
    probes: Owners,
    gallery: Owners,
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> dict[str, Measured]:
    """What `statistics.measure_identification` gives, without the matrix; and ``auc_error``, the
    most by which the AUC may be off.

    Draws are those of a first order, as `drawn_pairs` has them for many patients.

    Args:
        asked, known: float32 vectors (P, E) and (G, E) whose inner products are the scores, as
            :func:`comparable` makes them.

    Raises:
        ValueError: no genuine or no impostor pairs.
    """
    found = count_scores(asked, known, probes, gallery)
    retrieval = search(asked, known, probes, gallery)
    codes = np.union1d(probes.patient, gallery.patient)
    weights = draw_patients(len(codes), resamplings=resamplings, seed=seed)
    whose, own, others = (
        np.searchsorted(codes, patient)
        for patient in (probes.patient[found.probe], probes.patient, gallery.patient)
    )
    counts, wins = found.counts(), found.wins()
    each = np.bincount(whose, minlength=len(codes))
    every = effective(np.bincount(own[np.unique(found.probe)]))
    figures: dict[str, Measured] = {
        f"{MISSED}|{rate:g}": replace(mean_of(found.rejected(rate), whose, weights), patients=every)
        for rate in FALSE_MATCH_RATES
    }
    for name, times, patients in (
        ("auc", np.ones(len(whose)), every),
        ("auc_patient", 1 / each[whose], float(np.count_nonzero(each))),
    ):
        sums = lost_by_image(asked, known, found, times, Related(probes, gallery))
        lost, met = (
            np.bincount(own, of_probe, len(codes)) + np.bincount(others, of_image, len(codes))
            for of_probe, of_image in sums
        )
        won, pairs = (np.bincount(whose, of, len(codes)) for of in (wins * times, times))
        value = counts.auc if name == "auc" else float(np.average(wins, weights=times))
        figures[name] = Measured(value, projected_auc((won, pairs), (lost, met), weights), patients)
    return {
        **figures,
        "auc_error": Measured(found.error, np.zeros(0)),
        "equal_error_rate": Measured(counts.equal_error_rate, np.zeros(0)),
        **roc_figures(counts, independent_comparisons(probes, gallery)),
        **retrieval_figures(retrieval, codes, weights, background(gallery)),
    }
