"""Who a probe shows: the gallery by falling probability."""

from dataclasses import dataclass

import numpy as np

from anonymize.errors import UsageError
from attacks.linkage.album import Album
from attacks.linkage.embeddings import Report, silent
from attacks.linkage.learnt import Prepared
from attacks.linkage.matching import Pictures


@dataclass(frozen=True)
class Ranking:
    """The most alike gallery images of each probe, the most probable first.

    Attributes:
        columns: int64 (P, k), rows of the gallery.
        scores, log_ratios, probabilities: (P, k); ln of the likelihood ratio.
        prior: that a probe and a gallery image show the same person.
    """

    probes: Album
    gallery: Album
    columns: np.ndarray
    scores: np.ndarray
    log_ratios: np.ndarray
    probabilities: np.ndarray
    prior: float

    def same_patient(self, row: int, column: int) -> str:
        """ "yes" or "no", "" where it is not known."""
        own, other = self.probes.patients[row], self.gallery.patients[column]
        return ("yes" if own == other else "no") if own and other else ""

    def lines(self) -> list[dict[str, object]]:
        """One a probe and rank. They hold names: for private files."""
        return [
            {
                "probe": self.probes.names[row],
                "rank": rank + 1,
                "gallery": self.gallery.names[column],
                "probability": float(self.probabilities[row, rank]),
                "log10_likelihood_ratio": float(self.log_ratios[row, rank] / np.log(10)),
                "score": float(self.scores[row, rank]),
                "probe_patient": self.probes.patients[row],
                "gallery_patient": self.gallery.patients[column],
                "same_patient": self.same_patient(row, column),
            }
            for row in range(len(self.probes))
            for rank, column in enumerate(self.columns[row])
        ]


def rank(
    prepared: Prepared,
    probes: Album,
    gallery: Album,
    *,
    top: int,
    present: float,
    report: Report = silent,
) -> Ranking:
    """The ``top`` most alike gallery images of each probe.

    Args:
        present: probability that a probe's patient is in the gallery; the same share of it falls to
            every patient there, each unknown image counted as one.

    Raises:
        UsageError: ``present`` outside (0, 1).
    """
    check_present(present)
    scores, columns = prepared.matcher.nearest(pictures(probes), pictures(gallery), top, report)
    prior = present / len(np.unique(gallery.people))
    return Ranking(
        probes,
        gallery,
        columns,
        scores,
        prepared.learnt.calibration.log_ratios(scores),
        prepared.learnt.calibration.probabilities(scores, prior),
        prior,
    )


def check_present(present: float) -> None:
    """Raises UsageError unless it is a probability that leaves something to find out."""
    if not 0 < present < 1:
        raise UsageError(f"--prior must lie between 0 and 1, both excluded; got {present}")


def pictures(album: Album) -> Pictures:
    """The images of an album, whose descriptions are kept."""
    return Pictures(album.images, album.key)
