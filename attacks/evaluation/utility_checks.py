"""Can the utility of this evaluation be read?"""

from __future__ import annotations

from attacks.evaluation.judging import judged, titled
from attacks.results import Check, Results

INCONSISTENT = 0.05  # AUC by which retraining may cost
READS = 0.6  # mean AUC on real images below which utility cannot be read


def classifier_reads_real_images(results: Results) -> Check | None:
    """Utility lost by anonymization shows only where there was some."""
    if results.real is None or (frozen := results.real.utility.frozen) is None:
        return None
    mean = frozen.auc.mean
    value = "undefined" if mean is None else f"{mean:.3f}"
    return Check(
        name="the classifier reads real images",
        passed=mean is not None and mean >= READS,
        message=f"Mean AUC on real images: {value}."
        if mean is not None and mean >= READS
        else f"Mean AUC on real images: {value}, below {READS}. A classifier near chance has "
        "nothing to lose, so utility cannot be read; train it longer.",
    )


def retrained_classifier_is_no_worse(results: Results) -> Check | None:
    """A classifier trained on what it is tested for should not fall below one that was not."""
    both = [
        (title, m.utility.retrained.auc.mean, m.utility.frozen.auc.mean)
        for title, m in titled(results)
        if m.utility.retrained is not None and m.utility.frozen is not None
        if m.utility.retrained.auc.mean is not None and m.utility.frozen.auc.mean is not None
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
