"""Where an attacker succeeds: its true match rate among pairs that the table sets apart.

A pair is taken for one patient where no more than a fixed share of all impostor pairs scores as
high (false match rate, ISO/IEC 19795-1:2021). One threshold serves all groups of a fact that an
adversary does not know of a pair; how many images of a patient there are is known, so that pairs
of such patients have a threshold of their own. Packhäuser et al. 2022 give such rates by age
difference, new abnormality and view.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from anonymize.data.table import Table
from anonymize.statistics import RESAMPLINGS, Measured, draw_patients
from attacks.measuring.estimates import Breakdown, Estimate, GroupRate
from attacks.measuring.metrics import Owners, genuine_places, shares_ahead
from attacks.measuring.pair_facts import groups_by_images, pair_groups
from attacks.measuring.statistics import mean_of

FEW_PAIRS, FEW_PATIENTS = 20, 5  # fewer than these have counts but no rate
RATE, PAIRS, PATIENTS, COIN = "true_match_rate", "pairs", "patients", "coin"


def measure_breakdown(
    scores: np.ndarray,
    owners: tuple[Owners, Owners],
    table: Table,
    *,
    false_match_rate: float,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> dict[str, Measured]:
    """The true match rate of all genuine pairs and of every group, and the groups' counts.

    Names are ``true_match_rate`` and ``KIND|FACT|GROUP`` with ``true_match_rate``, ``pairs`` or
    ``patients`` as kind; :func:`split_breakdown` reads them. Patients are resampled, the threshold
    stays. Nothing where no genuine pair is of one patient's own images.

    Args:
        scores: (P, G).
        table: ``Owners.image`` counts its rows.
        false_match_rate: share of the impostor pairs that passes the threshold, at most.
    """
    probes, gallery = owners
    row, column = genuine_places(probes, gallery)
    own = probes.patient[row] == gallery.patient[column]  # facts are of two images of one patient
    row, column = row[own], column[own]
    if not len(row):
        return {}
    above = shares_ahead(scores[row, column], scores, probes, gallery) <= false_match_rate
    codes, patient = np.unique(probes.patient, return_inverse=True)
    weights = draw_patients(len(codes), resamplings=resamplings, seed=seed)
    whose = patient[row]
    found = {RATE: mean_of(above, whose, weights)}
    groups = [
        (f"{fact}|{group}", members, above[members])
        for fact, group, members in pair_groups(table, probes.image[row], gallery.image[column])
    ]
    by_images = linked_by_images(scores, probes, gallery, (row, column), false_match_rate)
    groups += [(f"images|{name}", members, linked) for name, members, linked in by_images]
    for name, members, linked in groups:
        who = whose[members]
        count, patients = len(who), len(np.unique(who))
        if count >= FEW_PAIRS and patients >= FEW_PATIENTS:
            found[f"{RATE}|{name}"] = mean_of(linked, who, weights)
        found[f"{PAIRS}|{name}"] = Measured(count, np.zeros(0))
        found[f"{PATIENTS}|{name}"] = Measured(patients, np.zeros(0))
    return found


def linked_by_images(
    scores: np.ndarray,
    probes: Owners,
    gallery: Owners,
    pairs: tuple[np.ndarray, np.ndarray],
    false_match_rate: float,
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """By how many images of the patient there are, a group's name, which of the ``pairs`` (rows and
    columns of scores) are in it, and which of those pass a threshold of its own: that of identified
    patients of as many, since of others nobody knows how many there are."""
    row, column = pairs
    like = dict(groups_by_images(_images(gallery)))
    for group, some in groups_by_images(_images(probes)):
        some = some & probes.identified
        members, known = some[row], like.get(group, True) & gallery.identified
        if not members.any():
            continue
        own = scores[row[members], column[members]]
        ahead = shares_ahead(own, scores[np.ix_(some, known)], probes[some], gallery[known])
        yield group, members, ahead <= false_match_rate


def _images(owners: Owners) -> np.ndarray:
    """How many images there are of each one's patient, in however many rows."""
    _, place = np.unique(owners.patient, return_inverse=True)
    _, once = np.unique(owners.image, return_index=True)
    counts: np.ndarray = np.bincount(place[once], minlength=place.max(initial=-1) + 1)
    return counts[place]


def split_breakdown(
    estimates: Mapping[str, Estimate], false_match_rate: float
) -> tuple[dict[str, Estimate], Breakdown | None]:
    """Estimates without those of :func:`measure_breakdown`, and these as a part of results.json;
    None where they were not measured."""
    own = {RATE, PAIRS, PATIENTS, COIN}
    others = {n: e for n, e in estimates.items() if n.partition("|")[0] not in own}
    if RATE not in estimates:
        return others, None
    facts: dict[str, list[GroupRate]] = {}
    for name, estimate in estimates.items():
        kind, _, place = name.partition("|")
        if kind != PAIRS:
            continue
        fact, _, group = place.partition("|")
        facts.setdefault(fact, []).append(
            GroupRate(
                group=group,
                pairs=round(estimate.mean),
                patients=round(estimates[f"{PATIENTS}|{place}"].mean),
                rate=estimates.get(f"{RATE}|{place}"),
                coin=coin.mean if (coin := estimates.get(f"{COIN}|{place}")) else None,
            )
        )
    return others, Breakdown(false_match_rate=false_match_rate, rate=estimates[RATE], facts=facts)
