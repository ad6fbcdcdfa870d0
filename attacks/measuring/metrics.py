"""How well scores tell whose image it is: pair and retrieval figures, exact, numpy only.

A score matrix is (P, G): row = probe (released image), column = gallery image (real image), higher
= more alike. Every pair of a probe and a gallery image is one of three kinds:

- genuine: the same patient, both images identified, not the same image;
- impostor: different patient codes, identified or not;
- excluded: the same image, or the same patient code where one of the two is not identified.

Findings, sex, age and view link, too, and a release that keeps what it is for keeps findings. So
every figure has a second reading, against *matched* impostors (`Owners.matching`): both images are
identified and alike in what is known of them. Genuine pairs count by the same rule: among patients
whose findings come and go, who reads findings would else take impostors for them. All other pairs
are then excluded.

An image of a release may be made of several people's (`Contributors`). Then a pair is genuine
where any of them is shown, excluded where any of the very images is, and an impostor's where none
of their patients is.

Images of unknown patients therefore make impostor pairs and stand in the gallery as distractors,
but are never counted as probes of a retrieval figure. Nothing is sampled: an AUC over 10⁹ pairs is
sorted in blocks of rows, not approximated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from attacks.measuring.error_rates import PairCounts

FALSE_MATCH_RATES = (1e-2, 1e-3, 1e-4)  # of the operating points
YEARS = 2  # by which the ages of matched images may differ
BLOCK = 1 << 24  # scores held twice at a time: 128 MiB of float32


@dataclass(frozen=True)
class Covariates:
    """What impostors are matched by; arrays of length N.

    Attributes:
        findings: int64 code of the set of findings.
        sex, view: int64 codes, −1 where unknown.
        age: float64, years, NaN where unknown.
    """

    findings: np.ndarray
    sex: np.ndarray
    view: np.ndarray
    age: np.ndarray

    def __getitem__(self, rows) -> Covariates:
        return Covariates(self.findings[rows], self.sex[rows], self.view[rows], self.age[rows])

    def alike(self, other: Covariates) -> np.ndarray:
        """bool (N, M): :meth:`like` of each with each."""
        return self[:, None].like(other)

    def like(self, other: Covariates) -> np.ndarray:
        """bool, one with one: the same findings; and, where known of both, sex, view and age ± 2
        years."""
        found = self.findings == other.findings
        for a, b in ((self.sex, other.sex), (self.view, other.view)):
            found &= (a == b) | (a < 0) | (b < 0)
        return found & ~(np.abs(self.age - other.age) > YEARS)


@dataclass(frozen=True)
class Contributors:
    """Of whom images were made that several people's went into; int64 (N, C), −1 where there are
    fewer than C.

    Attributes:
        image: their numbers in the table.
        patient: their patient codes, −1 also where the patient is not identified.
        unknown: the codes of patients who are not identified.
    """

    image: np.ndarray
    patient: np.ndarray
    unknown: np.ndarray

    def __getitem__(self, rows) -> Contributors:
        return Contributors(self.image[rows], self.patient[rows], self.unknown[rows])


@dataclass(frozen=True)
class Owners:
    """Whose images these are; three arrays of length N.

    Attributes:
        image: int64, the image's number in the table. A released and a real image of one number
            are the same image and are never compared.
        patient: int64 patient code.
        identified: bool, the source says who the patient is.
        covariates: of the images; None: not known.
        matched: only matched pairs count (above).
        contributors: all who went into each image, the owner among them; None: he alone. Row i of
            a release of sets is then an output to which image i of the table contributed.
    """

    image: np.ndarray
    patient: np.ndarray
    identified: np.ndarray
    covariates: Covariates | None = None
    matched: bool = False
    contributors: Contributors | None = None

    def __post_init__(self) -> None:
        if self.matched and self.covariates is None:
            raise ValueError("matched pairs need covariates")
        shapes = {np.shape(a) for a in (self.image, self.patient, self.identified)}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ValueError(
                f"image, patient and identified must have one shape (N,), got {sorted(shapes)}"
            )
        if np.asarray(self.identified).dtype != bool:
            raise ValueError(f"identified must be bool, got {np.asarray(self.identified).dtype}")

    def __len__(self) -> int:
        return len(self.image)

    def __getitem__(self, rows) -> Owners:
        known = None if self.covariates is None else self.covariates[rows]
        made_of = None if self.contributors is None else self.contributors[rows]
        own = self.image[rows], self.patient[rows], self.identified[rows]
        return Owners(*own, known, self.matched, made_of)

    @property
    def output(self) -> np.ndarray:
        """int64 (N,), 0 …: the same for all rows of one output of several people."""
        if self.contributors is None:
            return np.arange(len(self))
        return np.unique(self.contributors.image, axis=0, return_inverse=True)[1].ravel()

    @property
    def matching(self) -> Owners:
        """The same, whose pairs are matched."""
        return replace(self, matched=True)


def genuine_pairs(probes: Owners, gallery: Owners) -> np.ndarray:
    """bool (P, G): True where the pair is genuine (definitions above)."""
    found = probes.patient[:, None] == gallery.patient
    found &= probes.identified[:, None] & gallery.identified
    if of_several(probes, gallery):
        found |= _shared(*(known_people(owners) for owners in (probes, gallery)))
    return _counted(found, probes, gallery)


def impostor_pairs(probes: Owners, gallery: Owners) -> np.ndarray:
    """bool (P, G): True where the pair is an impostor pair (definitions above)."""
    found = probes.patient[:, None] != gallery.patient
    if of_several(probes, gallery):
        found &= ~_shared(*(_people(owners) for owners in (probes, gallery)))
    return _counted(found, probes, gallery)


def of_several(probes: Owners, gallery: Owners) -> bool:
    """Whether any image was made of several people's."""
    return probes.contributors is not None or gallery.contributors is not None


