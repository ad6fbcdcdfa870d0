"""Methods, and trainings, that are alike but for their seed, as one: what no single generator can
say.

A run is one generator, or one lot of a method that draws: the mean of all attacks on it, or of all
classifiers that learn from it, on the same draws of patients as everything else. So the
interval of a difference holds how far generators lie apart, and what the two methods make of these
patients differently, but not what they make of them alike; how far the trainings of the other
method lie apart is in its draws (`mean_over_runs`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from anonymize.statistics import Measured
from attacks.evaluation.differences import Compared, Place, adjusted, control_of
from attacks.measuring.comparisons import p_different
from attacks.measuring.estimates import Difference, Estimate, Generators
from attacks.measuring.matching import PREFIX as MATCHED
from attacks.measuring.statistics import mean_of_runs, mean_over_runs, summary
from attacks.results import REAL, Method
from attacks.titles import told_apart

Runs = Callable[[Compared], Sequence[Measured]]  # of one figure of a method; none: not measured


def over_generators(methods: Sequence[Compared]) -> tuple[Generators, ...]:
    """Every method of which there are several seeds. Twice the same seed is one."""
    kin = _kin(methods)
    several = [list(of_one.values()) for of_one in kin]
    named = told_apart(
        [(own[0].method.name, _without_seed(own[0].method)) for own in several],
        [own[0].method.training for own in several],
    )
    keys = [(n, key) for n, own in enumerate(several) for key in own[0].method.privacy]
    every, matched = (
        _figures(several, methods, {(n, key): _aucs(key, reading) for n, key in keys})
        for reading in ("", MATCHED)
    )
    read = _figures(several, methods, {(n, ""): _read for n in range(len(kin))})
    found = []
    for n, of_one in enumerate(kin):
        method = several[n][0].method
        own, alike = (
            {key: one for (m, key), one in figures.items() if m == n}
            for figures in (every, matched)
        )
        taught, beside = read.get((n, ""), (None, ()))
        found.append(
            Generators(
                name=method.name,
                options=dict(named[n][1]),
                seeds=tuple(of_one),
                auc={key: auc for key, (auc, _) in own.items()},
                matched={key: auc for key, (auc, _) in alike.items()},
                differences={key: less for key, (_, less) in own.items()},
                matched_differences={key: less for key, (_, less) in alike.items()},
                retrained=taught,
                retrained_differences=beside,
            )
        )
    return tuple(found)


def _kin(methods: Sequence[Compared]) -> list[dict[int, Compared]]:
    """Those alike but for their seed, by seed, where there are several."""
    kin: dict[tuple, dict[int, Compared]] = {}
    for one in methods:
        trained, drawn = one.method.seed, one.method.options.get("seed")
        if (seed := drawn if trained is None else trained) is not None:
            alike = one.method.name, repr(_without_seed(one.method)), repr(one.method.training)
            kin.setdefault(alike, {}).setdefault(seed, one)
    return [several for several in kin.values() if len(several) > 1]


def _without_seed(method: Method) -> dict[str, Any]:
    return {k: v for k, v in method.options.items() if k != "seed"}


def _aucs(key: str, reading: str) -> Runs:
    return lambda one: one.aucs(key, reading)


def _read(one: Compared) -> Sequence[Measured]:
    return one.read


def _figures(
    several: Sequence[Sequence[Compared]], methods: Sequence[Compared], asked: Mapping[Place, Runs]
) -> dict[Place, tuple[Estimate, tuple[Difference, ...]]]:
    """Each figure where all generators have it, and its differences, whose p are adjusted among
    all of them."""
    known = {place: runs for place, runs in asked.items() if all(map(runs, several[place[0]]))}
    less = adjusted(
        {place: _differences(several[place[0]], methods, runs) for place, runs in known.items()}
    )
    return {
        place: (summary([mean_of_runs(runs(one)) for one in several[place[0]]]), less[place])
        for place, runs in known.items()
    }


def _differences(
    several: Sequence[Compared], methods: Sequence[Compared], runs: Runs
) -> list[Difference]:
    """To the real images, and to the control of each generator, where all have one; p not yet
    adjusted."""
    real = next((m for m in methods if m.method.name == REAL), None)
    found = []
    roles: tuple[Literal["real", "control"], ...] = ("real", "control")
    for role in roles:
        others = [real if role == "real" else control_of(one, methods) for one in several]
        known = [one for one in others if one is not None and runs(one)]
        if len(known) < len(several):
            continue
        paired = [
            _less(mean_of_runs(runs(one)), mean_over_runs(runs(other)))
            for one, other in zip(several, known, strict=True)
        ]
        to = ", ".join(dict.fromkeys(one.title for one in known))
        p = p_different(mean_over_runs(paired))
        found.append(Difference(to=to, role=role, difference=summary(paired), p=p))
    return found


def _less(one: Measured, other: Measured) -> Measured:
    patients = min(one.patients, other.patients)
    return Measured(one.value - other.value, one.draws - other.draws, patients, bounded=False)
