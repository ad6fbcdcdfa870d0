"""Any network of torchvision or timm with published weights, without its last layer."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

import torch
from torch import Tensor, nn

from anonymize.convert.weight_file import read_weights
from anonymize.errors import UsageError
from anonymize.model_file import check_fit, load_tensors
from anonymize.networks.backbones import IMAGENET_MEAN, IMAGENET_STD, torchvision_models

RANDOM = "random"  # weights of a network that learnt nothing
TIMM = "timm:"
COUNTER = "num_batches_tracked"  # not in every published file; no evaluation reads it
_DOTTED = re.compile(r"(denselayer\d+\.(?:norm|conv))\.(\d)\.")  # of torchvision's old files
_INITIALISED = ("googlenet", "inception_v3")  # warn unless they are told to be


class Pretrained(nn.Module):
    """Gray images (B, 1, H, W) in [0, 1] → features (B, D); in evaluation mode, without gradient.

    Args:
        network: three channels in, features out.
        mean, std: of the three channels it was trained on.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, network: nn.Module, mean: Iterable[float], std: Iterable[float]) -> None:
        super().__init__()
        self.network = network
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(name, torch.tensor(tuple(values)).view(1, 3, 1, 1))
        self.eval()

    @torch.no_grad()
    def forward(self, images: Tensor) -> Tensor:
        return self.network((images - self.mean) / self.std).flatten(1)


def pretrained(name: str, *, weights: str = "DEFAULT", file: Path | None = None) -> Pretrained:
    """The network ``name`` of torchvision, or ``timm:NAME``.

    Args:
        weights: the name of published weights, for timm their tag; "random": none.
        file: published weights in a file, instead of ``weights``; the last layer's are not read.

    Raises:
        UsageError: unknown network or weights, timm missing, or weights that cannot be fetched.
        ModelError: a file that cannot be read, or belongs to another network.
    """
    weights = RANDOM if file is not None else weights
    load = _of_timm if name.startswith(TIMM) else _of_torchvision
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return load(name.removeprefix(TIMM), weights, file)


def _of_torchvision(name: str, weights: str, file: Path | None) -> Pretrained:
    models = torchvision_models()
    known = models.list_models(module=models)
    if name not in known:
        raise _unknown(name, "torchvision", known)
    initialised = {"init_weights": True} if name in _INITIALISED and weights == RANDOM else {}
    try:
        network = models.get_model(
            name, weights=None if weights == RANDOM else weights, **initialised
        )
    except (KeyError, ValueError):
        found = ", ".join(w.name for w in models.get_model_weights(name))
        raise UsageError(f"{name} has the weights {found}; got {weights!r}") from None
    except OSError as error:
        raise _not_fetched(name, weights, error) from None
    head = [n for n, m in network.named_modules() if isinstance(m, nn.Linear | nn.Conv2d)][-1]
    parent, _, last = head.rpartition(".")
    setattr(network.get_submodule(parent), last, nn.Identity())
    if file is not None:
        _load(network, file, head=(head,))
    return Pretrained(network, IMAGENET_MEAN, IMAGENET_STD)


def _of_timm(name: str, weights: str, file: Path | None) -> Pretrained:
    torchvision_models()  # timm imports torchvision
    try:
        import timm
    except ImportError:
        raise UsageError(
            f"network {TIMM}{name} needs timm: pip install 'anonymize-cxr[timm]'"
        ) from None
    tagged = name if weights in ("DEFAULT", RANDOM) else f"{name}.{weights}"
    if not timm.is_model(tagged):
        raise _unknown(name, "timm", timm.list_models())
    try:
        network = timm.create_model(tagged, pretrained=weights != RANDOM)
    except OSError as error:
        raise _not_fetched(f"{TIMM}{name}", weights, error) from None
    except RuntimeError:
        found = [tag for full in timm.list_pretrained(name) if (tag := full.partition(".")[2])]
        listed = ", ".join(found) or "no published weights"
        raise UsageError(f"{TIMM}{name} has the weights {listed}; got {weights!r}") from None
    origin = network.pretrained_cfg
    network.reset_classifier(0)
    if file is not None:
        head = origin["classifier"]
        _load(network, file, head=(head,) if isinstance(head, str) else tuple(head))
    return Pretrained(network, origin["mean"], origin["std"])


def _load(network: nn.Module, file: Path, *, head: tuple[str, ...]) -> None:
    """Loads all weights but those of the last layer, which ``network`` has no more."""
    safe = file.suffix == ".safetensors"
    tensors = load_tensors(file)[0] if safe else read_weights(file)
    tensors = {
        _DOTTED.sub(r"\1\2.", name): tensor
        for name, tensor in tensors.items()
        if not name.startswith(tuple(f"{h}." for h in head)) and not name.endswith(COUNTER)
    }
    expected = {k: tuple(v.shape) for k, v in network.state_dict().items() if COUNTER not in k}
    check_fit(expected, {k: tuple(v.shape) for k, v in tensors.items()}, file)
    network.load_state_dict(tensors, strict=False)


def _unknown(name: str, library: str, known: list[str]) -> UsageError:
    close = get_close_matches(name, known, n=3)
    hint = f"did you mean {', '.join(close)}?" if close else f"it has {len(known)} others"
    return UsageError(f"{library} has no network {name!r}; {hint}")


def _not_fetched(name: str, weights: str, error: OSError) -> UsageError:
    return UsageError(
        f"the weights {weights} of {name} could not be fetched ({type(error).__name__}); go "
        "online, or give a file of them with --set evaluation.features.file=FILE"
    )
