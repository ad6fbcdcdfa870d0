"""Whether a classifier loses no more than a policy allows: from the 90 % interval of two one-sided
tests at 5 % (Schuirmann 1987), which holds for every margin."""

import math

from attacks.evaluation.policies.policy import Usefulness
from attacks.results import Method


def useful(method: Method, demand: Usefulness, patients: int) -> tuple[str, str, str, int | None]:
    """The demand, its outcome, why, and about how many patients would decide it."""
    words = "equivalent within" if demand.equivalent else "no worse than real images by more than"
    name = f"{demand.kind} classifier is {words} {demand.margin:g}"
    unknown = "cannot be certified"
    found = getattr(method.utility, demand.kind)
    if demand.kind == "frozen" and method.sets is not None:
        return name, unknown, "in releases of sets a frozen classifier reads the grouping", None
    if found is None or found.difference is None or found.margin is None:
        return name, unknown, "not measured", None
    if method.utility.readable is False:
        return name, unknown, "the classifier is at chance on real images, or unsteady", None
    if found.margin.ci90 is None:
        return name, unknown, "it has no interval: too few patients", None
    (low, high), value, margin = found.margin.ci90, found.difference.mean, demand.margin
    said = f"{value:+.3f} (90 % {low:+.3f} to {high:+.3f})".replace("-", "−")
    if high < -margin or (demand.equivalent and low > margin):
        return name, "fail", said, None
    if low > -margin and (high < margin or not demand.equivalent):
        return name, "pass", said, None
    rooms = [(value + margin, value - low)]
    rooms += [(margin - value, high - value)] if demand.equivalent else []
    needed = max(
        math.ceil(max(patients * (reach / room) ** 2, patients + 1)) if room else patients + 1
        for room, reach in ((abs(room), reach) for room, reach in rooms)
    )
    shows = "show that it fails" if any(room < 0 for room, _ in rooms) else "certify it"
    said += f", of {patients:,} patients; if the figure holds, about {needed:,} patients {shows}"
    return name, unknown, said, needed
