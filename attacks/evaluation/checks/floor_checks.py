"""Checks against what needs no search for an identity: metadata, and pixels passed through."""

from collections.abc import Iterator

from attacks.evaluation.checks.judging import judged
from attacks.evaluation.floors import BIOMETRICS, COIN, COIN_SETS, FINDINGS, METADATA, TASK
from attacks.measuring.estimates import Figures
from attacks.registry import is_repeated, known_level
from attacks.results import SETS, Attack, Check, Method, Results, name_of

TOLERANCE = 0.01  # AUC below a floor that still counts as equal


def identity_attacks(method: Method) -> list[tuple[str, Attack]]:
    """Name and figures of every attacker that is trained to find an identity."""
    return [
        (name, attack)
        for name, attack in method.privacy.items()
        if not _is_floor(name) and attack.links_patients and is_repeated(name)
    ]


def attackers_reach_the_floor(results: Results) -> Check | None:
    """A trained attacker below one that learns nothing, or below what age, sex and view that can
    be read from the same images link, is undertrained; against all impostors, or matched ones."""
    looked_at, low = 0, []
    for title, method in results.titled:
        for reading, figures in _readings(method):
            floors = [(n, f) for n, f in figures.items() if _is_floor(n)]
            floor, least = max(floors, key=lambda item: item[1].auc.mean, default=("", None))
            if least is None:
                continue
            for name, _ in identity_attacks(method):
                looked_at += 1
                if name in figures and figures[name].auc.mean < least.auc.mean - TOLERANCE:
                    low.append(
                        f"{name} on {title} ({reading}AUC {figures[name].auc.mean:.3f}; {floor} "
                        f"{least.auc.mean:.3f})"
                    )
    return judged(
        "trained attackers reach the floor",
        [looked_at] if looked_at else [],
        low,
        good=f"none of the {looked_at} figures of trained attackers stays below attackers that "
        "learn nothing, or only to read age, sex and view.",
        bad="undertrained, below an attacker that looks for no identity: {}. "
        "Train longer or on more pairs before believing its figure.",
    )


def attackers_surpass_the_floors(results: Results) -> Check | None:
    """On real images an identity is worth more than findings or a few facts: Packhäuser et al.
    2022 reach 0.994, where age and sex alone give 0.983."""
    if results.real is None:
        return None
    floors = _floors(results)
    attacks = identity_attacks(results.real)
    if not floors:
        return None
    low = []
    for name, attack in attacks:
        figures = (("", attack, 0), ("matched ", attack.matched, 1))
        for reading, own, n in figures:
            known = {f: linked[n] for f, linked in floors.items() if linked[n] is not None}
            if own is None or not known:
                continue
            floor = max(known, key=lambda f: known[f] or 0.0)
            if own.auc.mean < (known[floor] or 0.0) - TOLERANCE:
                low.append(f"{name} ({reading}AUC {own.auc.mean:.3f}; {floor} {known[floor]:.3f})")
    linked = ", ".join(f"{name} {auc:.3f}" for name, (auc, _) in floors.items())
    return judged(
        "attackers link real images better than findings and facts do",
        attacks,
        low,
        good=f"no trained attacker stays below what links the real images without looking for a "
        f"patient: {linked}.",
        bad=f"real images are linked without looking for a patient ({linked}); undertrained, below "
        "that: {}. A verifier of a large data set surpasses age and sex (0.994 against 0.983, "
        "Packhäuser et al. 2022): train longer, or on more images, before believing that released "
        "images protect anybody.",
    )


def coin_of(results: Results, attacker: str, *, matched: bool = False) -> float:
    """The AUC that an attacker of that kind reaches by luck, against all impostors or matched ones,
    97.5th percentile; 0 if not known."""
    found = {f.name: f.matched if matched else f.auc for f in results.floors}
    coins = {name: auc.ci95 for name, auc in found.items() if auc and auc.ci95}
    kinds = (COIN_SETS, COIN) if name_of(attacker) == SETS else (COIN,)
    return next((coins[kind][1] for kind in kinds if kind in coins), 0.0)


def metadata_beside_the_images(results: Results) -> Check | None:
    """A finding: what age, sex, view and follow-up number link if they are released too."""
    found = [
        (title, method.privacy[METADATA].auc.mean, method.strongest[1].auc.mean)
        for title, method in results.titled_released
        if METADATA in method.privacy and method.strongest
    ]
    if not found:
        return None
    linked = (
        "released beside the images, age, sex, view and follow-up number link with AUC "
        f"{found[0][1]:.3f}, "
    )
    return judged(
        "what the metadata link",
        found,
        [title for title, metadata, pixels in found if pixels < metadata],
        good=f"{linked}and the pixels of every method tell more.",
        bad=f"{linked}better than any attacker found patients by the pixels of {{}}. Leave them "
        "out, or coarsen them.",
        informative=True,
    )


def _readings(method: Method) -> Iterator[tuple[str, dict[str, Figures]]]:
    """What every attacker reaches, by key: against all impostors, and against matched ones."""
    yield "", dict(method.privacy)
    yield "matched ", {n: a.matched for n, a in method.privacy.items() if a.matched is not None}


def _floors(results: Results) -> dict[str, tuple[float, float | None]]:
    """What links real images without looking for a patient, in both readings."""
    found = {f.name: f for f in results.floors}
    names = (FINDINGS, TASK, BIOMETRICS, METADATA)
    known = {n: (f.auc, f.matched) for n in names if (f := found.get(n)) and f.auc}
    return {n: (auc.mean, None if m is None else m.mean) for n, (auc, m) in known.items()}


def _is_floor(key: str) -> bool:
    level = known_level(key)
    return level is not None and level.floor
