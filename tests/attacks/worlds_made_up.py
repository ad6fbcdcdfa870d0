"""People of known separation, and what is measured of them at the size of the world."""

from types import SimpleNamespace

import numpy as np
from identities import frame_of

from attacks.measuring.statistics import estimate_identification
from attacks.measuring.world import measure_world
from attacks.measuring.world_records import split_world

SPREAD = 0.6  # of an image around its person, whose spread is 1


def images(people, each, *, seed, features=32):
    """Vectors of ``each`` images a person, and who it is."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), each)
    person = rng.standard_normal((people, features))[who]
    return (person + SPREAD * rng.standard_normal(person.shape)).astype(np.float32), who


def table_of(who, **columns):
    frame = frame_of(patient_id=[str(p) for p in who], **columns)
    return SimpleNamespace(frame=frame, labels=())


def world_of(scores, owners, table, **given):
    found = measure_world(scores, (owners, owners), table, same_image=True, **given)
    others, world = split_world(estimate_identification([found]))
    assert not others
    return world
