"""One attacker, ready for use: taught once, its scores calibrated, its own figures measured.

It learns on the training part of a data set with known patients, its scores become probabilities
on the validation part, and what it is worth is measured on the test part. Its folder keeps all of
that, so that a second call does not teach it again.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import numpy as np
from torch import Tensor

import anonymize
from anonymize import whole_file
from anonymize.data.batches import HeldImages
from anonymize.data.dataset import Dataset
from anonymize.data.table import PARTS
from anonymize.display import counter
from anonymize.errors import UsageError
from anonymize.fingerprint import fingerprint, sources
from anonymize.options import TrainOptions
from anonymize.plugins import installed
from anonymize.set_anonymizer import SetAnonymizer
from anonymize.training.compute import Compute
from anonymize.training.learnt_from import networks_of, refuse_a_leak
from attacks.attacker import Attacker, ImageSet, unit_float
from attacks.evaluation.contents import split_of
from attacks.evaluation.made_by import attack_made_by, model_made_by, verifier_for
from attacks.evaluation.processes.notes import kept_at, say_outdated
from attacks.evaluation.processes.work import Display, Work
from attacks.evaluation.reference import Reference
from attacks.evaluation.sweep import reference_of
from attacks.knowledge.levels import Level, Setting
from attacks.knowledge.set_release import Released
from attacks.knowledge.trial import Parts, View
from attacks.linkage.album import Album
from attacks.linkage.at_file_size import Size, released_as_files, sets_as_files
from attacks.linkage.both_readings import BothReadings
from attacks.linkage.learnt import Learnt, Prepared
from attacks.linkage.matching import COMPANY, Matcher, Pictures, matcher_of
from attacks.measuring.calibration import Calibration, cost
from attacks.measuring.covariates import matched_by
from attacks.measuring.judged import judged_on
from attacks.measuring.metrics import genuine_pairs, impostor_pairs
from attacks.registry import GROUP, Chosen, attackers, choose, ladder
from attacks.training.learning import Learning

RECORD = "attacker.json"
MAX_IMAGES = 8000  # images of a part that are compared with each other
MEASURED = ("validation", "test")  # on which an attacker that learns nothing is measured
ALONE = ("ignorant", "informed")  # knowledge that needs nothing but images


def chosen_attacker(text: str, *, released: bool) -> Chosen:
    """The attacker of ``NAME`` or ``NAME:KNOWLEDGE``; where nothing was released, ``NAME`` is the
    one of real images.

    Raises UsageError: no such attacker, or one that needs more than two images to compare them."""
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
    looks = level.build is not None and level.sees == "pixels"
    return looks and level.compares in (None, "released-real")


@dataclass(frozen=True)
class Wanted:
    """Which attacker.

    Attributes:
        method: what released the probes; None: they are real images.
        runs: may hold the verifier of real images.
        sizes: height and width of each file that it was applied to; none are known: the method
            acts on images of the attacker's own size.
    """

    chosen: Chosen
    options: TrainOptions
    method: str | None = None
    runs: Sequence[Path] = ()
    sizes: Sequence[Size] = ()

    @classmethod
    def of(
        cls,
        attacker: str,
        options: TrainOptions,
        method: str | None,
        probes: Album,
        runs: Sequence[Path] = (),
    ) -> Self:
        """By the attacker's name, for probes that ``method`` released."""
        chosen = chosen_attacker(attacker, released=method is not None)
        return cls(chosen, options, method, runs, () if method is None else probes.file_sizes)


def prepare(wanted: Wanted, folder: Path, *, compute: Compute, display: Display) -> Prepared:
    """The attacker, from ``folder`` where it was taught before.

    Raises UsageError: an attacker that finds in the data set nothing to learn from, or with boxes
    of lungs, which are not known of other images; a run whose networks learnt from its test part.
    """
    chosen, options = wanted.chosen, wanted.options
    data = Dataset.open(options.data, counter(display, "preparing images"))
    if reason := chosen.level.missing(data):
        raise UsageError(f"attacker {chosen.key} cannot learn here: {reason}")
    if reason := chosen.level.not_of_files(options):
        raise UsageError(reason)
    held, subject = _released(wanted, folder, data, compute, display)
    work = Work([(f"attack {chosen.key}", chosen.level.epochs(options))], display=display)
    place = reference_of(options, folder, wanted.runs, {}, images=split_of(data))
    for network, card in networks_of(place) if place in wanted.runs else ():
        refuse_a_leak(network, card, data)
    reference = Reference(place, {}, options, data, compute, work)
    own = _folder(wanted, folder, subject, reference)
    say_outdated([own], display.say, file=f"/{RECORD}")
    own.mkdir(parents=True, exist_ok=True, mode=0o700)  # embeddings tell people apart
    real = Parts(data)
    view = View(real, real) if held is None else View.of(data, real, held)
    attacker = _taught(wanted, data, view, own, reference, work)
    some = _some(len(view.real("validation")), COMPANY)
    beside = [unit_float(p("validation").images[some]) for p in (view.released, view.real)]
    matcher = matcher_of(attacker, *beside, folder=own, key=own.name)
    learnt = Learnt.read(own / RECORD)
    if learnt is None:
        learnt = _measured(wanted, data, matcher, view)
        whole_file.write(own / RECORD, learnt.model_dump_json(indent=2).encode(), mode=0o600)
    return Prepared(matcher, learnt)


