"""What an evaluation says of one release, in the few figures that the bench compares."""

from dataclasses import dataclass
from typing import Self

from anonymize.statistics import Interval
from attacks.evaluation.checks.checks import run_checks
from attacks.evaluation.checks.choice_checks import looking_for_patients
from attacks.results import Results

# They name small test parts and few seeds, whatever was released.
OF_THE_SAMPLE = (
    "intervals are narrow",
    "independent runs agree",
    "the retrained classifier was trained often enough",
)


@dataclass(frozen=True)
class Said:
    """What an evaluation says of one release.

    Attributes:
        attacker: the strongest, of the patient's pixels.
        auc, interval: against matched impostors where there are any, else against all.
        plain: the same attacker's AUC against all impostors.
        real, plain_real: the highest AUCs on real images, of any attacker of patients.
        untouched, of_others: shares of images that are real ones.
        frozen, retrained, on_released, pool: mean AUC of the labels; None where not measured.
        failed: checks that failed and name the release, by name.
    """

    attacker: str
    auc: float
    interval: Interval | None
    plain: float
    real: float
    plain_real: float
    untouched: float | None
    of_others: float | None
    frozen: float | None
    retrained: float | None
    on_released: float | None
    pool: float | None
    failed: tuple[str, ...]

    @classmethod
    def of(cls, results: Results, name: str) -> Self:
        """Of the method ``name``, as if it had been evaluated alone."""
        real = results.real
        assert real is not None
        of_patients = looking_for_patients(real).values()
        (method,) = (m for m in results.methods if m.name == name)
        alone = results.model_copy(update={"methods": (real, method)})
        failed = [
            check.name
            for check in run_checks(alone)
            if not check.passed and not check.informative and name in check.message
        ]
        assert method.strongest is not None
        attacker, attack = method.strongest
        found, use = attack.headline.auc, method.utility
        again = use.retrained and use.retrained.on_released
        return cls(
            attacker,
            found.mean,
            found.ci95,
            attack.auc.mean,
            max(a.headline.auc.mean for a in of_patients),
            max(a.auc.mean for a in of_patients),
            method.image.untouched,
            method.image.of_others,
            use.mean("frozen"),
            use.mean("retrained"),
            again.mean if again else None,
            use.mean("pool_only"),
            tuple(check for check in failed if check not in OF_THE_SAMPLE),
        )

    @property
    def words(self) -> str:
        """For a line of the table."""
        around = "" if self.interval is None else " ({:.3f}–{:.3f})".format(*self.interval)
        every = f"all impostors {self.plain:.3f}, real {self.plain_real:.3f}"
        found = [f"{self.attacker} {self.auc:.3f}{around}, real images {self.real:.3f}; {every}"]
        shares = (("untouched", self.untouched), ("images of others", self.of_others))
        found += [f"{what} {share:.0%}" for what, share in shares if share]
        aucs = (
            ("frozen", self.frozen),
            ("retrained", self.retrained),
            ("on released images", self.on_released),
            ("pool alone", self.pool),
        )
        found.append(", ".join(f"{what} {auc:.2f}" for what, auc in aucs if auc is not None))
        return "; ".join(filter(None, found))
