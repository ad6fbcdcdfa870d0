"""Model files: safetensors with a JSON card in the header. No pickle is read or written."""

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor, nn

from anonymize import whole_file
from anonymize.errors import ModelError, printable
from anonymize.model_card import Card, opened

Shapes = Mapping[str, tuple[int, ...]]  # by key


def versions() -> dict[str, str]:
    """Versions that a result depends on."""
    import kornia

    from anonymize import __version__

    return {"anonymize": __version__, "torch": torch.__version__, "kornia": kornia.__version__}


def save_model(network: nn.Module, card: Card, path: Path) -> None:
    """Writes weights and card; the file appears whole or not at all."""
    state = {k: v.detach().cpu().contiguous() for k, v in network.state_dict().items()}
    save_tensors(state, {"card": card.model_dump_json()}, path)


def save_tensors(tensors: dict[str, Tensor], metadata: dict[str, str], path: Path) -> None:
    """A safetensors file that appears whole or not at all."""
    # safetensors' own save_file gives its owner alone the right to read it.
    whole_file.write(path, save(tensors, metadata))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file; ModelError where there is none."""
    with opened(path, "pt") as file:
        return {k: file.get_tensor(k) for k in file.keys()}, file.metadata() or {}  # noqa: SIM118


def load_weights(network: nn.Module, path: Path) -> None:
    """Loads the weights of ``path`` into ``network``; ModelError unless keys and shapes fit."""
    tensors, _ = load_tensors(path)
    check_fit(shapes(network.state_dict()), shapes(tensors), path)
    if not all(torch.isfinite(t).all() for t in tensors.values() if t.is_floating_point()):
        raise ModelError(f"weights {path} hold NaN or infinity")
    network.load_state_dict(tensors)


def check_buildable(build: Callable[[], nn.Module], path: Path) -> None:
    """Builds the network without memory for its weights and compares it with the file's.

    ModelError for other keys or shapes, or a network that cannot be: a card may ask for more than
    any memory holds.
    """
    try:
        with torch.device("meta"):
            network = build()
    except (RuntimeError, OverflowError, TypeError) as error:
        raise ModelError(
            f"the network that the card in {path} asks for cannot be built "
            f"({type(error).__name__}); use a model file of `anonymize train`"
        ) from None
    with opened(path, "pt") as file:
        found = {k: tuple(file.get_slice(k).get_shape()) for k in file.keys()}  # noqa: SIM118
    check_fit(shapes(network.state_dict()), found, path)


def shapes(tensors: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """By key."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def check_fit(expected: Shapes, found: Shapes, path: Path) -> None:
    """Raises ModelError unless the network expects the keys and shapes that are found in the file
    ``path``; it names the first that differs."""
    for key in sorted(expected.keys() ^ found.keys()):
        where = "missing in" if key in expected else "unknown to the network but in"
        raise ModelError(f"weights {path} do not fit: {printable(key)} is {where} the file")
    for key, shape in expected.items():
        if shape != found[key]:
            raise ModelError(
                f"weights {path} do not fit: {key} has shape {found[key]}, expected {shape}"
            )
