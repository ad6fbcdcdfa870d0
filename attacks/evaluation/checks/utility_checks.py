"""Can the utility of this evaluation be read, and is it in the order of the paper?"""

from collections.abc import Sequence

from anonymize.statistics import BEARERS
from attacks.evaluation.checks.judging import judged
from attacks.evaluation.published import published
from attacks.measuring.estimates import LabelAuc
from attacks.results import REAL, Check, Results

EQUAL = 0.01  # AUC by which the deformed images may read better than the real ones
FAR = 0.1  # AUC by which PriCheXy-Net must read better than DP-Pix for "much more"
INCONSISTENT = 0.05  # AUC by which retraining may cost
READS = 0.6  # mean AUC on real images below which utility cannot be read
AGREE = 0.03  # AUC on real images by which frozen and retrained may differ
UNTOLD = 0.05  # AUC that findings held back may lose more than those told
HELD_BACK = "findings that methods were not told of"
REPEATS = 5  # independent trainings of each retrained classifier


def classifier_reads_real_images(results: Results) -> Check | None:
    """Utility lost by anonymization shows only where there was some."""
    if results.real is None or (frozen := results.real.utility.frozen) is None:
        return None
    mean = frozen.auc.mean
    value = "undefined" if mean is None else f"{mean:.3f}"
    if frozen.auc.ci95 is not None:
        value += " ({:.3f}–{:.3f})".format(*frozen.auc.ci95)
    low = mean is None or mean < READS
    why = f"below {READS}" if low else "no more than chance by its interval or the retrained one's"
    return judged(
        "the classifier reads real images",
        [frozen],
        [value] if low or not _above_chance(results) else [],
        good=f"mean AUC on real images: {value}.",
        bad=f"mean AUC on real images: {{}}, {why}. A classifier near chance has nothing to lose, "
        "so utility cannot be read; train it longer, or evaluate more images.",
    )


def readable(results: Results) -> bool | None:
    """Whether utility means anything on this data set; None where that was not measured.

    Real images released as they are make frozen and retrained the same experiment with other
    seeds: what differs there is noise, and so is as much elsewhere. And what reads no more than
    chance there, by its interval, has nothing to lose.
    """
    apart = _apart(results)
    if apart is None:
        return None
    frozen, retrained = apart
    if frozen is None or retrained is None:
        return False
    return abs(frozen - retrained) <= AGREE and frozen >= READS and _above_chance(results)


def _above_chance(results: Results) -> bool:
    """Whether what classifiers read in real images is shown to be more than chance."""
    assert results.real is not None
    read = (results.real.utility.auc(kind) for kind in ("frozen", "retrained"))
    return all(found is None or found.ci95 is None or found.ci95[0] > 0.5 for found in read)


def marked(results: Results) -> Results:
    """With `readable` said of every method whose utility was measured."""
    found = readable(results)
    methods = tuple(
        m.model_copy(update={"utility": m.utility.model_copy(update={"readable": found})})
        if m.utility.retrained is not None
        else m
        for m in results.methods
    )
    return results.model_copy(update={"methods": methods})


def frozen_and_retrained_agree(results: Results) -> Check | None:
    """On real images both are the same experiment but for their seeds."""
    apart = _apart(results)
    if apart is None:
        return None
    one, other = apart
    wide = one is None or other is None or abs(one - other) > AGREE
    frozen, retrained = ("undefined" if v is None else f"{v:.3f}" for v in apart)
    said = f"on real images the frozen classifier reaches {frozen}, the retrained one {retrained}"
    return judged(
        "frozen and retrained classifiers agree on real images",
        [apart],
        [said] if wide else [],
        good=f"{said}: utility can be read to about {AGREE} of AUC.",
        bad=f"utility cannot be read on this data set: {{}}, the same experiment but for the seed. "
        f"They may differ by {AGREE}; evaluate more images, or train more classifiers "
        "(evaluation.utility_repeats).",
    )


def classifiers_are_repeated(results: Results) -> Check | None:
    """What a retrained classifier reads depends on its seed."""
    runs = {
        title: len(found.auc.runs)
        for title, method in results.titled
        if (found := method.utility.retrained) is not None and found.auc.mean is not None
    }
    return judged(
        "the retrained classifier was trained often enough",
        runs,
        [f"{title} ({n})" for title, n in runs.items() if n < REPEATS],
        good=f"every retrained classifier was trained {REPEATS} times or more.",
        bad=f"fewer than {REPEATS} independent trainings, so that luck is not told apart from the "
        "release: {}. Raise evaluation.utility_repeats.",
    )


def findings_held_back_are_kept(results: Results) -> Check | None:
    """A finding: whether releases keep what their methods were not told of."""
    real = results.real and results.real.utility.retrained
    if not real or real.held_back is None:
        return None
    found, wrong = [], []
    for title, method in results.titled_released:
        released = method.utility.retrained
        if released is None:
            continue
        found.append(title)
        told, held = _lost(real.told, released.told), _lost(real.held_back, released.held_back)
        if told is None or held is None:
            wrong.append(f"{title} (undefined)")
        elif held > told + UNTOLD:
            wrong.append(f"{title} ({held:.3f}, told {told:.3f})")
    return judged(
        HELD_BACK,
        found,
        wrong,
        good=f"no release costs more than {UNTOLD} of AUC more on them than on those told.",
        bad="retrained, these lose more AUC on findings held back than on those told, or nobody "
        "can say: {}. Their utility is of what they were made to keep.",
        informative=True,
    )


def nothing_is_held_back(labels: Sequence[str]) -> Check:
    """Said where a share is asked for and there is no second label."""
    have = f"one label only ({labels[0]})" if labels else "no labels"
    return Check(
        name=HELD_BACK,
        passed=False,
        message=f"The data set has {have}, so none is held back, and utility is of what methods "
        "were told of.",
        informative=True,
    )