def _people(owners: Owners) -> np.ndarray:
    """int64 (N, 1 + 2 C): codes of all patients of each image."""
    own, more = owners.patient[:, None], owners.contributors
    return own if more is None else np.hstack([own, more.patient, more.unknown])


def known_people(owners: Owners) -> np.ndarray:
    """int64 (N, 1 + C): codes of the identified patients of each image; −1 for the others."""
    own, more = np.where(owners.identified, owners.patient, -1)[:, None], owners.contributors
    return own if more is None else np.hstack([own, more.patient])


def same_image(probes: Owners, gallery: Owners) -> np.ndarray:
    """bool (P, G): one image is, or was made of, the other; or both were made of one."""
    found = probes.image[:, None] == gallery.image
    if of_several(probes, gallery):
        sides = []
        for owners in (probes, gallery):
            own, more = owners.image[:, None], owners.contributors
            sides.append(own if more is None else np.hstack([own, more.image]))
        found |= _shared(*sides)
    return found


def _shared(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """bool (P, G): rows of codes (P, C) and (G, D) have one in common that is not −1."""
    codes, place = np.unique(np.concatenate([first.ravel(), second.ravel()]), return_inverse=True)
    sides = []
    for rows, at in zip((first, second), np.split(place, [first.size]), strict=True):
        known = rows.ravel() != -1
        where = np.repeat(np.arange(len(rows)), rows.shape[1])[known], at[known]
        shape = len(rows), len(codes)
        sides.append(sparse.csr_array((np.ones(known.sum(), np.float32), where), shape=shape))
    return (sides[0] @ sides[1].T).toarray() > 0


def _counted(found: np.ndarray, probes: Owners, gallery: Owners) -> np.ndarray:
    """Those of the pairs (P, G) that are of two images, and alike where pairs are matched."""
    found &= ~same_image(probes, gallery)
    if probes.matched and probes.covariates is not None and gallery.covariates is not None:
        found &= probes.identified[:, None] & gallery.identified
        found &= probes.covariates.alike(gallery.covariates)
    return found


def check_scores(scores: np.ndarray, probes: Owners, gallery: Owners) -> None:
    """Raises ValueError unless ``scores`` is a (P, G) matrix without NaN."""
    expected = (len(probes), len(gallery))
    if np.shape(scores) != expected:
        raise ValueError(f"scores must have shape {expected} (P, G), got {np.shape(scores)}")
    if wrong := int(np.isnan(scores).sum()):
        raise ValueError(f"scores must not hold NaN, got {wrong}")


def count_matrix(scores: np.ndarray, probes: Owners, gallery: Owners) -> PairCounts:
    """Counts over all pairs of a score matrix (P, G). Raises ValueError: wrong shape, NaN, no
    genuine or no impostor pair."""
    check_scores(scores, probes, gallery)
    genuine = np.sort(scores[genuine_places(probes, gallery)])
    return PairCounts(genuine, *_impostors_below(genuine, scores, probes, gallery))


def genuine_places(probes: Owners, gallery: Owners) -> tuple[np.ndarray, np.ndarray]:
    """Row and column (n,) of every genuine pair in a score matrix, row by row."""
    found = [np.zeros((2, 0), int)]
    for part in blocks(probes, gallery):
        row, column = np.nonzero(genuine_pairs(probes[part], gallery))
        found.append(np.stack([row + part.start, column]))
    row, column = np.concatenate(found, axis=1)
    return row, column


def impostor_scores(scores: np.ndarray, probes: Owners, gallery: Owners) -> Iterator[np.ndarray]:
    """The impostor scores of a score matrix, a block of rows at a time."""
    for rows in blocks(probes, gallery):
        yield scores[rows][impostor_pairs(probes[rows], gallery)]


def shares_ahead(
    values: ArrayLike, scores: np.ndarray, probes: Owners, gallery: Owners
) -> np.ndarray:
    """(n,) share of the impostor scores of a score matrix that reach each of ``values`` (n,)."""
    below, _, impostors = _impostors_below(np.asarray(values), scores, probes, gallery)
    return (impostors - below) / max(impostors, 1)


def _impostors_below(
    values: np.ndarray, scores: np.ndarray, probes: Owners, gallery: Owners
) -> tuple[np.ndarray, np.ndarray, int]:
    """How many impostor scores lie below, and equal, each of ``values`` (n,); and all of them."""
    below, tied = np.zeros((2, len(values)), np.int64)
    impostors = 0
    for block in impostor_scores(scores, probes, gallery):
        ordered = np.sort(block)
        first, last = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
        below += first
        tied += last - first
        impostors += len(block)
    return below, tied, impostors


def pair_auc(scores: np.ndarray, probes: Owners, gallery: Owners) -> float:
    """AUC over all pairs of a score matrix; ties count half."""
    return count_matrix(scores, probes, gallery).auc


def slices(n: int, step: int) -> Iterator[slice]:
    """0 … n in pieces."""
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def blocks(probes: Owners, gallery: Owners) -> Iterator[slice]:
    """All rows of a score matrix in pieces of at most ``BLOCK`` scores, or of one row."""
    return slices(len(probes), max(1, BLOCK // max(1, len(gallery))))
