"""A policy's demands against what an evaluation measured: pass, fail, or it cannot be certified."""

import math
from collections.abc import Iterator, Mapping, Sequence

from anonymize.errors import counted
from attacks.evaluation.checks.judging import listed
from attacks.evaluation.policies.demands import (
    FAIL,
    KEPT,
    UNKNOWN,
    Line,
    Reading,
    Verdict,
    at_most,
    reading_of,
)
from attacks.evaluation.policies.guidelines import Guided
from attacks.evaluation.policies.policy import Policy, Population, Usefulness
from attacks.evaluation.policies.release_seen import ReleaseSeen
from attacks.measuring.estimates import Estimate
from attacks.measuring.tails import ENOUGH
from attacks.measuring.world_records import Stratum, World
from attacks.results import Attack, Method, Results

SAME = "same_image"


def judged(
    results: Results,
    policy: Policy,
    *,
    release: ReleaseSeen | None = None,
    guided: Sequence[Guided] = (),
    methods: Sequence[str] | None = None,
) -> tuple[Verdict, ...]:
    """A verdict on every released method, or on those with these titles.

    Args:
        release: the files that were released, where there are any.
        guided: the guidelines with their answers, as `guidelines.guided` gives them.
    """
    return tuple(
        Verdict(policy.title, title, tuple(_lines(results, method, policy, release, guided)))
        for title, method in results.titled_released
        if methods is None or title in methods
    )


def _lines(
    results: Results,
    method: Method,
    policy: Policy,
    release: ReleaseSeen | None,
    guided: Sequence[Guided],
) -> Iterator[Line]:
    attacks = {key: a for key, a in method.privacy.items() if a.links_patients}
    patients = results.source.patients
    matched = {key: a.matched.auc if a.matched else None for key, a in attacks.items()}
    guesses = {key: a.estimate("precision_at_1") for key, a in attacks.items()}
    yield from linked_by(policy, matched, guesses, patients)
    if (demand := policy.r_s) is not None:
        found = {key: _linked(a, demand.people, patients) for key, a in attacks.items()}
        held = {key: _very_image(a.world, demand.people) for key, a in attacks.items()}
        yield from found_among(demand, found, held, patients)
    if policy.utility is not None:
        yield _useful(method, policy.utility, patients)
    if policy.min_jacobian is not None:
        yield _unfolded(method, release, policy.min_jacobian)
    if policy.headers or policy.text:
        yield from _files(method, release, policy)
    if policy.checks:
        yield _trusted(results)
    if policy.guidelines:
        yield answered(policy.guidelines, guided)


def linked_by(
    policy: Policy,
    matched: Mapping[str, Estimate | None],
    guesses: Mapping[str, Estimate | None],
    patients: int,
) -> Iterator[Line]:
    """What a policy demands of pairs and of first guesses; None where it was not measured."""
    for name, most, known in (
        ("AUC against matched impostors", policy.matched_auc, matched),
        ("precision@1", policy.precision_at_1, guesses),
    ):
        if most is not None:
            found = {key: reading_of(estimate) for key, estimate in known.items()}
            yield at_most(f"{name} at most {most:g}", found, most, patients)


def found_among(
    demand: Population,
    found: Mapping[str, Reading | None],
    held: Mapping[str, Reading | None],
    patients: int,
) -> Iterator[Line]:
    """Linkage risk among many people; ``held``: by who holds the very images."""
    asked = f"linkage risk among {demand.people:,} people at most {demand.most:g}"
    yield at_most(asked, found, demand.most, patients)
    if demand.very_image:
        yield at_most(f"{asked}, by who holds the very image", held, demand.most, patients)


def _linked(attack: Attack, people: int, gallery: int) -> Reading | None:
    if attack.world is not None:
        return _among(attack.world, people, attack.world.people)
    lacking = "measured by an older version: evaluate again"
    return among_more(attack.estimate("r_s"), people, gallery, lacking)


def among_more(
    estimate: Estimate | None, people: int, gallery: int, lacking: str
) -> Reading | None:
    """Linkage risk among so many people, of one among ``gallery``. It falls with people: what fewer
    give is no less, and what more give is no more. ``lacking``: why nothing more is known."""
    if estimate is None or estimate.ci95 is None:
        return None
    low, high = estimate.ci95
    within = (0.0 if people > gallery else low, high if people >= gallery else 1.0)
    return Reading(estimate.mean, within, f" among {gallery:,} people", lacking)


def _very_image(world: World | None, people: int) -> Reading | None:
    if world is None or SAME not in world.strata:
        return None
    return _among(world.strata[SAME], people, world.people)


def _among(of: World | Stratum, people: int, measured: int) -> Reading | None:
    points = of.points
    ends = {p.people: p.r_s.within or (0.0, 1.0) for p in points if p.r_s is not None}
    nearest = max((p for p in points if p.people <= people), key=lambda p: p.people, default=None)
    if nearest is None or nearest.r_s is None:
        return None
    high = ends[nearest.people][1]
    low = max((low for size, (low, _) in ends.items() if size >= people), default=0.0)
    beside = ""
    if nearest.r_s.second is not None:
        other = nearest.r_s.second.mean
        beside = f", second model {other:.3g}, extrapolated from {measured:,} people"
    lacking = ""
    if nearest.people < people and measured < ENOUGH:
        lacking = f"{measured:,} people are too few to fit a tail to, which takes {ENOUGH:,}"
        beside += f" among {nearest.people:,}"
    within = min(low, high), high
    return Reading(nearest.r_s.estimate.mean, within, beside, lacking, of.patients)


