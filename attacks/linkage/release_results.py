"""What attackers find in the files of a release: release.json, schema version 1.

Nothing in it names a file or a patient. Rates are fractions in [0, 1].
"""

from typing import Literal

import numpy as np
from pydantic import Field
from scipy.stats import beta

from attacks.linkage.learnt import Learnt
from attacks.measuring.estimates import Figure, Figures, Floor, Interval, Matched, Record


class Found(Record):
    """Released files whose nearest real file shows the same person, or one of those who are in it.

    ``files`` are those with their original, or another image of the patient, among the real ones;
    ``expected`` is how many a coin finds. Where several real files are equally near, each counts in
    part; where all of the nearest are, nobody is found.
    """

    files: int
    patients: int
    found: float
    share: float
    interval: Interval = Field(description="of the share, for all attackers at once")
    expected: float

    @property
    def sure(self) -> bool:
        """Whether more are found than by a coin, for sure."""
        return self.interval[0] > self.expected / self.files


class Reading(Figures):
    """All figures of an attacker in one question; ``matched`` is null where no impostor is alike or
    nothing is known to match by; ``chance`` is a coin's precision@1."""

    matched: Matched | None = None
    chance: Figure = None
    patients: int | None = Field(None, description="who have a genuine pair; null: not counted")
    p_above_chance: Figure = Field(
        None, description="that the AUC, the matched one where there is one, is 0.5 or less"
    )


class FileAttack(Record):
    """One attacker. ``with_originals``: an adversary who may hold the very files that were
    released; ``others``: one who holds other images of the patients; null where there are none."""

    attacker: str
    knowledge: str
    scenario: str
    floor: bool = Field(description="it looks for nobody")
    found: Found
    with_originals: Reading
    others: Reading | None = None
    learnt: Learnt | None = None


class FindingsFloor(Record):
    """What equal findings link, true ones, of whom the files show; in the two questions of
    :class:`FileAttack`."""

    with_originals: Floor
    others: Floor | None = None


class Unread(Record):
    """Files that could not be read, by the reason."""

    released: dict[str, int]
    real: dict[str, int]


class ReleaseResults(Record):
    """The whole attack."""

    version: Literal[1] = Field(1, alias="schema")
    command: str = ""
    method: str | None = Field(description="null: nobody said what released the files")
    released: int = Field(description="files, with those that could not be read")
    real: int
    nobodys: int = Field(0, description="real files that were read and show nobody who is known")
    without_real: int = Field(description="released files of which no real one is there")
    untouched: int = Field(0, description="released files with the pixels of a real one")
    unlisted: int | None = Field(
        0, description="released files that the manifest does not name; null: it cannot be read"
    )
    changed: int = Field(
        0, description="released files with another content than the manifest says"
    )
    foreign: int = Field(
        0, description="of these, read and attributed to nobody; they count in no figure"
    )
    originals_known: bool = Field(description="it is known which real file each was made from")
    made_of: int = Field(1, description="real files that went into a released one, at most")
    unread: Unread
    not_tried: dict[str, str] = Field(
        {}, description="attackers that took no part, floors that are not known, and why"
    )
    matched_by: tuple[str, ...] = ()
    attacks: tuple[FileAttack, ...]
    findings: FindingsFloor | None = Field(
        None, description="what findings alone link; null: not_tried says why"
    )

    @property
    def strongest(self) -> FileAttack:
        """The attacker that finds most files; of equals one that looks for people, and the one of
        the highest AUC."""
        return max(self.attacks, key=_strength)

    @property
    def strongest_by_image(self) -> FileAttack | None:
        """The same of those that look for people in the pictures."""
        return max((a for a in self.attacks if not a.floor), key=_strength, default=None)


def _strength(attack: FileAttack) -> tuple[float, bool, float]:
    return attack.found.share, not attack.floor, attack.with_originals.auc.mean


def exact_interval(share: float, patients: int, level: float) -> tuple[float, float]:
    """Clopper and Pearson 1934, as if every patient were one trial: files of one patient may all be
    found, or none of them. It never ends at the share itself, where that is 0 or 1.

    Args:
        level: of confidence, in (0, 1).
    """
    tail, hits = (1 - level) / 2, share * patients
    low = beta.ppf(tail, hits, patients - hits + 1) if hits > 0 else 0.0
    high = beta.ppf(1 - tail, hits + 1, patients - hits) if hits < patients else 1.0
    return float(np.clip(low, 0, share)), float(np.clip(high, share, 1))
