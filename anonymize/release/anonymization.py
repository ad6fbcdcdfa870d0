"""Candidates through the network and the warp, in order, each in one thread.

One image at a time is the default: the last bits of a network's output depend on how many images
it sees at once, and on how many threads compute it.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.inference import one_thread
from anonymize.release import movement, transform
from anonymize.release.figures import Figures
from anonymize.release.intake import Candidate
from anonymize.release.movement import Probe
from anonymize.release.options import ReleaseOptions
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused, as_refusal
from anonymize.release.workers.worker_pool import WorkerPool
from anonymize.sparing import taper


@dataclass(frozen=True)
class AnonymizedImage:
    """An anonymized radiograph and how far it was moved."""

    radiograph: Radiograph
    figures: Figures
    probe: Probe
    displacement: Tensor | None = None  # for its labels
    unfit: str = ""  # why the method's strength does not fit its size


Outcome = tuple[Candidate, AnonymizedImage | Refused | None]


def anonymize_all(
    candidates: Iterable[Candidate], model: Anonymizer, options: ReleaseOptions, pool: WorkerPool
) -> Iterator[Outcome]:
    """Each candidate with what was made of it, or why nothing was; None for those done already.

    On a CPU as many threads compute as there are workers, where the ``model`` can bear it.
    """
    beside = model.is_concurrent and torch.device(options.device).type == "cpu"
    threads = options.workers if beside else 1
    groups = same_size(candidates, options.batch_size)
    calls = (partial(_of_one_size, group, model, options) for group in groups)
    alone = partial(torch.set_num_threads, 1)
    with one_thread(), ThreadPoolExecutor(threads, initializer=alone) as own:
        for outcomes in pool.in_order(
            calls, window=threads, weight=_memory, most=options.limits.memory, threads=own
        ):
            yield from outcomes


def _memory(outcomes: list[Outcome]) -> int:
    seen = (candidate.radiograph for candidate, _ in outcomes)
    return sum(transform.memory(radiograph) for radiograph in seen if radiograph is not None)


def _of_one_size(
    group: list[Candidate], model: Anonymizer, options: ReleaseOptions
) -> list[Outcome]:
    device = options.device
    seen = [c.radiograph for c in group if c.radiograph is not None]
    if not seen:
        return [(group[0], group[0].refusal)]
    unfit = model.unfit(*seen[0].pixels.shape[:2])
    refusal = Refused(Reason.UNFIT_SIZE, unfit) if unfit and options.strict else None
    if max(map(transform.memory, seen)) > options.limits.memory:
        refusal = Refused(Reason.MEMORY, "of the release itself")
    if refusal is not None:
        return [(candidate, refusal) for candidate in group]
    found: list[Outcome] = []
    for candidate, displacement in zip(group, _predicted(seen, model, device), strict=True):
        if isinstance(displacement, Refused):
            found.append((candidate, displacement))
            continue
        try:
            made = _anonymized(candidate, displacement, model, device, unfit)
            found.append((candidate, made))
        except Exception as error:
            found.append((candidate, as_refusal(error)))
    return found


def _anonymized(
    candidate: Candidate,
    displacement: Tensor | None,
    model: Anonymizer,
    device: torch.device | str,
    unfit: str,
) -> AnonymizedImage:
    """Raises Refused as :func:`transform.anonymize`; where the method cannot spare a region."""
    radiograph, spared, moved, tone = candidate.radiograph, candidate.spared, None, None
    assert radiograph is not None
    if displacement is not None:
        tone = transform.tone_of(model, radiograph, device=device)
        if spared is not None:
            kept = taper(spared.boxes, radiograph.pixels.shape[:2], spared.margin)
            displacement, tone = kept * displacement, None if tone is None else kept[0, 0] * tone
        moved = flow.pixels(displacement)[0].numpy()
    elif spared is not None:
        raise Refused(Reason.LABELS, "--spare needs a method that deforms")
    made, figures = transform.anonymize(radiograph, displacement, model, tone=tone, device=device)
    probe = movement.probe(made.pixels, moved, None if tone is None else tone.numpy())
    of_labels = None if candidate.labels is None else displacement
    return AnonymizedImage(made, figures, probe, of_labels, unfit)


def same_size(candidates: Iterable[Candidate], most: int) -> Iterator[list[Candidate]]:
    """Runs of at most ``most`` radiographs of one size; what is no radiograph stands alone."""
    group: list[Candidate] = []
    for candidate in candidates:
        size = _size(candidate)
        if group and (len(group) >= most or size is None or size != _size(group[0])):
            yield group
            group = []
        group.append(candidate)
    if group:
        yield group


def _size(candidate: Candidate) -> tuple[int, ...] | None:
    return None if candidate.radiograph is None else candidate.radiograph.pixels.shape[:2]


def _predicted(
    group: list[Radiograph], model: Anonymizer, device: torch.device | str
) -> Sequence[Tensor | Refused | None]:
    """A displacement, a refusal, or None (a method without displacement) for each of ``group``."""
    try:
        views = torch.cat([transform.view(radiograph) for radiograph in group])
        return transform.predict(model, views, device=device)
    except Exception as error:
        if len(group) > 1:  # one image must not take the others with it
            return [_predicted([radiograph], model, device)[0] for radiograph in group]
        return [as_refusal(error)]