def _useful(method: Method, demand: Usefulness, patients: int) -> Line:
    """From the 90 % interval of two one-sided tests at 5 % (Schuirmann 1987), which holds for every
    margin."""
    words = "equivalent within" if demand.equivalent else "no worse than real images by more than"
    name = f"{demand.kind} classifier is {words} {demand.margin:g}"
    found = getattr(method.utility, demand.kind)
    if demand.kind == "frozen" and method.sets is not None:
        return Line(name, UNKNOWN, "in releases of sets a frozen classifier reads the grouping")
    if found is None or found.difference is None or found.margin is None:
        return Line(name, UNKNOWN, "not measured")
    if method.utility.readable is False:
        return Line(name, UNKNOWN, "the classifier is at chance on real images, or unsteady")
    if found.margin.ci90 is None:
        return Line(name, UNKNOWN, "it has no interval: too few patients")
    (low, high), value, margin = found.margin.ci90, found.difference.mean, demand.margin
    said = f"{value:+.3f} (90 % {low:+.3f} to {high:+.3f})".replace("-", "−")
    if high < -margin or (demand.equivalent and low > margin):
        return Line(name, FAIL, said)
    if low > -margin and (high < margin or not demand.equivalent):
        return Line(name, KEPT, said)
    rooms = [(value + margin, value - low)]
    rooms += [(margin - value, high - value)] if demand.equivalent else []
    needed = max(
        math.ceil(max(patients * (reach / room) ** 2, patients + 1)) if room else patients + 1
        for room, reach in ((abs(room), reach) for room, reach in rooms)
    )
    shows = "show that it fails" if any(room < 0 for room, _ in rooms) else "certify it"
    said += f", of {patients:,} patients; if the figure holds, about {needed:,} patients {shows}"
    return Line(name, UNKNOWN, said, needed)


def _unfolded(method: Method, release: ReleaseSeen | None, least: float) -> Line:
    demand = f"smallest Jacobian determinant at least {least:g}"
    moved = method.image.displacement_px is not None
    found = [method.image.min_jacobian, release.min_jacobian if release else None]
    known = [value for value in found if value is not None]
    if not known:
        if moved:
            return Line(demand, UNKNOWN, "not measured")
        return Line(demand, KEPT, "the method does not deform")
    return Line(demand, KEPT if min(known) >= least else FAIL, f"{min(known):.3g}")


def _files(method: Method, release: ReleaseSeen | None, policy: Policy) -> Iterator[Line]:
    other = ""
    if release is not None and release.method != method.name:
        other = f"--release was made by {release.method}, not by {method.name}"
    elif release and release.model and method.fingerprint and release.model != method.fingerprint:
        other = "--release was made by another model file"
    return files_of(
        release, policy, other, "no release was looked at: name its folder, --release DIR"
    )


def files_of(
    release: ReleaseSeen | None, policy: Policy, other: str, unseen: str
) -> Iterator[Line]:
    """Headers and text of the release's files.

    Args:
        other: why they are not those of the method that is judged; "" where they are.
        unseen: why there are none.
    """
    demands = {
        "headers and files are sound (`anonymize verify`)": policy.headers,
        "burned-in text was looked for": policy.text,
    }
    for demand in (name for name, wanted in demands.items() if wanted):
        if release is None:
            yield Line(demand, UNKNOWN, unseen)
        elif not release.sound:
            yield Line(demand, FAIL, release.in_words())
        elif other:
            yield Line(demand, UNKNOWN, other)
        elif demand.startswith("headers"):
            yield Line(demand, KEPT, release.in_words())
        else:
            whole = release.searched == release.files
            said = f"in {release.searched:,} of {counted(release.files, 'image')}"
            yield Line(demand, KEPT if whole else FAIL, said)


def _trusted(results: Results) -> Line:
    """The checks that say whether to trust the figures."""
    demand = "the figures can be trusted (all checks)"
    failed = [c.name for c in results.checks if not (c.passed or c.informative)]
    if failed:
        return Line(demand, FAIL, listed(failed, 4))
    if unseen := [c.name for c in results.checks if not c.tested]:
        return Line(demand, UNKNOWN, f"not tested: {listed(unseen, 4)}; `attacks check` does it")
    if not results.checks:
        return Line(demand, UNKNOWN, "these results hold no check")
    return Line(demand, KEPT, counted(len(results.checks), "check"))


def answered(kind: str, guided: Sequence[Guided]) -> Line:
    """Whether a person answered yes to all guidelines of a kind."""
    demand = f"guidelines {kind} are answered"
    own = [g for g in guided if g.key.startswith(kind)]
    if not own:
        return Line(demand, UNKNOWN, "no answers: name their file, --answers FILE")
    if refused := [g.key for g in own if g.answer == "no"]:
        return Line(demand, FAIL, f"answered no: {', '.join(refused)}")
    if unanswered := [g.key for g in own if g.answer != "yes"]:
        return Line(demand, UNKNOWN, f"not answered: {', '.join(unanswered)}")
    return Line(demand, KEPT, f"{', '.join(g.key for g in own)} are answered yes")
