"""Whether somebody is in a release of sets at all, asked with films of his that did not go in.

The game of membership inference (Shokri et al. 2017), of people instead of films: of the identified
patients with several images half, drawn by lot, go into a release made for this alone, together
with everybody whom nobody asks about. Of each of them the adversary holds films that did not go in.
So members and outsiders differ in nothing but the release, and 0.5 is what no knowledge reaches.
"""

from dataclasses import dataclass, replace

import numpy as np

from anonymize.data.dataset import Dataset
from anonymize.set_anonymizer import SetAnonymizer
from attacks.attacker import Attacker, ImageSet, linked
from attacks.knowledge.set_release import contributors_of, radiographs, stored_levels
from attacks.measuring.metrics import Owners

FEWEST = 2  # members, and outsiders


@dataclass(frozen=True)
class Game:
    """A release and who is asked about.

    Attributes:
        released: the outputs.
        known: real images that the adversary holds: those of people asked about that did not go
            in, then all of those whom nobody asks about.
        person: int64, whose each of the first of them is: 0, 1, …
        member: bool (people,), the release shows another film of theirs.
    """

    released: ImageSet
    known: ImageSet
    person: np.ndarray
    member: np.ndarray

    def scores(self, attacker: Attacker) -> np.ndarray:
        """float64 (2, people): the greatest score of any film of theirs against any output; and 1
        for members, 0 for outsiders."""
        of_films = linked(attacker, self.released, self.known).max(axis=0)[: len(self.person)]
        greatest = np.full(len(self.member), -np.inf)
        np.maximum.at(greatest, self.person, of_films)
        return np.stack([greatest, self.member])


def game(model: SetAnonymizer, data: Dataset, real: ImageSet, *, seed: int) -> Game | None:
    """The game among the owners of ``real``, images of one part of a data set; None where there are
    too few with several images, or too few of them are shown. Whom the method withheld with all
    that went in is neither member nor outsider.

    Args:
        model: fitted.
    """
    asked = dealt(real.owners, np.random.default_rng(seed))
    if len(asked) < 2 * FEWEST:
        return None
    outsiders = np.arange(len(asked)) >= len(asked) // 2
    absent = [held for held, _ in asked]
    absent += [films for (_, films), out in zip(asked, outsiders, strict=True) if out]
    places = np.arange(len(real))
    given = np.setdiff1d(places, np.concatenate([places[:0], *absent]))
    rows = real.owners.image[given]
    found = model.released(radiographs(data, rows))
    went_in = np.concatenate([rows[:0], *(rows[own] for own in found.contributors)])
    shown = np.isin([real.owners.patient[held[0]] for held, _ in asked], data.patients[went_in])
    kept = np.flatnonzero(outsiders | shown)
    member = ~outsiders[kept]
    if min(member.sum(), (~member).sum()) < FEWEST:
        return None
    films = [asked[n][0] for n in kept]
    others = np.setdiff1d(places, np.concatenate([np.concatenate(both) for both in asked]))
    contributors = contributors_of([rows[own] for own in found.contributors], data)
    first = given[[own[0] for own in found.contributors]]
    images = stored_levels(found, real.images.dtype)
    owners = replace(real.owners[first], contributors=contributors)
    return Game(
        ImageSet(images, owners, found.labels),
        real[np.concatenate([*films, others])],
        np.repeat(np.arange(len(films)), [len(own) for own in films]),
        member,
    )


def dealt(owners: Owners, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Identified patients with several images, in an order drawn by lot; of each the places of
    those that the adversary holds, a half, and of the others."""
    patients, count = np.unique(owners.patient[owners.identified], return_counts=True)
    asked = []
    for patient in rng.permutation(patients[count > 1]).tolist():
        films = rng.permutation(np.flatnonzero(owners.identified & (owners.patient == patient)))
        asked.append((films[: len(films) // 2], films[len(films) // 2 :]))
    return asked
