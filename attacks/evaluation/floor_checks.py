"""Checks against what needs no search for an identity: metadata, and pixels passed through."""

from __future__ import annotations

from attacks.attackers.identical import Identical
from attacks.attackers.metadata import Metadata
from attacks.attackers.soft_biometrics import SoftBiometrics
from attacks.evaluation.judging import judged
from attacks.registry import is_repeated, known_level
from attacks.results import REAL, Attack, Check, Method, Results, name_of

METADATA, IDENTICAL = Metadata.name, Identical.name
TOLERANCE = 0.01  # AUC below a floor that still counts as equal


def floor_of(method: Method) -> tuple[str, Attack] | None:
    """Name and figures of the best attacker that looks for no identity, or learns nothing."""
    found = [(n, a) for n, a in method.privacy.items() if _is_floor(n)]
    return max(found, key=lambda item: item[1].auc.mean, default=None)


def identity_attacks(method: Method) -> list[tuple[str, Attack]]:
    """Name and figures of every attacker that is trained to find an identity."""
    return [
        (name, attack)
        for name, attack in method.privacy.items()
        if not _is_floor(name) and attack.links_patients and is_repeated(name)
    ]


def saw_released_images(method: Method) -> bool:
    """Whether an attacker that looks for patients knew released images or the method itself."""
    return any(
        attack.knowledge != "ignorant" and attack.links_patients
        for name, attack in method.privacy.items()
        if name_of(name) != SoftBiometrics.name
    )


def attackers_surpass_the_metadata(results: Results) -> Check | None:
    """On real images an identity is worth more than a few facts: Packhäuser et al. 2022 reach
    0.994, where age and sex alone give 0.983."""
    if results.real is None or METADATA not in results.real.privacy:
        return None
    floor = results.real.privacy[METADATA].auc.mean
    attacks = identity_attacks(results.real)
    linked = f"True metadata alone link the real images with AUC {floor:.3f}"
    return judged(
        "attackers link real images better than their metadata do",
        attacks,
        [f"{n} (AUC {a.auc.mean:.3f})" for n, a in attacks if a.auc.mean < floor - TOLERANCE],
        good=f"{linked}, and no trained attacker stays below that.",
        bad=f"{linked}; undertrained, below that: {{}}. A verifier of a large data set surpasses "
        "age and sex (0.994 against 0.983, Packhäuser et al. 2022): train longer, or on more "
        "images, before believing that released images protect anybody.",
    )


def no_image_is_released_as_it_is(results: Results) -> Check | None:
    """The attacker `identical` finds originals by hash: its AUC is ½ + half of their share."""
    found = [
        (title, 2 * method.privacy[IDENTICAL].auc.mean - 1)
        for title, method in results.titled
        if method.name != REAL and IDENTICAL in method.privacy
    ]
    return judged(
        "no image is released as it is",
        found,
        [f"{title} ({share:.1%})" for title, share in found if share > 0],
        good="no released image has the pixels of a real one.",
        bad="released with the pixels of the original: images of {}. A hash links them.",
    )


def metadata_beside_the_images(results: Results) -> Check | None:
    """A finding: what age, sex, view and follow-up number link if they are released too."""
    found = [
        (title, method.privacy[METADATA].auc.mean, method.strongest[1].auc.mean)
        for title, method in results.titled
        if method.name != REAL and METADATA in method.privacy and method.strongest
    ]
    if not found:
        return None
    linked = (
        "released beside the images, age, sex, view and follow-up number link with AUC "
        f"{found[0][1]:.3f}, "
    )
    check = judged(
        "what the metadata link",
        found,
        [title for title, metadata, pixels in found if pixels < metadata],
        good=f"{linked}and the pixels of every method tell more.",
        bad=f"{linked}better than any attacker found patients by the pixels of {{}}. Leave them "
        "out, or coarsen them.",
    )
    return check and check.model_copy(update={"informative": True})


def _is_floor(key: str) -> bool:
    level = known_level(key)
    return level is not None and level.floor