def release_beats_its_pool(results: Results) -> Check | None:
    """Images of others that a method draws from may alone teach all that its release does."""
    found, worse = [], []
    for title, method in results.titled:
        if method.utility.pool_only is None:
            continue
        found.append(title)
        retrained, control = (method.utility.mean(k) for k in ("retrained", "pool_only"))
        if control is None or retrained is None:
            worse.append(f"{title} (one is undefined)")
        elif (sure := method.utility.over_pool) is not None and sure.ci95 is not None:
            if sure.ci95[0] <= 0:
                more = f"{sure.mean:+.3f}, 95 % {sure.ci95[0]:+.3f} to {sure.ci95[1]:+.3f}"
                worse.append(f"{title} ({retrained:.3f}, pool alone {control:.3f}; {more})")
        elif retrained <= control:
            worse.append(f"{title} ({retrained:.3f}, pool alone {control:.3f})")
    return judged(
        "the release tells more than the images it draws from",
        found,
        worse,
        good="every retrained classifier surpasses one of the method's pool alone, for sure.",
        bad="not shown to be better than a classifier of the method's pool, without any release: "
        "{}. Its utility is that of images of others.",
    )


def retrained_classifier_is_no_worse(results: Results) -> Check | None:
    """A classifier trained on what it is tested for should not fall below one that was not."""
    both = [
        (title, retrained, frozen.mean)
        for title, method in results.titled
        if (retrained := method.utility.mean("retrained")) is not None
        if (frozen := method.frozen) is not None and frozen.mean is not None
    ]
    return judged(
        "the retrained classifier is no worse than the frozen one",
        both,
        [f"{t} ({r:.3f} against {f:.3f})" for t, r, f in both if r < f - INCONSISTENT],
        good=f"retraining never costs more than {INCONSISTENT} of AUC.",
        bad="worse by more than " + str(INCONSISTENT) + ": {}. It is probably undertrained, and "
        "the utility of the released images higher than shown.",
    )


def labels_have_both_values(results: Results) -> Check | None:
    """A label that hardly anybody in the evaluated part has, or has not, has no AUC."""
    measured = [
        (label, title, auc)
        for title, method in results.titled
        for found in (method.utility.frozen, method.utility.retrained)
        if found is not None
        for label, auc in found.auc.per_class.items()
    ]
    missing: dict[str, dict[str, None]] = {}
    for label, title, auc in measured:
        if auc is None:
            missing.setdefault(label, {})[title] = None
    all_of = {title for title, method in results.titled if method.name == REAL}
    some = {
        label: "" if all_of & {*titles} else f" (among those released by {', '.join(titles)})"
        for label, titles in missing.items()
    }
    return judged(
        "every label occurs",
        measured,
        [f"{label}{whose}" for label, whose in some.items()],
        good=f"every label is that of {BEARERS} evaluated patients or more, and not of as many.",
        bad=f"borne, or lacked, by fewer than {BEARERS} evaluated patients, too few to say how "
        "sure it is, so left out of the mean AUC: {}.",
        most=14,
    )


def paper_order(results: Results) -> Check | None:
    """A finding: utility in the paper's order, real ≥ PriCheXy-Net ≫ DP-Pix, classifier frozen.

    Methods at the published options count where there are any; None where one of the three is
    missing.
    """
    found = {name: _utility(results, name) for name in (REAL, "prichexy-net", "dp-pix")}
    if not all(found.values()):
        return None
    (real, _), *_ = found[REAL]
    best, worst = max(found["prichexy-net"]), min(found["prichexy-net"])
    pixelized = max(found["dp-pix"])
    above, apart = real >= best[0] - EQUAL, worst[0] - pixelized[0] >= FAR
    ends = dict.fromkeys(f"{auc:.3f} ({title})" for auc, title in (worst, best))
    figures = (
        f"real images {real:.3f}, PriCheXy-Net {' to '.join(ends)}, "
        f"DP-Pix at most {pixelized[0]:.3f} ({pixelized[1]})"
    )
    message = f"Mean classification AUC, classifier frozen: {figures}."
    wrong = " The paper's order does not hold: "
    if above and apart:
        message += " The order is the paper's."
    if not above:
        message += (
            f"{wrong}deformed images read better than real ones by more than {EQUAL}, which points "
            "to an unlucky or undertrained classifier."
        )
    if not apart:
        message += (
            f"{wrong}PriCheXy-Net is not {FAR} above DP-Pix. Either the deformation costs more "
            "here, or pixelization less, or the classifier reads too little to lose anything."
        )
    return Check(
        name="utility is in the order that the paper reports",
        passed=above and apart,
        message=message,
        informative=True,
    )


def _apart(results: Results) -> tuple[float | None, float | None] | None:
    """AUC on real images, frozen and retrained; None where either was not measured."""
    if results.real is None:
        return None
    found = results.real.utility
    if found.frozen is None or found.retrained is None:
        return None
    return found.frozen.auc.mean, found.retrained.auc.mean


def _lost(real: LabelAuc | None, released: LabelAuc | None) -> float | None:
    """AUC that the release costs; None where either has none."""
    before, after = (found.mean if found else None for found in (real, released))
    return None if before is None or after is None else before - after


def _utility(results: Results, name: str) -> list[tuple[float, str]]:
    """Frozen AUC and title of every method ``name``, of the published options if there are any."""
    of_name = [
        (method, auc, title)
        for title, method in results.titled
        if method.name == name and (auc := method.utility.mean("frozen")) is not None
    ]
    as_published = [(auc, title) for method, auc, title in of_name if published(method)]
    return as_published or [(auc, title) for _, auc, title in of_name]
