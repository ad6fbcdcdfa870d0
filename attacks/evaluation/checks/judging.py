"""What every check of an evaluation has in common: what it looked at, and what it says."""

from collections.abc import Iterable, Sequence

from attacks.measuring.estimates import Estimate
from attacks.results import Check


def judged(
    name: str,
    looked_at: Iterable,
    wrong: Iterable[str],
    *,
    good: str,
    bad: str,
    most: int = 6,
    **said: bool,
) -> Check | None:
    """None without anything looked at; otherwise passed where nothing is wrong. ``wrong``: in
    words; the first ``most`` of them take the place of {} in ``bad``. ``said``: of the check."""
    if not list(looked_at):
        return None
    wrong = list(wrong)
    message = bad.format(listed(wrong, most)) if wrong else good
    return Check(name=name, passed=not wrong, message=message[0].upper() + message[1:], **said)


def above_chance(auc: Estimate) -> bool:
    """For sure, or by its value where so few patients have no interval."""
    return (auc.ci95[0] if auc.ci95 else auc.mean) > 0.5


def in_short(auc: Estimate) -> str:
    """ "AUC 0.746, 95 % 0.701–0.790"."""
    around = f", 95 % {between(auc.ci95)}" if auc.ci95 else ""
    return f"AUC {auc.mean:.3f}{around}"


def between(interval: tuple[float, float]) -> str:
    """ "0.701–0.790"."""
    return f"{interval[0]:.3f}–{interval[1]:.3f}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """The first ones, and how many more there are."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return "; ".join([*names[:most], *more])
