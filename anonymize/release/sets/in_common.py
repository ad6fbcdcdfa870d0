"""What is known of whoever is found in a group or an output: findings that all of its people share.

Each person counts once, however many images went in, and each finding by itself (l-diversity:
Machanavajjhala et al. 2007): a group whose people are all ill tells the illness, whatever else they
differ in. Who is known to have it, or not to, decides; of whom that is unknown, he hides nobody.
"""

from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=0, le=10**9)]


class InCommon(BaseModel):
    """How many groups and outputs there are whose people are all alike in some finding.

    ``groups_alike`` and ``outputs_alike``: all have it, or all have it not. ``most_often`` is the
    finding that all people of the most outputs have. ``different_answers_min``: to whether somebody
    has a finding, the fewest that the people of one group give to one finding (their l); None where
    nothing is known.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    groups_where_all_have_a_finding: Count
    outputs_where_all_have_a_finding: Count
    most_often: str | None
    groups_alike: Count
    outputs_alike: Count
    different_answers_min: int | None = Field(ge=1, le=2)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        of_groups = self.groups_where_all_have_a_finding, self.groups_alike
        of_outputs = self.outputs_where_all_have_a_finding, self.outputs_alike
        # The people of an output are among those of its group.
        alone = any(g and not o for g, o in zip(of_groups, of_outputs, strict=True))
        if alone or of_groups[0] > of_groups[1] or of_outputs[0] > of_outputs[1]:
            raise ValueError("counts of findings that cannot be")
        if bool(of_outputs[0]) != (self.most_often is not None):
            raise ValueError("a finding that nobody shares, or the other way round")
        if bool(self.groups_alike) != (self.different_answers_min == 1):
            raise ValueError("answers of people who are alike, or the other way round")
        return self

    def of(self, groups: int, outputs: int, labels: Sequence[str]) -> bool:
        """Whether a release of so many groups and outputs may say so."""
        named = self.most_often is None or self.most_often in labels
        return named and self.groups_alike <= groups and self.outputs_alike <= outputs


def in_common(
    groups: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    patients: np.ndarray,
    targets: np.ndarray,
    labels: Sequence[str],
) -> InCommon:
    """What the people of groups and outputs share, each given as the rows that went into it.

    Args:
        groups, outputs: one or more of each.
        patients: int64 (N,), codes from 0 on.
        targets: float32 (N, L): 1 present, 0 absent, NaN unknown; L ≥ 1.
        labels: L names.
    """
    answers = np.full((patients.max() + 1, len(labels)), np.nan)
    rows = np.unique(np.concatenate(outputs))
    np.fmax.at(answers, patients[rows], targets[rows])  # present in any of somebody's images
    (have_groups, same_groups, known), (have_outputs, same_outputs, _) = (
        _shared([answers[np.unique(patients[rows])] for rows in parts])
        for parts in (groups, outputs)
    )
    often = have_outputs.sum(axis=0)
    return InCommon(
        groups_where_all_have_a_finding=_count(have_groups),
        outputs_where_all_have_a_finding=_count(have_outputs),
        most_often=labels[int(often.argmax())] if often.any() else None,
        groups_alike=_count(same_groups),
        outputs_alike=_count(same_outputs),
        different_answers_min=(1 if same_groups.any() else 2) if known.any() else None,
    )


def _shared(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """bool (parts, L), of the answers (people, L) in each part: all have it; all have it or all
    have it not; it is known of anybody."""
    least = np.array([np.fmin.reduce(answers) for answers in parts])
    most = np.array([np.fmax.reduce(answers) for answers in parts])
    return least == 1, least == most, ~np.isnan(most)


def _count(parts: np.ndarray) -> int:
    """Of the parts, those of which it holds for any finding."""
    return int(parts.any(axis=1).sum())
