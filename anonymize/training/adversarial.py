"""The min–max game (Packhäuser et al. 2023, Section 2.2): generator against verifier.

Per batch of pairs (x1, x2), of which only x1 is anonymized: one step of the generator with the
others in evaluation mode, one of the verifier, and one of the classifier if it is updated, each
with the images that the generator made before its step.
"""

import copy
import math
from collections import defaultdict
from typing import NamedTuple

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from anonymize.data.batches import in_batches
from anonymize.data.pairs import Pairs
from anonymize.networks.chexnet import Classifier
from anonymize.networks.siamese import Siamese
from anonymize.options import AdversarialOptions
from anonymize.trained import Generator
from anonymize.training.balance import Terms
from anonymize.training.compute import Compute, Part
from anonymize.training.course import ATTACKER, plateaued
from anonymize.training.lessons import Lessons, Replay
from anonymize.training.loop import Figures, History, Mean, SteppedStage
from anonymize.training.losses import auxiliary_loss
from anonymize.training.objective import Batch, Objective, kinships, known_share
from anonymize.training.observed import Observer, Watched
from anonymize.training.opponents import Lesson, Opponent, Verifier
from anonymize.training.stages import EVALUATION_BATCH, Paired


class Players(NamedTuple):
    """The networks of the game; only the generator's best epoch is kept."""

    generator: Generator
    verifier: Siamese
    classifier: Classifier
    opponents: tuple[Opponent, ...] = ()  # beside the verifier


