"""The certificate's figures, counted on what was published."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anonymize.release.method import Method
from anonymize.release.sets.certificate import Certificate, is_plain
from anonymize.release.sets.in_common import in_common
from anonymize.release.sets.measured import SECRETS
from anonymize.release.sets.mixing import Mixed, Output
from anonymize.release.uniform import Uniform


def certificate_of(
    mixed: Mixed,
    published: Sequence[Output],
    others: Mapping[str, Any],
    labels: Sequence[str],
    method: Method,
    uniform: Uniform,
) -> Certificate:
    """The certificate of ``published``; ``others``: of its figures those that are not counted here,
    inputs, not_grouped, quarantined, left_out and measured."""
    groups: dict[int, np.ndarray] = {}
    for output in published:
        before = groups.get(output.group, np.zeros(0, np.int64))
        groups[output.group] = np.union1d(before, output.rows)
    people = [len(np.unique(mixed.patients[output.rows])) for output in published]
    members = [len(np.unique(mixed.patients[rows])) for rows in groups.values()]
    used = np.unique(np.concatenate([np.zeros(0, np.int64), *groups.values()]))
    outputs = [output.rows for output in published]
    shared = (
        in_common([*groups.values()], outputs, mixed.patients, mixed.targets, labels)
        if labels and outputs
        else None
    )
    plain = {k: v for k, v in method.options.items() if k not in SECRETS and is_plain((k, v))}
    return Certificate(
        method=method.name,
        options=plain,
        size=uniform.size,
        format=uniform.format,  # type: ignore[arg-type]  # Uniform admits these two
        released=len(used),
        outputs=len(published),
        patients=len(np.unique(mixed.patients[used])),
        groups=len(groups),
        people_per_output_asked=method.people,
        people_per_output_min=min(people, default=None),
        people_per_output_median=float(np.median(people)) if people else None,
        patients_per_group_min=min(members, default=None),
        labels=list(labels),
        in_common=shared,
        largest_share_of_an_image=method.shown,
        guess_at_most=method.guess,
        **others,
    )
