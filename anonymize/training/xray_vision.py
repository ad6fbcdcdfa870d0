"""Classifiers of torchxrayvision (Cohen et al. 2022) as ours, for ``--classifier xrv:NAME``.

Their DenseNet-121 is torchvision's with one input channel, in [−1024, 1024] at 224 px. Its weights
become a model file of the run, which needs torchxrayvision no more. Findings are matched by name;
their raw outputs are taken, before the calibration to 0.5 that changes no ranking.

Their weights are a pickled module that their own loader unpickles: code of their release is run.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

import torch

from anonymize.errors import ModelError, UsageError
from anonymize.networks.backbones import torchvision_models
from anonymize.networks.build import build_classifier
from anonymize.networks.chexnet import Classifier
from anonymize.options import ClassifierOptions

NETWORK = "densenet121-res224-"
OPTIONS = ClassifierOptions(architecture="densenet121-xrv", size=224)


def known_labels(name: str) -> tuple[str, ...]:
    """What the outputs of the weights ``name`` mean, in their order; "" for an unused output.

    Raises:
        UsageError: torchxrayvision is not installed, or has no such DenseNet-121.
    """
    urls = _library(name).models.model_urls
    names = sorted(n for n in urls if n.startswith(NETWORK))
    if name not in names:
        raise UsageError(f"classifier xrv:NAME must name one of {', '.join(names)}; got {name!r}")
    return tuple(urls[name]["labels"])


def check_labels(name: str, labels: Sequence[str], source: str) -> None:
    """Raises ModelError unless the weights ``name`` know every finding of the source."""
    known = known_labels(name)
    missing = [label for label in labels if label not in known]
    if missing:
        raise ModelError(
            f"classifier xrv:{name} does not know {', '.join(missing)} of source {source}; "
            f"it knows {', '.join(filter(None, known))}"
        )


def fetch(name: str) -> None:
    """Makes sure that the weights ``name`` are in torchxrayvision's cache.

    Raises:
        UsageError: they are not there and cannot be fetched.
    """
    known_labels(name)
    models = _library(name).models
    try:
        models.get_weights(name)
    except OSError as error:  # requests' errors are OSErrors
        url = models.model_urls[name]["weights_url"]
        raise UsageError(
            f"the weights xrv:{name} could not be fetched ({type(error).__name__}); go online, or "
            f"put {url.rpartition('/')[2]} into torchxrayvision's cache"
        ) from None


def xray_vision_classifier(name: str, labels: Sequence[str]) -> Classifier:
    """Their classifier with exactly ``labels`` as its outputs.

    Raises:
        UsageError: as :func:`fetch`; or a weight file that their loader does not read.
    """
    fetch(name)
    try:
        theirs = _library(name).models.DenseNet(weights=name)
    except Exception as error:  # whatever unpickling may raise
        raise UsageError(
            f"torchxrayvision cannot read its weights {name} ({type(error).__name__}); delete them "
            "from its cache, so that they are fetched again"
        ) from error
    known = known_labels(name)
    rows = torch.tensor([known.index(label) for label in labels])
    state = {k: v for k, v in theirs.state_dict().items() if k != "op_threshs"}
    state |= {k: v[rows] for k, v in state.items() if k.startswith("classifier.")}
    classifier = build_classifier(OPTIONS, len(labels))
    classifier.backbone.load_state_dict(state)
    return classifier.eval()


def library_version() -> str:
    """The version of torchxrayvision."""
    return _library("").__version__


def _library(name: str) -> ModuleType:
    torchvision_models()  # torchxrayvision imports torchvision without its workaround
    try:
        with warnings.catch_warnings():  # it silences all warnings for good
            return import_module("torchxrayvision")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"classifier xrv:{name} needs {error.name}; install it with "
            "pip install 'anonymize-cxr[xrv]'"
        ) from None
