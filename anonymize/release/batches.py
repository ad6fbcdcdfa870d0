"""Specimens through the network and the warp, in order and in one thread.

One image at a time is the default: the last bits of a network's output depend on how many images
it sees at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from anonymize.release import transform
from anonymize.release.intake import Specimen, unexpected
from anonymize.release.read import Radiograph
from anonymize.release.reasons import Refused
from anonymize.release.transform import Figures


@dataclass(frozen=True)
class Moved:
    """An anonymized radiograph and how far it was moved."""

    radiograph: Radiograph
    figures: Figures
    displacement: Tensor | None = None  # for its labels


def anonymized(
    specimens: Iterable[Specimen],
    model: Anonymizer,
    *,
    batch_size: int = 1,
    device: torch.device | str = "cpu",
) -> Iterator[tuple[Specimen, Moved | Refused | None]]:
    """Each specimen with what was made of it, or why nothing was; None for those done already."""
    for group in same_size(specimens, batch_size):
        if group[0].radiograph is None:
            yield group[0], group[0].refusal
            continue
        for specimen, displacement in zip(group, _predicted(group, model, device), strict=True):
            if isinstance(displacement, Refused):
                yield specimen, displacement
                continue
            try:
                made = transform.anonymize(specimen.radiograph, displacement, model, device=device)
                yield specimen, Moved(*made, None if specimen.labels is None else displacement)
            except Refused as refusal:
                yield specimen, refusal
            except Exception as error:
                yield specimen, unexpected(error)


def same_size(specimens: Iterable[Specimen], most: int) -> Iterator[list[Specimen]]:
    """Runs of at most ``most`` radiographs of one size; what is no radiograph stands alone."""
    group: list[Specimen] = []
    for specimen in specimens:
        if group and (
            len(group) >= most
            or _size(specimen) is None
            or _size(group[0]) is None
            or _size(group[0]) != _size(specimen)
        ):
            yield group
            group = []
        group.append(specimen)
    if group:
        yield group


def _size(specimen: Specimen) -> tuple[int, ...] | None:
    return None if specimen.radiograph is None else specimen.radiograph.pixels.shape[:2]


def _predicted(
    group: list[Specimen], model: Anonymizer, device: torch.device | str
) -> list[Tensor | Refused | None]:
    """A displacement, a refusal, or None (a method without displacement) for each of ``group``."""
    try:
        views = torch.cat([transform.view(s.radiograph) for s in group])
        return transform.predict(model, views, device=device)
    except Exception as error:
        if len(group) > 1:  # one image must not take the others with it
            return [_predicted([s], model, device)[0] for s in group]
        return [error if isinstance(error, Refused) else unexpected(error)]
