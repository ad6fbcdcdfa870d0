"""A policy's demands against what attackers found in the files of a release.

An attack on files trains no classifier, makes no check of attackers and fits no tail: what a policy
demands of these cannot be certified by it. Every attacker counts, those that look at no picture
too: who is found by the size of a file is found.
"""

from collections.abc import Iterator, Sequence

from attacks.evaluation.policies.demands import (
    FAIL,
    KEPT,
    UNKNOWN,
    Line,
    Verdict,
)
from attacks.evaluation.policies.guidelines import Guided
from attacks.evaluation.policies.policy import Policy
from attacks.evaluation.policies.release_seen import ReleaseSeen
from attacks.evaluation.policies.verdict import (
    among_more,
    answered,
    files_of,
    found_among,
    linked_by,
)
from attacks.linkage.release_results import FileAttack, Reading, ReleaseResults

EVALUATE = "an attack on files does not measure it: attacks evaluate --policy"
FILES_ALONE = "an attack on files fits no tail: attacks evaluate --policy does"
NO_MANIFEST = "RELEASED holds no manifest of `anonymize apply`"


def judged_release(
    results: ReleaseResults,
    people: int,
    policy: Policy,
    release: ReleaseSeen | None,
    guided: Sequence[Guided],
) -> Verdict:
    """The verdict on a release. ``release``: None where it has no manifest."""
    title = results.method or "a method that nobody named"
    lines = _lines(results, people, policy, release, guided)
    return Verdict(policy.title, title, tuple(lines))


def _lines(
    results: ReleaseResults,
    people: int,
    policy: Policy,
    release: ReleaseSeen | None,
    guided: Sequence[Guided],
) -> Iterator[Line]:
    patients = max(attack.found.patients for attack in results.attacks)
    readings = {a.attacker: _asked(a, results) for a in results.attacks}
    matched = {k: r.matched.auc if r and r.matched else None for k, r in readings.items()}
    guesses = {k: r.estimate("precision_at_1") if r else None for k, r in readings.items()}
    yield from linked_by(policy, matched, guesses, patients)
    if (crowd := policy.r_s) is not None:
        others = {k: r.estimate("r_s") if r else None for k, r in readings.items()}
        held = {a.attacker: a.with_originals.estimate("r_s") for a in results.attacks}
        among = (crowd.people, people, FILES_ALONE)
        risks, of_held = (
            {key: among_more(risk, *among) for key, risk in own.items()} for own in (others, held)
        )
        yield from found_among(crowd, risks, of_held, patients)
    if policy.utility is not None:
        demand = f"a {policy.utility.kind} classifier loses at most {policy.utility.margin:g}"
        yield Line(demand, UNKNOWN, EVALUATE)
    if policy.min_jacobian is not None:
        yield _unfolded(release, policy.min_jacobian)
    if policy.headers or policy.text:
        yield from files_of(release, policy, "", NO_MANIFEST)
    if policy.checks:
        yield Line("the figures can be trusted (all checks)", UNKNOWN, EVALUATE)
    if policy.guidelines:
        yield answered(policy.guidelines, guided)


def _asked(attack: FileAttack, results: ReleaseResults) -> Reading | None:
    """Of who holds other images of the patients, as in an evaluation. Where nobody knows which real
    file each was made from, that one is among them, and the figure is no less."""
    return attack.others if results.originals_known else attack.with_originals


def _unfolded(release: ReleaseSeen | None, least: float) -> Line:
    demand = f"smallest Jacobian determinant at least {least:g}"
    if release is None:
        return Line(demand, UNKNOWN, NO_MANIFEST)
    if release.min_jacobian is None:
        if release.moves or not release.sound:
            return Line(demand, UNKNOWN, "the manifest does not say it")
        return Line(demand, KEPT, "by the manifest, no file was moved")
    kept = release.min_jacobian >= least
    return Line(demand, KEPT if kept else FAIL, f"{release.min_jacobian:.3g}, by the manifest")
