"""Is the headline the figure of the strongest attacker?"""

from attacks.evaluation.checks.judging import judged
from attacks.registry import finds_marks
from attacks.results import SETS, Attack, Check, Method, Results, name_of

NAME = "the strongest attacker is chosen well"
WEAKER = 0.05  # AUC by which the attacker chosen may stay below another


def strongest_is_chosen_well(results: Results) -> Check | None:
    """The attacker is chosen on the validation part; with few impostors there chance chooses."""
    chosen = {}
    for title, method in results.titled:
        attacks = looking_for_patients(method)
        alone = {key: attack for key, attack in attacks.items() if name_of(key) != SETS}
        for best, among in ((method.strongest_by_image, alone), (method.strongest, attacks)):
            if best is not None and among:
                chosen[title, best[0]] = best[1].headline.auc.mean, *_highest(among)
    return judged(
        NAME,
        chosen,
        [
            f"{title} ({name} {own:.3f}, {other} {highest:.3f})"
            for (title, name), (own, other, highest) in chosen.items()
            if highest > own + WEAKER
        ],
        good="no attacker surpasses the one chosen on the validation part by more than "
        f"{WEAKER} of AUC.",
        bad="the attacker chosen on the validation part stays below another on the images "
        "evaluated: {}. The validation part has too few impostors to choose by; read the highest "
        "figure, or evaluate more patients.",
    )


def looking_for_patients(method: Method) -> dict[str, Attack]:
    """The attacks on a method that look for patients, by attacker."""
    attacks = method.privacy.items()
    return {key: a for key, a in attacks if a.links_patients and not finds_marks(key)}


def _highest(attacks: dict[str, Attack]) -> tuple[str, float]:
    """Attacker and AUC of the highest figure."""
    found = {key: attack.headline.auc.mean for key, attack in attacks.items()}
    return max(found.items(), key=lambda item: item[1])
