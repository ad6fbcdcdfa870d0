"""A published weight file becomes a model file: read, fit, checked, written."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from anonymize import __version__
from anonymize.convert.architectures import Settings, architecture_of, guess_kind, plain_names
from anonymize.convert.weight_file import read_weights
from anonymize.errors import ModelError, UsageError
from anonymize.fingerprint import sha256_file
from anonymize.model_card import Card
from anonymize.model_file import check_fit, save_tensors, shapes

COUNTER = "num_batches_tracked"  # torch < 0.4.1 did not save it; no evaluation reads it


def convert(source: Path, out: Path, *, kind: str = "auto", settings: Settings) -> Card:
    """Writes the weights that ``torch.save`` put into ``source`` as a model file; gives its card.

    Args:
        kind: one of ``architectures.KINDS``, or "auto".

    Raises:
        ModelError: anything but tensors in the file, or not those of the network.
        UsageError: a setting that is missing, superfluous or out of range; ``out`` is there.
    """
    if out.exists():
        raise UsageError(f"{out} is there already; delete it, or name another file")
    tensors = read_weights(source)
    found = shapes(tensors)
    try:
        kind = guess_kind(found) if kind == "auto" else kind
        theirs = plain_names(found, kind)
        plain = {name: found[their] for name, their in theirs.items()}
        built = architecture_of(kind, plain, settings)
    except ModelError as error:
        raise ModelError(f"weights {source} do not fit: {error}") from None
    expected = shapes(built.network.state_dict())
    ours = {f"{built.prefix}{plain}": tensors[name] for plain, name in theirs.items()}
    counters = {
        k: torch.zeros(shape, dtype=torch.int64)
        for k, shape in expected.items()
        if k.endswith(COUNTER) and k not in ours
    }
    check_fit(expected, shapes(ours | counters), source)
    state = _plain_numbers(ours, source) | counters
    origin = {"source": "converted", "sha256": sha256_file(source)}
    origin |= {"kind": kind, "by": f"anonymize {__version__}"}
    card = built.card.model_copy(update={"provenance": origin})
    save_tensors(state, {"card": card.model_dump_json()}, out)
    return card


def _plain_numbers(tensors: Mapping[str, Tensor], source: Path) -> dict[str, Tensor]:
    """Weights as finite float32, counters as int64."""
    found = {}
    for name, tensor in tensors.items():
        if tensor.is_floating_point() == name.endswith(COUNTER):
            raise ModelError(f"weights {source} do not fit: {name} is of type {tensor.dtype}")
        found[name] = tensor.long() if name.endswith(COUNTER) else tensor.float()
        if not torch.isfinite(found[name]).all():
            raise ModelError(f"weights {source} hold NaN or infinity in {name}")
    return found
