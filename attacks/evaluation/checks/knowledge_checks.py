"""Has an adversary tried who knows the release, and who learnt to compare what it compares?"""

from attacks.attackers.soft_biometrics import SoftBiometrics
from attacks.evaluation.checks.judging import in_short, judged
from attacks.measuring.estimates import Estimate
from attacks.registry import known_level
from attacks.results import Attack, Check, Method, Results, name_of

MISMATCH = 0.05  # AUC by which the release may be easier to link within than to real images
ACROSS = ("released-real", "mixed")


def an_attacker_saw_released_images(results: Results) -> Check | None:
    """The strongest attacker of each method; one that never learnt to compare a released image
    with a real one flatters the method."""
    found, naive = [], []
    for title, method in results.titled_released:
        if method.strongest is None:
            continue
        name, attack = method.strongest
        found.append(f"{title}: {name} ({attack.knowledge}), {in_short(attack.auc)}")
        if not saw_released_images(method):
            naive.append(title)
    return judged(
        "an attacker has seen released images",
        found,
        naive,
        good=f"strongest attacker of each method: {'; '.join(found)}.",
        bad="only attackers that never learnt from pairs of a released and a real image tried: {}. "
        "Such attackers flatter every method; add one that does (histogram-metric, contrastive, or "
        "verification with evaluation.attacker_pairs=mixed).",
    )


def saw_released_images(method: Method) -> bool:
    """Whether an attacker that looks for patients learnt from released images beside real ones."""
    return any(_learnt_across(name, attack) for name, attack in method.privacy.items())


def attackers_learnt_what_they_compare(results: Results) -> Check | None:
    """Who links within the release, but not to real images, failed at the way there: its figure is
    of a mismatch, and not of what the release hides. Outputs of sets have people in common whom
    nobody need know to tell that they belong together."""
    found = [
        (f"{name} on {title}", attack.auc, within)
        for title, method in results.titled_released
        if method.sets is None
        for name, attack in method.privacy.items()
        if attack.compares == "released-real"
        if (within := attack.estimate("auc_within")) is not None
    ]
    return judged(
        "attackers link to real images as well as within the release",
        found,
        [
            f"{what} ({auc.mean:.3f}, within the release {within.mean:.3f})"
            for what, auc, within in found
            if within.mean > auc.mean + MISMATCH and _apart(auc, within)
        ],
        good="no attacker that learns from the release links its images to each other by more than "
        f"{MISMATCH} of AUC better than to real ones.",
        bad="the release tells patients apart, and the attacker cannot carry that over to real "
        "images: {}. Its figure is of a mismatch, not of privacy; do not believe it. Train on "
        "released beside real images (mixed), or add an attacker that restores the release first "
        "(histogram-metric, learned-inverse).",
    )


def _learnt_across(key: str, attack: Attack) -> bool:
    if not attack.links_patients or name_of(key) == SoftBiometrics.name:
        return False
    if attack.trained_on is not None:
        return attack.trained_on in ACROSS
    level = known_level(key)
    if level is None:
        return attack.knowledge in ("informed", "white-box")
    # Who combines others is as good as they are, and they stand beside it.
    own = not level.combines and level.learns == "released"
    return own and attack.knowledge in ("informed", "white-box")


def _apart(low: Estimate, high: Estimate) -> bool:
    return low.ci95 is None or high.ci95 is None or low.ci95[1] < high.ci95[0]
