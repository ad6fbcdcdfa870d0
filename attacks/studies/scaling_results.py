"""The scaling curve: what scaling.json (schema version 1) holds."""

from typing import Literal

from pydantic import Field

from attacks.measuring.estimates import Estimate, Record


class Point(Record):
    """The verifiers trained on one number of pairs."""

    negatives: Literal["fixed", "fresh"]
    pairs: int
    auc: Estimate = Field(description="of the listed test pairs; patients resampled")
    matched: Estimate | None = Field(None, description="of those that are matched; null: too few")
    epochs: tuple[int, ...] = Field(description="trained in each run, until early stopping")


class Scaling(Record):
    """AUC of a verifier against the number of training pairs, on real images."""

    version: Literal[1] = Field(1, alias="schema")
    source: str
    size: int
    fingerprint: str
    seed: int
    command: str = ""
    start: Literal["scratch", "given"]
    chained: bool = Field(description="each size went on from the verifier of the size before")
    epoch_pairs: int | None = Field(description="pairs shown in an epoch; null: each once")
    training_patients: int
    test_pairs: int = Field(description="listed ones, half of them genuine")
    test_patients: int
    matched_by: tuple[str, ...] = Field((), description="what impostors are matched by")
    matched_pairs: tuple[int, int] | None = Field(
        None, description="listed pairs that are matched, genuine and impostors; null: not counted"
    )
    floor: Estimate = Field(description="AUC of gradient histograms, which learn nothing")
    floor_matched: Estimate | None = None
    points: tuple[Point, ...]

    @property
    def undertrained(self) -> bool:
        """Whether even the best point stays below what needs no training."""
        return max(point.auc.mean for point in self.points) < self.floor.mean