def _released(
    wanted: Wanted, folder: Path, data: Dataset, compute: Compute, display: Display
) -> tuple[Released | None, str]:
    """What the method makes of the data set, kept in ``folder``; and which images these are."""
    if wanted.method is None:
        return None, fingerprint(split_of(data), None)
    model, sizes = anonymize.load(wanted.method, device=compute.device), sorted(wanted.sizes)
    made_by = (model_made_by(model), sources(released_as_files))
    sets = isinstance(model, SetAnonymizer)

    def place(parts: Sequence[str]) -> tuple[str, Path]:
        key = fingerprint(split_of(data), parts, data.images.size, sizes, made_by)
        return key, folder / f"released-{key[:16]}.{'npz' if sets else 'npy'}"

    trained = wanted.chosen.level.trained or place(PARTS)[1].is_file()
    parts = PARTS if sets or trained else MEASURED
    rows = np.concatenate([data.table.part(part) for part in parts])
    key, kept = place(parts)
    if sizes and not kept.is_file():
        height, width = max(sizes, key=lambda size: size[0] * size[1])
        display.say(
            f"{len(rows):,} images of {data.table.source} are released as these files were, up to "
            f"{width} × {height} px, for {wanted.chosen.key} to learn from and be measured on: as "
            "long as `anonymize apply` takes for as many files; kept for the next call"
        )
    if isinstance(model, SetAnonymizer):
        return sets_as_files(model, data, sizes, kept, display=display), key

    def released(images: Tensor) -> Tensor:
        return model(images.to(compute.device)).cpu()

    progress = counter(display, "anonymizing")
    held = released_as_files(released, data, sizes, kept, rows=rows, progress=progress)
    return Released(held.pixels), key


def _folder(wanted: Wanted, folder: Path, subject: str, reference: Reference) -> Path:
    """Another one for whatever makes another attacker; ``subject`` says of which images."""
    chosen, options = wanted.chosen, wanted.options
    verifier = reference.verifier() if chosen.level.needs_verifier(options) else None
    name = f"attacker-{chosen.key.replace(':', '-')}-{subject[:8]}"
    return kept_at(folder, name, attack_made_by(options, [chosen], __name__, subject, verifier))


def _taught(
    wanted: Wanted,
    data: Dataset,
    view: View,
    own: Path,
    reference: Reference,
    work: Work,
) -> Attacker:
    """The attacker after its training; a finished one is taken from its checkpoint."""
    chosen, options, level = wanted.chosen, wanted.options, wanted.chosen.level
    checkpoint = own / "attack.safetensors"
    with work.piece(
        f"attack {chosen.key}",
        chosen.key,
        epochs=level.epochs(options),
        resumed=checkpoint.is_file(),
    ) as piece:
        verifier = verifier_for(options, chosen, reference.verifier)
        learning = Learning(reference.compute, checkpoint, piece.epoch)
        attacker = view.taught(level, Setting(options, data, verifier, learning), 0)
        piece.result = "ready"
    return attacker


def _measured(wanted: Wanted, data: Dataset, matcher: Matcher, view: View) -> Learnt:
    """The calibration, and what it and the attacker are worth on other patients."""
    chosen, options = wanted.chosen, wanted.options
    known: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    patients = {}
    for part in MEASURED:
        probes, gallery = map(_of_few_enough, view.compared("released-real", part))
        owners = probes.owners, gallery.owners
        pictures = Pictures(HeldImages(probes.images)), Pictures(HeldImages(gallery.images))
        scores = matcher.scores(*pictures)
        known[part] = scores[genuine_pairs(*owners)], scores[impostor_pairs(*owners)]
        patients[part] = len(np.unique(owners[1].patient))
    calibration = Calibration.fit(*known["validation"])
    with judged_on("the test part"):
        drawn = {"resamplings": options.evaluation.resamplings, "seed": options.seed}
        figures = BothReadings.of(matcher, pictures, owners, matched_by(data.table), **drawn)
    return Learnt(
        attacker=chosen.key,
        knowledge=chosen.knowledge,
        scenario=chosen.level.scenario(options),
        source=data.table.source,
        size=options.data.size,
        patients=patients,
        **asdict(calibration),
        bits=cost(*(calibration.log_ratios(scores) for scores in known["test"])),
        **dict(figures),
    )


def _of_few_enough(images: ImageSet) -> ImageSet:
    """At most ``MAX_IMAGES`` images, whole patients in an order that chance decides."""
    if len(images) <= MAX_IMAGES:
        return images
    codes = images.owners.patient
    order = _some(int(codes.max()) + 1, int(codes.max()) + 1)
    rank = np.argsort(order)[codes]
    return images[np.sort(np.argsort(rank, kind="stable")[:MAX_IMAGES])]


def _some(n: int, most: int) -> np.ndarray:
    """At most ``most`` of 0 … n − 1, always the same."""
    return np.random.default_rng(0).permutation(n)[:most]
