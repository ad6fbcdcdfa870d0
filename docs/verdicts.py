"""Tables of what the shipped policies say of committed results."""

from collections import Counter
from collections.abc import Mapping

from reproduced import results

from attacks.evaluation.policies.demands import Verdict
from attacks.evaluation.policies.policy import read_policy
from attacks.evaluation.policies.verdict import judged
from attacks.reporting.policy_tables import verdict_table
from attacks.reporting.tables import markdown, training_in_words

POLICIES = ("public", "controlled", "internal")
WORDS = {"fail": "fail", "cannot be certified": "open", "pass": "pass"}
EXAMPLE = "sets", "mosaic g=4", "controlled"  # evaluation, beginning of a method's title, policy


def verdicts(titles: Mapping[str, str]) -> str:
    """Every method of some evaluations under every policy: the outcome, and of how many lines."""
    policies = [read_policy(name) for name in POLICIES]
    header = ["images", "released as", *(policy.title for policy in policies), "generator trained"]
    rows = []
    for key, images in titles.items():
        methods = dict(results(key).titled)
        found = [judged(results(key), policy) for policy in policies]
        for of_one in zip(*found, strict=True):
            title = of_one[0].method
            trained = training_in_words(methods[title])
            rows.append([images, title, *map(_in_short, of_one), trained])
            images = ""
    return markdown(header, rows)


def example() -> str:
    """The lines of one verdict."""
    key, title, policy = EXAMPLE
    found = judged(results(key), read_policy(policy))
    return markdown(*verdict_table(next(v for v in found if v.method.startswith(title))))


def _in_short(verdict: Verdict) -> str:
    counts = Counter(line.outcome for line in verdict.lines)
    said = ", ".join(f"{counts[o]} {word}" for o, word in WORDS.items() if counts[o])
    return f"**{verdict.outcome}** ({said})"
