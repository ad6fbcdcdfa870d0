"""Several generators of one method, or lots of one that draws, as results hold them together."""

from pydantic import Field

from attacks.measuring.estimates import Difference, Estimate, Generators


class SeveralGenerators(Generators):
    """And beside what they have to surpass. Every interval holds other generators, other trainings
    and other patients; ``p_holm`` is among all differences of several generators in its reading."""

    differences: dict[str, tuple[Difference, ...]] = Field(
        {}, description="of auc, by attacker; these and others are empty of earlier results"
    )
    matched_differences: dict[str, tuple[Difference, ...]] = Field({}, description="of matched")
    retrained: Estimate | None = Field(
        None, description="mean AUC of the retrained classifiers; null: not measured, or earlier"
    )
    retrained_differences: tuple[Difference, ...] = ()
