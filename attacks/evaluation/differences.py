"""What evaluated methods have to say about each other: their differences.

All figures of an evaluation are measured on the same draws of patients, so differences of two
methods are known far better than the methods themselves.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anonymize.errors import UsageError
from anonymize.statistics import Measured
from attacks.measuring.comparisons import holm, p_below, p_different, paired_runs
from attacks.measuring.estimates import Difference
from attacks.measuring.matching import PREFIX as MATCHED
from attacks.measuring.release_figures import KINDS
from attacks.measuring.statistics import mean_over_runs, summary
from attacks.results import REAL, Method

WARP = "random-warp"
ALIKE = 0.1  # share by which displacements may differ
Place = tuple[int, str]  # which of the methods, and the attacker
KIND = ("kernel", "sigma", "border", "controls", "squarings", "tone")  # of a warp, learnt or not


@dataclass(frozen=True)
class Compared:
    """An evaluated method: its title, figures, by attacker the figures of each run, and what each
    retrained classifier read."""

    title: str
    method: Method
    runs: Mapping[str, Sequence[Mapping[str, Measured]]]
    read: Sequence[Measured] = ()

    def aucs(self, attacker: str, reading: str) -> list[Measured]:
        """Of every run of an attacker against all impostors (""), or matched ones; empty where it
        was not measured."""
        runs = self.runs.get(attacker, ())
        return [run[f"{reading}auc"] for run in runs if f"{reading}auc" in run]


def with_differences(methods: Sequence[Compared]) -> list[Method]:
    """The methods; their attacks with differences to the real images and to the control, and with
    the p that they are not below chance. Both are adjusted for all attacks of the evaluation, each
    reading by itself."""
    privacy = [dict(one.method.privacy) for one in methods]
    for reading in ("", MATCHED):
        aucs = {
            (n, key): runs
            for n, one in enumerate(methods)
            for key in one.method.privacy
            if (runs := one.aucs(key, reading))
        }
        below = holm([p_below(mean_over_runs(runs), 0.5) for runs in aucs.values()])
        found = adjusted({place: [*_differences(methods, *place, reading)] for place in aucs})
        for (n, key), p in zip(aucs, below, strict=True):
            changed = {"p_below_chance": p, "differences": found[n, key]}
            attack = privacy[n][key]
            if reading:
                assert attack.matched is not None
                changed = {"matched": attack.matched.model_copy(update=changed)}
            privacy[n][key] = attack.model_copy(update=changed)
    return [
        one.method.model_copy(update={"privacy": attacks})
        for one, attacks in zip(methods, privacy, strict=True)
    ]


def adjusted(found: Mapping[Place, Sequence[Difference]]) -> dict[Place, tuple[Difference, ...]]:
    """Differences by what they are of; each p adjusted for all of them."""
    ps = iter(holm([d.p for of_one in found.values() for d in of_one if d.p is not None]))
    return {
        place: tuple(d.model_copy(update={"p_holm": next(ps)}) for d in of_one)
        for place, of_one in found.items()
    }


def with_margins(methods: Sequence[Method]) -> list[Method]:
    """The methods; the p that a utility is worse by the margin adjusted for all of them, each kind
    of classifier by itself."""
    found = list(methods)
    for kind in KINDS:
        own = {n: c for n, m in enumerate(found) if (c := getattr(m.utility, kind)) and c.margin}
        for n, p in zip(own, holm([c.margin.p for c in own.values()]), strict=True):
            read = {kind: own[n].model_copy(update={"margin_p_holm": p})}
            utility = found[n].utility.model_copy(update=read)
            found[n] = found[n].model_copy(update={"utility": utility})
    return found


def _differences(
    methods: Sequence[Compared], n: int, key: str, reading: str
) -> Iterator[Difference]:
    """Of an attack on method ``n``, p not yet adjusted."""
    own = methods[n]
    others = {
        "real": next((m for m in methods if m.method.name == REAL), None),
        "control": control_of(own, methods),
    }
    for role, other in others.items():
        if other is None or other is own or not (runs := other.aucs(key, reading)):
            continue
        paired = paired_runs(own.aucs(key, reading), runs)
        p = p_different(mean_over_runs(paired))
        yield Difference(to=other.title, role=role, difference=summary(paired), p=p)


def control_of(own: Compared, methods: Sequence[Compared]) -> Compared | None:
    """What a method has to surpass: of one that deforms, the random warp whose displacement has the
    same root mean square, to ``ALIKE``; None where there is none."""
    far = _moved(own)
    if not far or own.method.name == WARP:
        return None
    warps = [m for m in methods if m.method.name == WARP and abs(_moved(m) - far) <= ALIKE * far]
    return min(warps, key=lambda warp: abs(_moved(warp) - far), default=None)


def control_for(method: Method, size: int) -> str:
    """The random warp whose displacement has the root mean square of a measured method's, and whose
    field is of its kind, as `anonymize.load` reads it.

    Args:
        size: of the images that were measured, in pixels.

    Raises:
        UsageError: the method moves nothing.
    """
    moved = method.image.displacement_px
    if moved is None or not moved.rms:
        raise UsageError(
            f"control: true is for trained methods that deform; {method.name} moved no pixel"
        )
    kind = {k: v for k in KIND if (v := method.options.get(k)) is not None}
    options = {"rms": f"{2 * moved.rms / (size - 1):.3g}", "size": size, **kind, "seed": 0}
    return f"{WARP}:{','.join(f'{key}={value}' for key, value in options.items())}"


def _moved(one: Compared) -> float:
    """Pixels; 0 where it does not deform."""
    moved = one.method.image.displacement_px
    return 0.0 if moved is None else moved.rms or 0.0
