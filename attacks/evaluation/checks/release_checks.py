"""Checks of the release itself, whichever attackers took part: real images in it, marks that no eye
sees, people whom it draws from, and painted findings."""

from attacks.evaluation.checks.judging import above_chance, in_short, judged
from attacks.results import Check, Results

COPIES = "no real image is in the release"
SEEN = "every output was seen"
PAINTED = "released images tell no more than real ones"
DONORS = "nobody whom a method draws from can be told"
MARKS = "no hidden mark links the release"
HIDDEN = 0.05  # AUC by which the lowest bits may link more than the strongest attacker
MORE = 0.1  # AUC by which a classifier may read released images better than real ones are read


def no_real_image_is_released(results: Results) -> Check | None:
    """A hash links an image that is passed through, and one of somebody else to that person."""
    measured = [
        (title, own, method.image.of_others)
        for title, method in results.titled_released
        if (own := method.image.untouched) is not None
    ]
    return judged(
        COPIES,
        measured,
        [
            f"{title} ({own:.1%} with the pixels of their original, {others or 0:.1%} with those "
            "of another patient's image)"
            for title, own, others in measured
            if own or others
        ],
        good="no released image has the pixels of a real one.",
        bad="real images are released: {}. A hash finds whose they are.",
    )


def every_output_is_seen(results: Results) -> Check | None:
    """An image stands for one output: of more outputs than images some are shown to nobody."""
    found = [(title, method.sets) for title, method in results.titled if method.sets]
    return judged(
        SEEN,
        found,
        [
            f"{title} ({made.outputs - made.unseen:,} of {made.outputs:,})"
            for title, made in found
            if made.unseen
        ],
        good="attackers and classifiers saw every output.",
        bad="attackers and classifiers saw some of the outputs: {}. Who has all of them may link "
        "more, and learn more; measure again, an evaluation shows all of them now.",
    )


def no_mark_links_the_release(results: Results) -> Check | None:
    """A watermark links whatever the images show; then the headline, of who found none, is too
    low."""
    found = [
        (title, method.image.marks, *method.strongest)
        for title, method in results.titled_released
        if method.image.marks is not None and method.strongest is not None
    ]
    return judged(
        MARKS,
        found,
        [
            f"{title} ({in_short(marks)}; {name} {attack.headline.auc.mean:.3f})"
            for title, marks, name, attack in found
            if marks.mean > attack.headline.auc.mean + HIDDEN
            if above_chance(marks)
        ],
        good="the lowest bits of released images link none by more than "
        f"{HIDDEN} of AUC better than its strongest attacker.",
        bad="the lowest bits of released images, which no eye sees, link better than the strongest "
        "attacker: {}. Whoever has one released image of a patient finds the others, so that the "
        "figure of that attacker is no privacy; add the attacker bit-planes.",
    )


def no_donor_is_told(results: Results) -> Check | None:
    """Whose images go into everybody's release has not been asked by it."""
    found = [
        (title, method.image.donors) for title, method in results.titled if method.image.donors
    ]
    return judged(
        DONORS,
        found,
        [f"{title} ({in_short(told)})" for title, told in found if above_chance(told)],
        good="no film that a method draws from is told from another by what it releases.",
        bad="who has a film of a person can tell whether it was drawn from: {}. These people must "
        "consent, or be public.",
    )


def released_images_tell_no_more(results: Results) -> Check | None:
    """What a classifier reads from released images beyond what real ones show was put there."""
    if results.real is None or (real := results.real.utility.mean("retrained")) is None:
        return None
    found = [
        (title, own.on_released.mean)
        for title, method in results.titled
        if (own := method.utility.retrained) is not None
        if own.on_released is not None and own.on_released.mean is not None
    ]
    return judged(
        PAINTED,
        found,
        [f"{title} ({auc:.3f})" for title, auc in found if auc > real + MORE],
        good=f"no classifier reads released images better than real ones by {MORE} of AUC.",
        bad=f"trained and tested on released images, a classifier reads more than the {real:.3f} "
        "that real images give: {}. The findings were put into the pixels; what is read there is "
        "the label, and no use of the image.",
    )
