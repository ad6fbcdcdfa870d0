"""Was a generator trained to its end, and does it do more than a random warp of its strength?"""

from __future__ import annotations

from attacks.evaluation.judging import judged
from attacks.results import Attack, Check, Displacement, Method, Results

CONTROL = "random-warp"
ALIKE = 0.1  # share by which the root mean square displacements may differ


def generators_are_trained(results: Results) -> Check | None:
    """A generator that still moved when its training ended says nothing about its method."""
    trained = [(title, m) for title, m in results.titled if m.converged is not None]
    return judged(
        "generators are trained",
        trained,
        [
            f"{title}{'' if m.steps is None else f' ({m.steps} steps)'}"
            for title, m in trained
            if not m.converged
        ],
        good="no generator still moved in its last epochs.",
        bad="not trained, still moving when the training ended: {}. Their figures are of an "
        "interrupted training, not of the method; train more epochs.",
    )


def generators_exceed_a_random_warp(results: Results) -> Check | None:
    """A deformation that was learnt must hide more than noise that moves the pixels as far."""
    moving = [(t, m, moved) for t, m in results.titled if (moved := _rms(m)) and _learnt(m)]
    warps = [(m, moved) for m in results.methods if m.name == CONTROL and (moved := _rms(m))]
    alone, equal = [], []
    for title, method, moved in moving:
        near = [m for m, other in warps if abs(other - moved) <= ALIKE * moved]
        if not near:
            alone.append(f"{title} ({moved:.2f} px)")
        elif not any(_exceeds(method, warp) for warp in near):
            equal.append(title)
    name = "generators exceed a random warp of equal displacement"
    found = judged(
        name,
        moving,
        equal or alone,
        good="against every generator the strongest attacker reaches less, by more than its "
        "interval, than against a random warp of equal root mean square displacement.",
        bad="no better than noise: the strongest attacker links {} as well as a random warp of "
        "equal root mean square displacement, within its interval. What was learnt hides nobody."
        if equal
        else "no random warp of equal root mean square displacement stands beside: {}. Add "
        f"--method {CONTROL}:mu=…, its mu chosen to move the pixels as far.",
    )
    return found and found.model_copy(update={"informative": not equal and bool(alone)})


def _learnt(method: Method) -> bool:
    return method.steps is not None or method.converged is not None


def _rms(method: Method) -> float | None:
    moved: Displacement | None = method.image.displacement_px
    return moved.rms if moved is not None else None


def _exceeds(method: Method, warp: Method) -> bool:
    """Whether less of the method's release is linked, by more than half of its interval."""
    if method.strongest is None or warp.strongest is None:
        return False
    mine, others = (_headline(m.strongest[1]) for m in (method, warp))
    if mine.ci95 is None:
        return False
    return others.mean - mine.mean > (mine.ci95[1] - mine.ci95[0]) / 2


def _headline(attack: Attack):
    return (attack.matched or attack).auc
