"""What an evaluation found, as entries of ``checks`` that say nothing about trust."""

from __future__ import annotations

from attacks.evaluation.published import published
from attacks.results import REAL, Check, Results

EQUAL = 0.01  # AUC by which the deformed images may read better than the real ones
FAR = 0.1  # AUC by which PriCheXy-Net must read better than DP-Pix for "much more"


def paper_order(results: Results) -> Check | None:
    """Utility in the order of the paper: real ≥ PriCheXy-Net ≫ DP-Pix, classifier frozen.

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
    if above and apart:
        message += " The order is the paper's."
    if not above:
        message += (
            f" The paper's order does not hold: deformed images read better than real ones by more "
            f"than {EQUAL}, which points to an unlucky or undertrained classifier."
        )
    if not apart:
        message += (
            f" The paper's order does not hold: PriCheXy-Net is not {FAR} above DP-Pix. Either the "
            "deformation costs more here, or pixelization less, or the classifier reads too little "
            "to lose anything."
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
        (method, method.utility.frozen.auc.mean, title)
        for title, method in zip(results.titles(), results.methods, strict=True)
        if method.name == name
        and method.utility.frozen is not None
        and method.utility.frozen.auc.mean is not None
    ]
    as_published = [(auc, title) for method, auc, title in of_name if published(method)]
    return as_published or [(auc, title) for _, auc, title in of_name]
