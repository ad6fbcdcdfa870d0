"""Is the headline the figure of the strongest attacker?"""

from __future__ import annotations

from attacks.evaluation.judging import judged
from attacks.registry import finds_marks
from attacks.results import Check, Method, Results

NAME = "the strongest attacker is chosen well"
WEAKER = 0.05  # AUC by which the attacker chosen may stay below another


def strongest_is_chosen_well(results: Results) -> Check | None:
    """The attacker is chosen on the validation part; with few impostors there chance chooses."""
    chosen = [
        (title, *method.strongest, *best)
        for title, method in results.titled
        if method.strongest is not None and (best := highest(method)) is not None
    ]
    return judged(
        NAME,
        chosen,
        [
            f"{title} ({name} {attack.headline.auc.mean:.3f}, {other} {auc:.3f})"
            for title, name, attack, other, auc in chosen
            if auc > attack.headline.auc.mean + WEAKER
        ],
        good="no attacker surpasses the one chosen on the validation part by more than "
        f"{WEAKER} of AUC.",
        bad="the attacker chosen on the validation part stays below another on the images "
        "evaluated: {}. The validation part has too few impostors to choose by; read the highest "
        "figure, or evaluate more patients.",
    )


def highest(method: Method) -> tuple[str, float] | None:
    """Attacker of patients and AUC of the highest figure; None where nobody looks for patients."""
    found = {
        key: attack.headline.auc.mean
        for key, attack in method.privacy.items()
        if attack.links_patients and not finds_marks(key)
    }
    return max(found.items(), key=lambda item: item[1], default=None)
