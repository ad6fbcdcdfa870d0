"""Can this evaluation be trusted? Each rule looks at the results and says so, with the numbers.

A rule returns None where it has nothing to look at. A failed check does not make a figure wrong,
but names the reason not to repeat it: in almost every case the privacy is worse than it looks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from anonymize.errors import counted
from attacks.evaluation.checks import (
    choice_checks,
    floor_checks,
    generator_checks,
    impostor_checks,
    knowledge_checks,
    release_checks,
    utility_checks,
)
from attacks.evaluation.checks.choice_checks import looking_for_patients
from attacks.evaluation.checks.judging import between, in_short, judged
from attacks.measuring.estimates import Figures
from attacks.registry import is_repeated
from attacks.results import REAL, Attack, Check, Method, Results

LINKS_REAL = 0.6  # AUC on real images below which an attacker proves nothing
INCONSISTENT = 0.05  # AUC by which released images may be easier than real ones
WIDE = 0.1  # width of a 95 % interval
UNSTABLE = 0.05  # deviation of independent runs
REPEATS = 3
UNCHANGED = 0.9999  # SSIM

Rule = Callable[[Results], Check | None]


def run_checks(
    results: Results, left_out: Iterable[str] = (), *, others: Iterable[Check] = ()
) -> tuple[Check, ...]:
    """Every rule that applies: failed ones first, findings last, else in the order of `RULES`.

    Args:
        left_out: why attackers that were asked for did not take part.
        others: checks of something else than the results.
    """
    found = [check for rule in RULES if (check := rule(results)) is not None] + [*others]
    if why := "; ".join(left_out):
        name = "every attacker took part"
        found.append(Check(name=name, passed=False, message=f"{why}.", informative=True))
    return tuple(sorted(found, key=lambda check: (check.informative, check.passed)))


def attackers_link_real_images(results: Results) -> Check | None:
    """An attacker that cannot link real images says nothing about released ones; who links them
    against all impostors alone may read findings."""
    if results.real is None:
        return Check(
            name="attackers link real images",
            passed=False,
            message=f"The method {REAL} was not evaluated, so nobody knows what the attackers "
            "reach without any anonymization. Add it.",
        )
    attacks = looking_for_patients(results.real)
    weak = [
        f"{what} ({in_short(found.auc)}{f'; luck reaches {coin:.3f}' if coin > LINKS_REAL else ''})"
        for what, found, coin in _on_real_images(results, attacks)
        if found.auc.mean < max(LINKS_REAL, coin)
    ]
    return judged(
        "attackers link real images",
        attacks,
        weak,
        good=f"every attacker reaches an AUC of {LINKS_REAL} or more on real images, and more than "
        "a coin might among these patients.",
        bad=f"below an AUC of {LINKS_REAL} on the real images, or no better than luck: {{}}. "
        "A low figure on released images shows a weak attacker, not privacy.",
    )


def released_are_no_easier_than_real(results: Results) -> Check | None:
    """Anonymized images that link better than real ones point to a broken or unlucky training."""
    if results.real is None:
        return None
    pairs = [
        (title, name, attack, results.real.privacy[name])
        for title, method in results.titled_released
        for name, attack in method.privacy.items()
        if name in results.real.privacy and attack.links_patients
    ]
    easier = [p for p in pairs if p[2].auc.mean > p[3].auc.mean + INCONSISTENT]
    return judged(
        "released images are no easier to link than real ones",
        pairs,
        [
            f"{name} on {title} ({attack.auc.mean:.3f}, real images {real.auc.mean:.3f})"
            for title, name, attack, real in easier
        ],
        good=f"no AUC on released images exceeds that on real images by {INCONSISTENT}.",
        bad="inconsistent: {}. Either the attack on real images is undertrained, or the method "
        "stamps the patient into the image.",
    )


def intervals_are_narrow(results: Results) -> Check | None:
    """Few patients or genuine pairs give wide intervals, in either reading."""
    intervals = [(what, found.auc.ci95) for what, found in _readings(results.linking())]
    intervals += [
        (f"{kind} utility on {title}", found.ci95)
        for title, method in results.titled
        for kind in ("frozen", "retrained")
        if (found := method.utility.auc(kind)) is not None
    ]
    wide = [
        f"{what} ({between(ci)})" if ci else f"{what} (no interval)"
        for what, ci in intervals
        if ci is None or ci[1] - ci[0] > WIDE
    ]
    return judged(
        "intervals are narrow",
        intervals,
        wide,
        good=f"every 95 % interval of an AUC is at most {WIDE} wide.",
        bad=f"wider than {WIDE}: {{}}. {counted(results.source.patients, 'patient')} "
        f"with {counted(results.source.images, 'image')} are too few for these figures; evaluate "
        "more.",
        most=4,
    )


def runs_agree(results: Results) -> Check | None:
    """Training that depends on its seed has not converged; one run cannot show it."""
    attacks = [found for found in results.attacks() if is_repeated(found[1])]
    single = {name: len(a.auc.runs) for _, name, a in attacks if len(a.auc.runs) < REPEATS}
    few = [f"{name} ran {n} of the {REPEATS} times needed" for name, n in single.items()]
    spread = [(what, found.auc.sd) for what, found in _readings(attacks)]
    apart = [f"{what} (± {sd:.3f})" for what, sd in spread if sd > UNSTABLE]
    return judged(
        "independent runs agree",
        attacks,
        few + apart,
        good=f"no AUC varies by more than {UNSTABLE} (standard deviation) between its runs.",
        bad="the spread of training is unknown or large: {}. Repeat more often.",
    )


def methods_change_the_images(results: Results) -> Check | None:
    """A release that equals the real images is no anonymization."""
    released = results.titled_released
    return judged(
        "every method changes the images",
        released,
        [title for title, method in released if _changes_nothing(method)],
        good="no released image set equals the real one.",
        bad="released unchanged: {}. Nothing was anonymized; look at its strength.",
    )


RULES: tuple[Rule, ...] = (
    floor_checks.attackers_reach_the_floor,
    attackers_link_real_images,
    released_are_no_easier_than_real,
    knowledge_checks.attackers_learnt_what_they_compare,
    knowledge_checks.an_attacker_saw_released_images,
    impostor_checks.no_attacker_is_below_chance,
    impostor_checks.impostors_are_matched,
    impostor_checks.figures_exceed_the_findings,
    generator_checks.generators_are_trained,
    generator_checks.generators_exceed_a_random_warp,
    generator_checks.images_are_moved_alike,
    runs_agree,
    intervals_are_narrow,
    utility_checks.classifier_reads_real_images,
    utility_checks.frozen_and_retrained_agree,
    utility_checks.classifiers_are_repeated,
    utility_checks.retrained_classifier_is_no_worse,
    utility_checks.labels_have_both_values,
    utility_checks.release_beats_its_pool,
    methods_change_the_images,
    release_checks.no_real_image_is_released,
    release_checks.no_mark_links_the_release,
    release_checks.every_output_is_seen,
    release_checks.no_donor_is_told,
    release_checks.released_images_tell_no_more,
    choice_checks.strongest_is_chosen_well,
    floor_checks.attackers_surpass_the_floors,
    utility_checks.findings_held_back_are_kept,
    utility_checks.paper_order,
    floor_checks.metadata_beside_the_images,
)


def _readings(attacks: Iterable[tuple[str, str, Attack]]) -> Iterator[tuple[str, Figures]]:
    """Every attack in words, and what it reaches: against all impostors, and matched ones."""
    for title, name, attack in attacks:
        yield f"{name} on {title}", attack
        if attack.matched is not None:
            yield f"{name} on {title}, matched", attack.matched


def _on_real_images(
    results: Results, attacks: Mapping[str, Attack]
) -> Iterator[tuple[str, Figures, float]]:
    """What each attacker reaches on real images, against all impostors and matched ones, and what
    luck does there."""
    for name, attack in attacks.items():
        yield name, attack, floor_checks.coin_of(results, name)
        if attack.matched is not None:
            luck = floor_checks.coin_of(results, name, matched=True)
            yield f"{name}, matched", attack.matched, luck


def _changes_nothing(method: Method) -> bool:
    image = method.image
    still = image.displacement_px is not None and image.displacement_px.max == 0
    return still or (image.ssim is not None and image.ssim > UNCHANGED)
