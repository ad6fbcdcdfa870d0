"""Tests of what tells donors, other people whose films a release shows in everybody's place."""

from collections.abc import Iterator

import numpy as np

from anonymize.data.table import Table
from anonymize.seeds import derive_seed
from attacks.check.cases import STRANGERS, Case
from attacks.check.maps import Noise
from attacks.check.run import RESAMPLINGS, Examination, Found, Outcome, around, fault
from attacks.evaluation.donors import donors_told, pool_rows
from attacks.registry import DONORS

CASES = (
    Case("strangers", STRANGERS, "links"),
    Case("strangers, noise", STRANGERS, "chance"),
    Case("strangers, permuted", STRANGERS, "chance", relabelled=True),
)


def of_donors(examination: Examination) -> Iterator[Outcome]:
    """One outcome a case: films of donors must be told where they are shown, and neither where
    noise is nor among films that lots were drawn of."""
    data, seed = examination.data, examination.options.seed
    released, method = examination.released(CASES[0])
    films = pool_rows(method, data.table)
    assert films is not None
    shown = released.batch(data.table.part("test"))
    made = (
        (shown, films),
        (Noise(seed=seed).anonymize(shown), films),
        (shown, _by_lot(data.table, len(films), seed)),
    )
    for case, (images, pool) in zip(CASES, made, strict=True):
        told = donors_told(images, data, pool, resamplings=RESAMPLINGS, seed=seed)
        assert told is not None
        found = Found(told.value, around(told.value, told.draws))
        why = fault(case, found, None)
        yield Outcome(DONORS, case.name, "failed" if why else "passed", *found[:2], why)


def _by_lot(table: Table, films: int, seed: int) -> np.ndarray:
    """Rows of so many training films."""
    rng = np.random.default_rng(derive_seed(seed, DONORS))
    return rng.choice(table.part("train"), films, replace=False)
