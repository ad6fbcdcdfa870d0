"""A method and its release, as attackers and classifiers meet it."""

from dataclasses import dataclass

from anonymize.anonymizer import Anonymizer
from attacks.evaluation.processes.notes import Notes
from attacks.knowledge.trial import Release


@dataclass(frozen=True)
class Target:
    """A method that is attacked. ``again``: another one was attacked before."""

    model: Anonymizer
    release: Release
    notes: Notes
    title: str
    again: bool = False
