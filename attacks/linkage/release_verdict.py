"""A policy's demands against what attackers found in the files of a release.

An attack on files trains no classifier, makes no check of attackers and fits no tail: what a policy
demands of these cannot be certified by it. Every attacker counts, those that look at no picture
too: who is found by the size of a file is found.
"""

from collections.abc import Iterator, Mapping, Sequence

from attacks.evaluation.policies.demands import (
    FAIL,
    KEPT,
    UNKNOWN,
    Line,
    Verdict,
    at_most,
    reading_of,
)
from attacks.evaluation.policies.guidelines import Guided
from attacks.evaluation.policies.policy import Policy, Population
from attacks.evaluation.policies.release_seen import ReleaseSeen
from attacks.evaluation.policies.verdict import among_more, answered, files_of
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
    if policy.matched_auc is not None:
        name = f"AUC against matched impostors at most {policy.matched_auc:g}"
        matched = {k: r.matched if r else None for k, r in readings.items()}
        found = {k: reading_of(m.auc if m else None) for k, m in matched.items()}
        yield at_most(name, found, policy.matched_auc, patients)
    if policy.precision_at_1 is not None:
        name = f"precision@1 at most {policy.precision_at_1:g}"
        known = {k: r.estimate("precision_at_1") if r else None for k, r in readings.items()}
        found = {k: reading_of(estimate) for k, estimate in known.items()}
        yield at_most(name, found, policy.precision_at_1, patients)
    if policy.r_s is not None:
        held = {a.attacker: a.with_originals for a in results.attacks}
        yield from _population(policy.r_s, readings, held, people, patients)
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


def _population(
    demand: Population,
    readings: Mapping[str, Reading | None],
    held: Mapping[str, Reading],
    people: int,
    patients: int,
) -> Iterator[Line]:
    name = f"linkage risk among {demand.people:,} people at most {demand.most:g}"
    by: list[tuple[str, Mapping[str, Reading | None]]] = [(name, readings)]
    if demand.very_image:
        by.append((f"{name}, by who holds the very image", held))
    for said, own in by:
        linked = {k: r.estimate("r_s") if r else None for k, r in own.items()}
        found = {k: among_more(e, demand.people, people, FILES_ALONE) for k, e in linked.items()}
        yield at_most(said, found, demand.most, patients)


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
