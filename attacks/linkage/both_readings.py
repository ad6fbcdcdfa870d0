"""What an attacker reaches in both readings: against matched impostors, the headline, and all."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

from pydantic import Field

from attacks.linkage.matching import MAX_SCORES, Matcher, Pictures
from attacks.measuring.estimates import Estimate, Matched, Record
from attacks.measuring.matching import measure_matched, split_matched
from attacks.measuring.metrics import Owners
from attacks.measuring.reading_names import MATCHED, SHORT, why_unmatched
from attacks.measuring.statistics import estimate_identification
from attacks.results import APART


class BothReadings(Record):
    """The figures of one attacker.

    Attributes:
        figures: against all impostors, by the names of `statistics.measure_identification`.
    """

    matched_by: tuple[str, ...] = Field((), description="what impostors are matched by")
    matched: Matched | None = Field(None, description="null: not measured; ``unmatched`` says why")
    unmatched: str = Field("", description='why no pairs were matched; "" where they were')
    figures: dict[str, Estimate]

    @classmethod
    def of(
        cls,
        matcher: Matcher,
        sets: tuple[Pictures, Pictures],
        owners: tuple[Owners, Owners],
        matched_by: Sequence[str],
        **drawn: Any,
    ) -> Self:
        """Of probes and a gallery, ``drawn`` as in `statistics.measure_identification`.

        Raises ValueError: no genuine or no impostor pairs."""
        figures = matcher.measure(*sets, owners, **drawn)
        few = len(sets[0]) * len(sets[1]) <= MAX_SCORES
        if matched_by and few:
            figures |= measure_matched(matcher.scores(*sets), *owners, **drawn)
        every, matched = split_matched(estimate_identification([figures]))
        why = why_unmatched(matched_by)
        if matched_by and not few:
            why = f"there are more than {MAX_SCORES:,} pairs"
        return cls(
            matched_by=tuple(matched_by),
            matched=matched,
            unmatched="" if matched else why,
            figures=every,
        )

    def by_name(self) -> Iterator[tuple[str, Estimate]]:
        """Every figure, named as in table.csv: against matched impostors, "auc, matched", first."""
        if self.matched is not None:
            own = {"auc": self.matched.auc} | self.matched.estimates
            for name, found in own.items():
                yield f"{APART.get(name, name)}, {SHORT[MATCHED]}", found
        for name, found in self.figures.items():
            yield APART.get(name, name), found
