"""What the game does, measured each epoch on validation pairs: to the displacement field, and to
verifiers of three kinds.

The published program reports the losses alone. They do not show whether the field follows the
classifier or the verifier, whether it has met its bound, or whether anybody but the verifier of the
game is misled.
"""

import copy
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from anonymize import flow
from anonymize.data.batches import in_batches
from anonymize.networks.siamese import Siamese
from anonymize.options import AdversarialOptions
from anonymize.trained import Generator
from anonymize.training.compute import Compute
from anonymize.training.fresh_attacker import FreshAttacker, Released
from anonymize.training.loop import Figures
from anonymize.training.stages import Paired, match

AT_ONCE = 32  # pairs whose gradients one process finds, however many train

# From anonymized first images (B, 1, H, W) of validation pairs, and which pairs these are (B,), to
# "auxiliary" and "verification": the means over the batch that the generator minimises the sum of.
Terms = Callable[[Tensor, np.ndarray], Mapping[str, Tensor]]


class Watched(NamedTuple):
    """Generator and verifier as they are at the beginning of the game; the verifier is copied."""

    generator: Generator
    verifier: Siamese
    terms: Terms


class Observer:
    """Figures of an epoch; the networks are in evaluation mode, and stay as they are."""

    def __init__(
        self,
        watched: Watched,
        options: AdversarialOptions,
        data: Paired,
        targets: np.ndarray,
        compute: Compute,
    ) -> None:
        self.generator, self.terms = watched.generator, watched.terms
        self.pretrained = copy.deepcopy(watched.verifier).eval().requires_grad_(False)
        self.options, self.data, self.targets = options, data, targets
        self.device = compute.device
        self.batch = max(2, min(AT_ONCE, options.batch // compute.accumulation))

    def figures(self, epoch: int) -> Figures:
        """Of the epoch with this number (from 1); what cannot be measured is not among them.

        ``pretrained_verifier_auc``: of the verifier that real images taught.
        ``auxiliary_gradient``, ``verification_gradient``: see :func:`gradients`.
        ``rms_px`` to ``smallest_jacobian``: see :func:`movement`.
        ``attacker_auc``, ``attacker_auc_real``: of a fresh attacker, and of one on real images.
        """
        data = self.data
        released = Released(self.generator, data.first, self.device)
        logits = match(self.pretrained, released, data.second, data.validation, self.device)
        found = {"pretrained_verifier_auc": float(roc_auc_score(data.validation.same, logits))}
        return found | self._of_the_field() | self._of_a_fresh_attacker(released, epoch)

    def _of_the_field(self) -> Figures:
        """Gradients and movement, on pairs evenly taken from genuine and impostor ones, mixed."""
        pairs = self.data.validation
        count = min(self.options.course.pairs, len(pairs))
        even = np.linspace(0, len(pairs) - 1, count).round().astype(int)
        chosen = np.random.default_rng(0).permutation(even)
        fields, slopes = [], []
        for batch in in_batches(chosen, self.batch):
            first = self.data.first.batch(pairs.first[batch]).to(self.device)
            field = self.generator.displacement(first)
            if field is None:
                return {}
            slopes.append(self._slopes(field, first, batch))
            fields.append(field)
        if not fields:
            return {}
        bound = self.generator.bound(fields[0].shape[-1])
        return gradients(slopes) | movement(fields, bound=bound, frame=self.generator.frame)

    def _slopes(self, field: Tensor, first: Tensor, chosen: np.ndarray) -> tuple[Tensor, Tensor]:
        """Gradients (B, 2, H, W) of each pair's own L_aux and L_ver by its field."""
        with torch.enable_grad():
            field = field.detach().requires_grad_()
            terms = self.terms(self.generator.displaced(first, field), chosen)
            auxiliary, verification = (
                torch.autograd.grad(terms[name], field, retain_graph=True)[0] * len(first)
                for name in ("auxiliary", "verification")
            )
        return auxiliary, verification

    def _of_a_fresh_attacker(self, released: Released, epoch: int) -> Figures:
        every = self.options.course.attacker_every
        if not every or (epoch % every and epoch != self.options.epochs):
            return {}
        if not self._attacker.measurable:
            return {}
        auc = self._attacker.auc(released)
        return {"attacker_auc": auc, "attacker_auc_real": self._on_real}

    @cached_property
    def _attacker(self) -> FreshAttacker:
        most = self.options.course.attacker_images
        return FreshAttacker(self.data, self.targets, most=most, device=self.device)

    @cached_property
    def _on_real(self) -> float:
        return self._attacker.auc(self.data.first)


def gradients(slopes: list[tuple[Tensor, Tensor]]) -> Figures:
    """How the two terms of Eq. 4 pull at the field: gradients (B, 2, H, W) of each pair's own L_aux
    and own L_ver, the latter times its weight, by its field in units of [−1, 1].

    ``auxiliary_gradient``, ``verification_gradient``: root mean square over the pairs of their
    norms; ``gradient_cosine`` of the two over all pairs, −1 where they pull against each other,
    left out where one of them vanishes.
    """
    pairs = sum(len(a) for a, _ in slopes)
    of_a, of_v, both = (
        sum(float((x.double() * y).sum()) for x, y in products)
        for products in ([(a, a) for a, _ in slopes], [(v, v) for _, v in slopes], slopes)
    )
    found = {
        "auxiliary_gradient": math.sqrt(of_a / pairs),
        "verification_gradient": math.sqrt(of_v / pairs),
    }
    if of_a and of_v:
        found["gradient_cosine"] = both / math.sqrt(of_a * of_v)
    return found


def movement(fields: list[Tensor], *, bound: float | None = None, frame: int = 0) -> Figures:
    """How far the fields (B, 2, H, W) move, and whether they fold.

    ``rms_px``, ``largest_px``: of the lengths in pixels. ``rms_share``, ``largest_share``: of the
    components, as a share of their ``bound``, where there is one. ``folded_share`` of the pixels,
    and ``smallest_jacobian``. ``frame`` pixels at each edge are left out.
    """
    inner = slice(frame, -frame or None)
    own = torch.cat([field[..., inner, inner] for field in fields])
    height, width = fields[0].shape[-2:]
    length = flow.magnitude(flow.pixels(own, (height, width)))
    jacobian = flow.jacobian_determinant(own, (height, width))
    found = {
        "rms_px": float(length.square().mean().sqrt()),
        "largest_px": float(length.max()),
        "folded_share": float((jacobian <= 0).float().mean()),
        "smallest_jacobian": float(jacobian.min()),
    }
    if bound:
        found["rms_share"] = float(own.square().mean().sqrt()) / bound
        found["largest_share"] = float(own.abs().max()) / bound
    return found
