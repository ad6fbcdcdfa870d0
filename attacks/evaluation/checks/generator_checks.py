"""Was a generator trained to its end, and does it do more than a random warp of its strength?"""

from attacks.evaluation.checks.judging import judged
from attacks.evaluation.differences import WARP
from attacks.measuring.estimates import Difference
from attacks.results import Check, Method, Results

FEW = 0.05  # of the images
SURE = 0.05  # of p


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
    found = [
        (title, method.strongest[1].headline.differences, moved.rms)
        for title, method in results.titled
        if method.strongest and _learnt(method)
        if (moved := method.image.displacement_px) is not None and moved.rms
    ]
    controls = {
        title: [d for d in differences if d.role == "control"] for title, differences, _ in found
    }
    alone = [f"{title} ({rms:.2f} px)" for title, _, rms in found if not controls[title]]
    several = len(found) > 1
    equal = [t for t, own in controls.items() if not all(_is_less(d, several) for d in own)]
    untested = not equal and bool(alone)
    return judged(
        "generators exceed a random warp of equal displacement",
        found,
        equal or alone,
        good="the strongest attacker of every generator reaches less than against a random warp of "
        "equal root mean square displacement, with the whole interval of the difference.",
        bad="no better than noise: the strongest attacker links {} as well as a random warp of "
        "equal root mean square displacement, or better, within the interval of the difference; "
        "among several generators, p after Holm must be below 0.05, too. "
        "What was learnt hides nobody."
        if equal
        else "no random warp of equal root mean square displacement stands beside: {}. Ask for it "
        f"with control: true in a protocol, or add --method {WARP}:rms=…, these pixels times "
        "2 / (size − 1), with controls, squarings and tone as the generator has them.",
        informative=untested,
        tested=not untested,
    )


def images_are_moved_alike(results: Results) -> Check | None:
    """A mean over all pairs hides that some images were left where they are."""
    found = [
        (title, moved.left)
        for title, method in results.titled
        if (moved := method.image.displacement_px) is not None and moved.left is not None
    ]
    return judged(
        "images are moved alike",
        found,
        [f"{title} ({left:.0%})" for title, left in found if left > FEW],
        good=f"hardly an image, at most {FEW:.0%}, moves less than a quarter as far as all do.",
        bad="left where they are, so that a mean says little of them: images of {} move less than "
        "a quarter as far as all do. They are linked as before, and how far an image moved may "
        "tell what it shows; with generator.drawn, take a larger share.",
    )


def _is_less(found: Difference, several: bool) -> bool:
    """With the whole interval; of one of ``several`` generators by p after Holm, too."""
    interval, p = found.difference.ci95, found.p_holm
    return (
        interval is not None and interval[1] < 0 and not (several and p is not None and p >= SURE)
    )


def _learnt(method: Method) -> bool:
    return method.steps is not None or method.converged is not None
