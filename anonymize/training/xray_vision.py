"""Classifiers of torchxrayvision (Cohen et al. 2022) as ours, for ``--classifier xrv:NAME``.

Their DenseNet-121 is torchvision's with one input channel, in [−1024, 1024] at 224 px. Its weights
become a model file of the run, which needs torchxrayvision no more. Findings are matched by name;
their raw outputs are taken, before the calibration to 0.5 that changes no ranking.

Their weights are a pickled module that their own loader unpickles: code of their release is run.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import torch

from anonymize.data.table import Table
from anonymize.errors import ModelError, UsageError
from anonymize.model_card import Card
from anonymize.model_file import save_model, versions
from anonymize.networks.backbones import torchvision_models
from anonymize.networks.build import build_classifier
from anonymize.networks.chexnet import Classifier
from anonymize.options import ClassifierOptions

NETWORK = "densenet121-res224-"
OPTIONS = ClassifierOptions(architecture="densenet121-xrv", size=224)


@dataclass(frozen=True)
class XRayVision:
    """A classifier that is given by the name of its weights.

    All raise UsageError where torchxrayvision is not installed, or has no such DenseNet-121.
    """

    name: str

    @property
    def labels(self) -> tuple[str, ...]:
        """What its outputs mean, in their order; "" for an unused output."""
        urls = self._models.model_urls
        names = sorted(n for n in urls if n.startswith(NETWORK))
        if self.name not in names:
            raise UsageError(
                f"classifier xrv:NAME must name one of {', '.join(names)}; got {self.name!r}"
            )
        return tuple(urls[self.name]["labels"])

    def check(self) -> None:
        """Fetches the weights into torchxrayvision's cache; UsageError where that fails."""
        assert self.labels
        models = self._models
        try:
            models.get_weights(self.name)
        except OSError as error:  # requests' errors are OSErrors
            url = models.model_urls[self.name]["weights_url"]
            raise UsageError(
                f"the weights xrv:{self.name} could not be fetched ({type(error).__name__}); go "
                f"online, or put {url.rpartition('/')[2]} into torchxrayvision's cache"
            ) from None

    def check_labels(self, table: Table) -> None:
        """Raises ModelError unless it knows every finding of the table."""
        missing = [label for label in table.labels if label not in self.labels]
        if missing:
            raise ModelError(
                f"classifier xrv:{self.name} does not know {', '.join(missing)} of source "
                f"{table.source}; it knows {', '.join(filter(None, self.labels))}"
            )

    def network(self, labels: Sequence[str]) -> Classifier:
        """With exactly ``labels`` as its outputs; UsageError where its weights are not readable."""
        self.check()
        try:
            theirs = self._models.DenseNet(weights=self.name)
        except Exception as error:  # whatever unpickling may raise
            raise UsageError(
                f"torchxrayvision cannot read its weights {self.name} ({type(error).__name__}); "
                "delete them from its cache, so that they are fetched again"
            ) from error
        rows = torch.tensor([self.labels.index(label) for label in labels])
        state = {k: v for k, v in theirs.state_dict().items() if k != "op_threshs"}
        state |= {k: v[rows] for k, v in state.items() if k.startswith("classifier.")}
        classifier = build_classifier(OPTIONS, len(labels))
        classifier.backbone.load_state_dict(state)
        return classifier.eval()

    def write(self, path: Path, table: Table) -> None:
        """Writes it as a model file."""
        card = Card(
            kind="classifier",
            architecture=OPTIONS.model_dump(),
            size=OPTIONS.size,
            labels=list(table.labels),
            versions=versions() | {"torchxrayvision": _library(self.name).__version__},
            provenance={"source": "torchxrayvision", "weights": self.name},
        )
        save_model(self.network(table.labels), card, path)

    @property
    def _models(self) -> ModuleType:
        return _library(self.name).models


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
