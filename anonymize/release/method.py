"""What the tables of a release say of its method; plain values, which outlive the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anonymize.anonymizer import Anonymizer


@dataclass(frozen=True)
class Method:
    """The attributes of an :class:`Anonymizer` that are published; ``people``, ``shown`` and
    ``guess`` are those of a :class:`SetAnonymizer`."""

    name: str
    fingerprint: str
    mu: float | None
    is_differentially_private: bool
    options: dict[str, Any]
    people: int = 1
    shown: float | None = None
    guess: float | None = None

    @classmethod
    def of(cls, model: Anonymizer) -> Method:
        from anonymize.set_anonymizer import SetAnonymizer

        told = model.name, model.fingerprint, model.mu, model.is_differentially_private
        if isinstance(model, SetAnonymizer):
            return cls(*told, model.options, model.people, model.shown, model.guess)
        return cls(*told, model.options)
