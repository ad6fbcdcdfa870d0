"""Do the figures tell patients apart, or something else that impostors differ in?

Among all impostor pairs, an image of an unknown patient is a stranger to everyone. A matched
impostor is identified. Pairs that attackers learn from are of identified patients, too.
"""

from attacks.evaluation.checks.judging import in_short, judged
from attacks.evaluation.floors import FINDINGS, TASK, TASK_SETS
from attacks.measuring.estimates import Figures
from attacks.results import SETS, Check, Results, name_of

BELOW = 0.025  # p, one-sided


def impostors_are_matched(results: Results) -> Check | None:
    """A figure against all impostors may be of findings, age, sex or view, or of images that only
    strangers have."""
    attacks = list(results.linking())
    if results.version < 2 or not (results.matched_by or any(a.matched for *_, a in attacks)):
        return None
    by = ", ".join(results.matched_by) or "nothing but their being identified"
    unknown = (results.source.model_extra or {}).get("unidentified", 0)
    said = (
        f" {unknown} of {results.source.images} images are of unknown patients: they make pairs "
        "among all impostors, and none among matched ones."
        if unknown
        else ""
    )
    return judged(
        "every figure has matched impostors",
        attacks,
        [f"{name} on {title}" for title, name, attack in attacks if attack.matched is None],
        good=f"impostors are matched by {by}.{said}",
        bad=f"no two patients are alike in {by}: {{}}. So nobody knows whether these figures are "
        f"of patients, or of what else differs between them.{said}",
    )


def no_attacker_is_below_chance(results: Results) -> Check | None:
    """An AUC significantly below 0.5 informs as well once its sign is turned, if it is so against
    matched impostors; if against all alone, these are of another kind."""
    attacks, below = list(results.linking()), []
    for title, name, attack in attacks:
        matched = attack.matched
        if matched is not None and _below(matched):
            advice = f"matched {in_short(matched.auc)}: turned {1 - matched.auc.mean:.3f}"
        elif not _below(attack):
            continue
        elif matched is None:
            advice = "no impostor is matched: what it means is not known"
        else:
            advice = f"matched {matched.auc.mean:.3f}: not to be turned"
        below.append(f"{name} on {title} ({in_short(attack.auc)}; {advice})")
    return judged(
        "no attacker is below chance",
        attacks,
        below,
        good="no AUC is below 0.5 by more than chance among so many attacks.",
        bad="significantly below chance: {}. Where matched impostors are below chance, an "
        "adversary turns the sign. Where they are not, the sign tells no patient: impostors differ "
        "in something else, such as images of unknown patients, which are strangers to everyone; "
        "read the figure against matched impostors.",
    )


def _below(figures: Figures) -> bool:
    """By p after Holm, as sure as an interval of 95 % is at one end; of older results, by that."""
    interval, p = figures.auc.ci95, figures.p_below_chance
    return interval is not None and (interval[1] < 0.5 if p is None else p < BELOW)


def figures_exceed_the_findings(results: Results) -> Check | None:
    """Findings link: who reads them alone has an AUC above chance without finding a patient; who
    reads more of an image than their names, as a classifier does, against matched impostors, too.
    """
    alone = _highest(results, FINDINGS, TASK)
    together = _highest(results, FINDINGS, TASK, TASK_SETS)
    if not alone or not together:
        return None
    found = [
        (title, *method.strongest) for title, method in results.titled_released if method.strongest
    ]
    low = [
        (f"{name} on {title}", attack)
        for title, name, attack in found
        for floors in [together if name_of(name) == SETS else alone]
        if attack.auc.mean <= floors[0][0]
        or (attack.matched is not None and attack.matched.auc.mean <= floors[1][0])
    ]
    said = _floors_in_words(alone)
    if together != alone and any(name_of(name) == SETS for _, name, _ in found):
        said += f"; for `{SETS}` {_floors_in_words(together)}"
    return judged(
        "figures exceed what findings alone give",
        found,
        [
            f"{what} ({attack.auc.mean:.3f}; against matched impostors "
            f"{'not known' if attack.matched is None else f'{attack.matched.auc.mean:.3f}'})"
            for what, attack in low
        ],
        good=f"the strongest attacker of every method exceeds the {said}.",
        bad=f"not above what links without looking for a patient ({said}): {{}}. Such a figure may "
        "be of findings that the release keeps, and not of patients; the one against matched "
        "impostors tells, as far as it exceeds the floor there.",
        informative=all(attack.matched is not None for _, attack in low),
    )


Highest = tuple[tuple[float, str], tuple[float, str]]  # against all impostors, and matched ones


def _highest(results: Results, *names: str) -> Highest | None:
    """The highest of some floors in both readings, and which it is; None where none was measured,
    of matched impostors 0."""
    known = [f for f in results.floors if f.name in names]
    every = [(f.auc.mean, f.name) for f in known if f.auc]
    alike = [(f.matched.mean, f.name) for f in known if f.matched]
    return (max(every), max(alike, default=(0.0, ""))) if every else None


def _floors_in_words(floors: Highest) -> str:
    (every, name), (alike, other) = floors
    said = f"{every:.3f} of the {name} against all impostors"
    return said + (f", {alike:.3f} of the {other} against matched ones" if other else "")
