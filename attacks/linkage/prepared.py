"""One attacker, ready for use: taught once, its scores calibrated, its own figures measured.

It learns on the training part of a data set with known patients, its scores become probabilities
on the validation part, and what it is worth is measured on the test part. Its folder keeps all of
that, so that a second call does not teach it again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import ValidationError

import anonymize
from anonymize import whole_file
from anonymize.data.batches import HeldImages
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.display import counter
from anonymize.errors import DataError, UsageError
from anonymize.options import TrainOptions
from anonymize.plugins import installed
from anonymize.seeds import derive_seed
from anonymize.training.compute import Compute
from attacks.attacker import Attacker, ImageSet, unit_float
from attacks.evaluation.reference import Reference
from attacks.evaluation.sweep import reference_of
from attacks.evaluation.work import Display, Work
from attacks.knowledge.levels import Level, Setting
from attacks.knowledge.trial import Parts, View
from attacks.linkage.matching import COMPANY, Matcher, Pictures, matcher_of
from attacks.measuring.calibration import Calibration, cost
from attacks.measuring.estimates import Estimate, Record
from attacks.measuring.metrics import genuine_pairs, impostor_pairs
from attacks.measuring.statistics import estimate_identification
from attacks.registry import GROUP, Chosen, attackers, choose, ladder
from attacks.training.learning import Learning

RECORD = "attacker.json"
MOST = 8000  # images of a part that are compared with each other
ALONE = ("ignorant", "informed")  # knowledge that needs nothing but images


class Learnt(Record):
    """What is known of an attacker, as its folder keeps it.

    Attributes:
        attacker, knowledge, scenario: who, in the words of the registry.
        source, size, patients: what it was taught and measured on.
        slope, offset, genuine, impostors: of its :class:`Calibration`.
        bits: C_llr on the test part, in bits.
        figures: on the test part, by the names of `results.TITLES`.
    """

    attacker: str
    knowledge: str
    scenario: str
    source: str
    size: int
    patients: dict[str, int]
    slope: float
    offset: float
    genuine: int
    impostors: int
    bits: float
    figures: dict[str, Estimate]

    @property
    def calibration(self) -> Calibration:
        """From scores to probabilities."""
        return Calibration(self.slope, self.offset, self.genuine, self.impostors)


@dataclass(frozen=True)
class Prepared:
    """An attacker that compares, and what its scores mean."""

    matcher: Matcher
    learnt: Learnt

    @property
    def calibration(self) -> Calibration:
        """From scores to probabilities."""
        return self.learnt.calibration

    def in_words(self) -> list[str]:
        """Who says so, how good it is, and why it may not be believed."""
        known, auc = self.learnt, self.learnt.figures["auc"]
        low, high = auc.ci95 or (float("nan"), float("nan"))
        lines = [
            f"attacker {known.attacker}: {known.scenario}; calibrated on {known.genuine:,} genuine "
            f"and {known.impostors:,} impostor pairs of {known.patients['validation']:,} patients "
            f"({known.source}, validation part)",
            f"on {known.patients['test']:,} patients of its test part: AUC {auc.mean:.3f} "
            f"({low:.3f}–{high:.3f}), C_llr {known.bits:.2f} of 1 bit",
        ]
        if not low > 0.5:
            lines.append("do not trust: on its test part this attacker is not above chance")
        elif known.bits >= 1:
            lines.append("do not trust: on its test part these probabilities mislead")
        if known.source == "phantom":
            lines.append(
                "note: learnt on drawn radiographs; name real ones of known patients with --source"
            )
        return lines


def chosen_attacker(text: str, *, released: bool) -> Chosen:
    """The attacker of ``NAME`` or ``NAME:KNOWLEDGE``; where nothing was released, ``NAME`` is the
    one of real images.

    Raises:
        UsageError: no such attacker, or one that needs more than two images to compare them.
    """
    name, colon, _ = text.partition(":")
    if not colon and not released and name in installed(GROUP) and "ignorant" in ladder(name):
        text = f"{name}:ignorant"
    chosen = choose(text)
    if chosen.knowledge not in ALONE or not _alone(chosen.level):
        fitting = [n for n, _ in attackers() if any(map(_alone, ladder(n).values()))]
        raise UsageError(
            f"attacker {chosen.key} is for `attacks evaluate` only: it needs more than two images "
            f"to compare them; take one of {', '.join(fitting)}, at the level "
            f"{' or '.join(ALONE)}"
        )
    return chosen


def _alone(level: Level) -> bool:
    """It looks at two images and at nothing else."""
    return level.build is not None and level.sees == "pixels" and level.compares is None


def prepare(
    chosen: Chosen,
    options: TrainOptions,
    folder: Path,
    *,
    method: str | None,
    runs: tuple[Path, ...],
    compute: Compute,
    display: Display,
) -> Prepared:
    """The attacker, from ``folder`` where it was taught before.

    Args:
        options: data set, and how the attacker is made.
        method: what released the probes; None: they are real images.
        runs: may hold the verifier of real images.

    Raises:
        UsageError: an attacker that finds in the data set nothing to learn from, or with boxes of
            lungs, which are not known of other images.
    """
    data = Dataset.open(options.data, counter(display, "preparing images"))
    if reason := chosen.level.missing(data):
        raise UsageError(f"attacker {chosen.key} cannot learn here: {reason}")
    held = None
    if method is not None:
        bits = 8 * data.images.dtype.itemsize
        model = anonymize.load(method, device=compute.device)
        held = released_images(
            model,
            data.images,
            device=compute.device,
            bits=bits,
            progress=counter(display, "anonymizing"),
        )
    key = _key(chosen, options, data, held)
    own = folder / f"attacker-{key}"
    real = Parts(data)
    released = real if held is None else Parts(data, held)
    attacker = _taught(chosen, options, data, own, (real, released), runs, compute, display)
    some = _some(len(data.table.part("validation")), COMPANY)
    reference = [unit_float(p("validation").images[some]) for p in (released, real)]
    matcher = matcher_of(attacker, *reference, folder=own, key=key)
    learnt = _record(own / RECORD)
    if learnt is None:
        learnt = _measured(chosen, options, data, matcher, (released, real))
        whole_file.write(own / RECORD, learnt.model_dump_json(indent=2).encode(), mode=0o600)
    return Prepared(matcher, learnt)


def _taught(
    chosen: Chosen,
    options: TrainOptions,
    data: Dataset,
    own: Path,
    parts: tuple[Parts, Parts],
    runs: tuple[Path, ...],
    compute: Compute,
    display: Display,
) -> Attacker:
    """The attacker after its training; a finished one is taken from its checkpoint."""
    if chosen.name == "contrastive" and options.evaluation.contrastive.lung_boxes is not None:
        raise UsageError(
            "boxes of lungs are not known of the images to compare; leave "
            "evaluation.contrastive.lung_boxes out"
        )
    own.mkdir(parents=True, exist_ok=True, mode=0o700)  # embeddings tell people apart
    checkpoint = own / "attack.safetensors"
    epochs = chosen.level.epochs(options) if chosen.level.trained else 0
    work = Work([(f"attack {chosen.key}", epochs)], display=display)
    reference = Reference(
        reference_of(options, own.parent, runs, {}), {}, options, data, compute, work
    )
    real, released = parts
    with work.piece(
        f"attack {chosen.key}",
        chosen.key,
        epochs=epochs,
        resumed=checkpoint.is_file(),
    ) as piece:
        attacker = chosen.level.build(
            Setting(
                options=options,
                data=data,
                verifier=reference.verifier,
                learning=Learning(compute, checkpoint, piece.epoch),
            )
        )
        if chosen.level.trained:
            view = View(real, released)
            view.teach(attacker, seed=derive_seed(options.seed, attacker.name, 0))
        piece.result = "ready"
    return attacker


def _measured(
    chosen: Chosen,
    options: TrainOptions,
    data: Dataset,
    matcher: Matcher,
    parts: tuple[Parts, Parts],
) -> Learnt:
    """The calibration, and what it and the attacker are worth on other patients."""
    known, patients = {}, {}
    for part in ("validation", "test"):
        sets = [_of_few_enough(images(part)) for images in parts]
        owners = tuple(images.owners for images in sets)
        pictures = [Pictures(HeldImages(images.images)) for images in sets]
        scores = matcher.scores(*pictures)
        known[part] = scores[genuine_pairs(*owners)], scores[impostor_pairs(*owners)]
        patients[part] = len(np.unique(owners[1].patient))
    calibration = Calibration.fit(*known["validation"])
    try:
        figures = matcher.measure(
            *pictures, owners, resamplings=options.evaluation.resamplings, seed=options.seed
        )
    except ValueError as error:
        raise DataError(f"the test part cannot tell how good an attacker is: {error}") from None
    return Learnt(
        attacker=chosen.key,
        knowledge=chosen.knowledge,
        scenario=chosen.level.scenario(options),
        source=data.table.source,
        size=options.data.size,
        patients=patients,
        slope=calibration.slope,
        offset=calibration.offset,
        genuine=calibration.genuine,
        impostors=calibration.impostors,
        bits=cost(*(calibration.log_ratios(scores) for scores in known["test"])),
        figures=estimate_identification([figures]),
    )


def _key(chosen: Chosen, options: TrainOptions, data: Dataset, held: HeldImages | None) -> str:
    """Another one for whatever makes another attacker."""
    digest = hashlib.sha256(f"{anonymize.__version__} {chosen.name} {chosen.knowledge}".encode())
    digest.update(
        options.model_dump_json(
            include={"seed", "precision", "data", "classifier", "verifier", "evaluation"},
            exclude={"data": {"root", "cache", "workers"}, "evaluation": {"repeats"}},
        ).encode()
    )
    digest.update(data.table.fingerprint.encode())
    if held is not None:
        digest.update(held.pixels.numpy().tobytes())
    return digest.hexdigest()[:16]


def _record(path: Path) -> Learnt | None:
    """What was noted before; None where nothing was, or by another version."""
    try:
        return Learnt.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


def _of_few_enough(images: ImageSet) -> ImageSet:
    """At most ``MOST`` images, whole patients in an order that chance decides."""
    if len(images) <= MOST:
        return images
    codes = images.owners.patient
    order = _some(int(codes.max()) + 1, int(codes.max()) + 1)
    rank = np.argsort(order)[codes]
    return images[np.sort(np.argsort(rank, kind="stable")[:MOST])]


def _some(n: int, most: int) -> np.ndarray:
    """At most ``most`` of 0 … n − 1, always the same."""
    return np.random.default_rng(0).permutation(n)[:most]
