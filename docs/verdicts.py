"""Tables of what the shipped policies say of committed results."""

from collections.abc import Mapping, Sequence

from cells import FLOORS, OF_SETS, READINGS
from reproduced import results

from attacks.evaluation.policies.policy import read_policy
from attacks.evaluation.policies.verdict import judged
from attacks.measuring.estimates import Estimate
from attacks.recommending.evidence import strongest
from attacks.reporting.policy_tables import verdict_table
from attacks.reporting.readings import ALL, MATCHED, NAMES, auc
from attacks.reporting.tables import markdown

POLICIES = ("public", "controlled", "internal")
SHOWN = {name: (FLOORS | OF_SETS)[name] for name in ("findings", "task", "task, sets", "coin")}
EXAMPLE = "sets", "mosaic g=4", "controlled"  # evaluation, beginning of a method's title, policy


def verdicts(titles: Mapping[str, str]) -> str:
    """Every method of some evaluations under every policy, those of one outcome in one row; and
    what links there without looking for a patient, beside the AUC that is asked for."""
    policies = [read_policy(name) for name in POLICIES]
    header = ["images", *(policy.title for policy in policies), "released as"]
    rows = []
    for key, images in titles.items():
        found = [judged(results(key), policy) for policy in policies]
        alike: dict[tuple[str, ...], list[str]] = {}
        for of_one in zip(*found, strict=True):
            title, outcomes = of_one[0].method, tuple(verdict.outcome for verdict in of_one)
            alike.setdefault(outcomes, []).append(title)
        for outcomes, called in alike.items():
            rows.append([images, *outcomes, "; ".join(called)])
            images = ""
    asked = ", ".join(f"{p.title} {p.matched_auc}" for p in policies if p.matched_auc)
    said = f"AUC against {NAMES[MATCHED]} that is asked for, at most: {asked}. AUC of what is "
    said += f"beside the releases, {NAMES[MATCHED]} / {NAMES[ALL]}:"
    return f"{markdown(header, rows)}\n{said}\n\n{_floors(titles)}"


def _floors(titles: Mapping[str, str]) -> str:
    """What the strongest of all attackers finds in real images, and the floors."""
    rows = []
    for key, images in titles.items():
        own = results(key)
        known = {floor.name: (floor.matched, floor.auc) for floor in own.floors}
        real = strongest(own.real)[1]
        found = [[auc(real, which) for which in READINGS], *(known.get(name) for name in SHOWN)]
        rows.append([images, *map(_both, found)])
    return markdown(["images", "real images, strongest of all", *SHOWN.values()], rows)


def _both(found: Sequence[Estimate | None] | None) -> str:
    return " / ".join("–" if one is None else f"{one.mean:.2f}" for one in found or [None])


def example() -> str:
    """The lines of one verdict."""
    key, title, policy = EXAMPLE
    found = judged(results(key), read_policy(policy))
    return markdown(*verdict_table(next(v for v in found if v.method.startswith(title))))
