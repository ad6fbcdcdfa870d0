"""Can the utility of this evaluation be read, and is it in the order of the paper?"""

from __future__ import annotations

from attacks.evaluation.judging import judged
from attacks.evaluation.published import published
from attacks.results import REAL, Check, Results

EQUAL = 0.01  # AUC by which the deformed images may read better than the real ones
FAR = 0.1  # AUC by which PriCheXy-Net must read better than DP-Pix for "much more"
INCONSISTENT = 0.05  # AUC by which retraining may cost
READS = 0.6  # mean AUC on real images below which utility cannot be read


def classifier_reads_real_images(results: Results) -> Check | None:
    """Utility lost by anonymization shows only where there was some."""
    if results.real is None or (frozen := results.real.utility.frozen) is None:
        return None
    mean = frozen.auc.mean
    value = "undefined" if mean is None else f"{mean:.3f}"
    return judged(
        "the classifier reads real images",
        [frozen],
        [value] if mean is None or mean < READS else [],
        good=f"mean AUC on real images: {value}.",
        bad=f"mean AUC on real images: {{}}, below {READS}. A classifier near chance has nothing "
        "to lose, so utility cannot be read; train it longer.",
    )


def retrained_classifier_is_no_worse(results: Results) -> Check | None:
    """A classifier trained on what it is tested for should not fall below one that was not."""
    both = [
        (title, retrained, frozen)
        for title, method in results.titled
        if (retrained := method.utility.mean("retrained")) is not None
        if (frozen := method.utility.mean("frozen")) is not None
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
    """A label without positives or negatives in the evaluated part has no AUC."""
    measured = [
        found.auc.per_class
        for m in results.methods
        for found in (m.utility.frozen, m.utility.retrained)
        if found is not None
    ]
    missing = dict.fromkeys(k for labels in measured for k, v in labels.items() if v is None)
    return judged(
        "every label occurs",
        measured,
        missing,
        good="every label is both present and absent in the evaluated images.",
        bad="without positives or without negatives, so left out of the mean AUC: {}.",
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


def _utility(results: Results, name: str) -> list[tuple[float, str]]:
    """Frozen AUC and title of every method ``name``, of the published options if there are any."""
    of_name = [
        (method, auc, title)
        for title, method in results.titled
        if method.name == name and (auc := method.utility.mean("frozen")) is not None
    ]
    as_published = [(auc, title) for method, auc, title in of_name if published(method)]
    return as_published or [(auc, title) for _, auc, title in of_name]