class AdversarialStage(SteppedStage):
    """Generator, verifier and classifier; the generator's best epoch is the result. ``targets`` are
    float32 (images, labels), NaN where unknown."""

    name = "adversarial"
    network: Generator

    def __init__(
        self,
        players: Players,
        options: AdversarialOptions,
        data: Paired,
        targets: np.ndarray,
        *,
        compute: Compute,
    ) -> None:
        self.epochs, self.patience = options.epochs, options.patience
        self.options, self.data, self.targets = options, data, targets
        self.compute, self.device = compute, compute.device
        self.network = compute.ready(players.generator)
        self.verifier = compute.ready(players.verifier)
        self.classifier = compute.ready(players.classifier)
        self.opponents = (Verifier(players.verifier), *map(compute.ready, players.opponents))
        self.objective = Objective(options, players.classifier, self.opponents, compute)
        self.modules = {"generator": players.generator}
        self.optimizers = {"generator": compute.adam(players.generator, options.rate)}
        self._add_learners()
        # Of the published game alone each step does what every other one does.
        kind = (options.verification_loss, options.opponent_pairs, options.balance)
        changing = options.opponents or options.replay or options.opponent_reset
        published = kind == ("all", "released-real", "fixed") and not changing
        self.recordable = published and players.generator.recordable
        self.penalised = False  # whether the method has a term of its own
        watched = Watched(players.generator, players.verifier, self._terms)
        self.observer = Observer(watched, options, data, targets, compute)

    def _add_learners(self) -> None:
        """Everything that learns or moves beside the generator."""
        o = self.options
        if o.verifier == "updated":
            for opponent in self.opponents:
                published = opponent.name == "verifier"
                self.modules[opponent.name] = opponent.learner
                rate = o.verifier_rate if published else o.opponent_rate
                self.optimizers[opponent.name] = self.compute.adam(opponent.learner, rate)
        if o.auxiliary == "updated":
            self.modules["classifier"] = self.classifier
            self.optimizers["classifier"] = torch.optim.SGD(
                self.classifier.parameters(),
                lr=o.auxiliary_rate,
                momentum=o.auxiliary_momentum,
                weight_decay=o.auxiliary_weight_decay,
            )
        self.beginning = {
            opponent.name: copy.deepcopy(opponent.learner.state_dict())
            for opponent in self.opponents
            if o.opponent_reset
        }
        self.replay = Replay(self.network, o.replay) if o.replay else None
        if self.replay is not None:
            self.modules["replay"] = self.replay
        if self.objective.balance.moves:
            self.modules["balance"] = self.objective.balance

    def train_epoch(self, seed: int) -> Figures:
        found = super().train_epoch(seed)
        return {**found, **self.objective.balance.figures(), "steps": self.steps}

    def begin(self, seed: int) -> np.ndarray:
        """Opponents that start again, do; the generator as it is now may be replayed."""
        self.network.redraw(seed)
        reset = self.options.opponent_reset
        if reset and self.epoch and self.epoch % reset == 0:
            for opponent in self.opponents:
                opponent.learner.load_state_dict(self.beginning[opponent.name])
                self.optimizers[opponent.name].state.clear()
        if self.replay is not None:
            self.replay.keep(self.network, self.epoch)
            self.replay.redraw(seed)
        self.pairs, self.steps = self.data.pairs(seed), 0
        many, epoch = len(self.pairs), self.epoch
        self.lessons = Lessons(self.options, self.replay, pairs=many, epoch=epoch, seed=seed)
        return np.arange(many)

    def inputs(self, part: Part) -> tuple[Tensor, ...]:
        *tensors, _ = self._batch(self.pairs, part.rows, part)
        return tuple(tensors)

    def gradients(self, part: Part, *inputs: Tensor) -> dict[str, Tensor]:
        """Of everybody who learns."""
        batch = Batch._make((*inputs, part))
        anonymized, losses = self._generator_gradients(batch, part)
        losses |= self._opponents_gradients(anonymized, batch)
        if "classifier" in self.modules:
            self._classifier_gradients(anonymized, batch, part.weight)
        return losses

    def stepped(self) -> None:
        self.objective.balance.step(self.compute)
        self.steps += 1

    def validate(self) -> Figures:
        self.classifier.eval()
        for opponent in self.opponents:
            opponent.eval()
        means: dict[str, Mean] = defaultdict(Mean)
        logits, pairs, change = [], self._validation_pairs(), Mean()
        for chosen in in_batches(np.arange(len(pairs)), EVALUATION_BATCH):
            batch = self._batch(pairs, chosen)
            _, once, again = np.unique(pairs.first[chosen], return_index=True, return_inverse=True)
            anonymized, output = self._anonymized(batch.first[once])
            anonymized = anonymized[again]
            embedded = [o.pair(anonymized, batch.second) for o in self.opponents]
            logits.append([o.compare(*z) for o, z in zip(self.opponents, embedded, strict=True)])
            change.add((anonymized - batch.first).square().mean(), len(chosen))
            terms = self.objective.terms(anonymized, embedded, batch)
            for name, loss in self._losses(terms, self.objective.balance.verdict, output).items():
                means[name].add(loss, len(chosen))
        aucs = {
            f"{opponent.name}_auc": float(roc_auc_score(pairs.same, torch.cat(own).cpu().numpy()))
            for opponent, own in zip(self.opponents, zip(*logits, strict=True), strict=True)
        }
        found = {name: mean.value for name, mean in means.items()}
        return {**found, **aucs, "change": math.sqrt(change.value)}

    def _terms(self, anonymized: Tensor, chosen: np.ndarray) -> dict[str, Tensor]:
        """L_aux and L_ver as they are added up in Eq. 4, of validation pairs."""
        batch = self._batch(self.data.validation, chosen)
        embedded = [o.pair(anonymized, batch.second) for o in self.opponents]
        terms = self.objective.terms(anonymized, embedded, batch)
        weights = zip(("auxiliary", "verification"), self.objective.balance.weights, strict=True)
        return {name: weight * getattr(terms, name) for name, weight in weights}

    def observe(self) -> Figures:
        return self.observer.figures(self.epoch + 1)

    def best(self, history: History) -> int:
        if self.options.best == "loss":
            return super().best(history)
        attacked = [i for i, line in enumerate(history) if ATTACKER in line]
        if self.options.best == "last" or not attacked:
            return len(history) - 1
        return min(attacked, key=lambda i: history[i][ATTACKER])

    def settled(self, history: History) -> bool:
        return super().settled(history) or plateaued(history, self.options.course)

    def _validation_pairs(self) -> Pairs:
        """In their order, or mixed where a batch must hold genuine and impostor pairs."""
        pairs = self.data.validation
        if self.options.verification_loss == "all":
            return pairs
        order = np.random.default_rng(0).permutation(len(pairs))
        return Pairs(pairs.first[order], pairs.second[order], pairs.same[order])

    def _batch(self, pairs: Pairs, chosen: np.ndarray, part: Part | None = None) -> Batch:
        rows = chosen if part is None else np.concatenate(part.shares)
        genuine, impostor = kinships(pairs, rows, self.data.patients)
        whole = chosen if part is None else part.batch
        put = self.compute.put
        return Batch(
            put(self.data.first.batch(pairs.first[chosen])),
            put(self.data.second.batch(pairs.second[chosen])),
            put(torch.from_numpy(pairs.same[chosen])),
            put(torch.from_numpy(self.targets[pairs.first[chosen]])),
            put(genuine),
            put(impostor),
            put(known_share(self.targets[pairs.first[whole]], len(chosen))),
            part,
        )

    def _losses(self, terms: Terms, total, output: Tensor) -> dict[str, Tensor]:
        """Figures of one part: Eq. 4 and its two terms, Eq. 2 and 3, and the method's own."""
        losses = {
            "loss": total(terms),
            "auxiliary": terms.auxiliary,
            "verification": terms.verification,
        }
        penalty = self.network.penalty(output)
        self.penalised |= penalty.requires_grad
        if self.penalised:
            losses |= {"loss": losses["loss"] + penalty, "penalty": penalty}
        return losses

    def _generator_gradients(self, batch: Batch, part: Part) -> tuple[Tensor, dict[str, Tensor]]:
        """Eq. 4; nobody but the generator gets a gradient."""
        self.classifier.eval().requires_grad_(False)
        for opponent in self.opponents:
            opponent.eval().requires_grad_(False)
        balance = self.objective.balance
        with self.compute.autocast():
            with torch.no_grad():
                known = [opponent.embed(batch.second) for opponent in self.opponents]
            anonymized, output = self._anonymized(batch.first)
            embedded = [
                (opponent.embed(opponent.restore(anonymized)), second)
                for opponent, second in zip(self.opponents, known, strict=True)
            ]
            terms = self.objective.terms(anonymized, embedded, batch)
            losses = self._losses(terms, balance.loss, output)
        balance.observe(terms, output, part, self.compute)
        self.compute.backward(losses["loss"], part.weight)
        return anonymized.detach().float(), losses

    def _anonymized(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Anonymized images, and the output of the generator's network that made them."""
        outputs: list[Tensor] = []
        hook = self.network.core.register_forward_hook(lambda *call: outputs.append(call[-1]))
        try:
            anonymized = self.network(images)
            return anonymized, outputs[-1] if outputs else anonymized
        finally:
            hook.remove()

    def _opponents_gradients(self, anonymized: Tensor, batch: Batch) -> dict[str, Tensor]:
        """Eq. 6, and what the other opponents learn, on anonymized images."""
        part, lessons = batch.part, self.lessons
        assert part is not None
        released = lessons.released(anonymized, batch.first, part.rows)
        second = lessons.second(self.network, batch.second, part.rows)
        lesson = Lesson(
            released, batch.first, second, batch.same, self.pairs, part, self.data.patients
        )
        return {opponent.name: self._learnt(opponent, lesson) for opponent in self.opponents}

    def _learnt(self, opponent: Opponent, lesson: Lesson) -> Tensor:
        if opponent.name not in self.modules:
            with torch.no_grad():
                return opponent.loss(lesson, self.compute)
        opponent.learner.train().requires_grad_(True)
        with self.compute.autocast():
            loss = opponent.loss(lesson, self.compute)
        self.compute.backward(loss, lesson.part.weight)
        return loss

    def _classifier_gradients(self, anonymized: Tensor, batch: Batch, weight: float) -> None:
        """Eq. 5, on anonymized images."""
        self.classifier.train().requires_grad_(True)
        with self.compute.autocast():
            logits = self.classifier(anonymized)
            kind, count = self.options.auxiliary_loss, batch.known
            loss = auxiliary_loss(logits, batch.targets, reduction=kind, count=count)
        self.compute.backward(loss, weight)
