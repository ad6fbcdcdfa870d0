"""One process of an evaluation: what it has at hand, made when it is first needed, and the tasks
that it can do. What a task finds lies in the notes and runs, where every process finds it."""

import shutil
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from anonymize.anonymizer import Anonymizer
from anonymize.data.dataset import Dataset
from anonymize.key_files import made_secret, read_secret
from anonymize.training.compute import Compute
from attacks.evaluation.contents import known_by
from attacks.evaluation.differences import control_for
from attacks.evaluation.evaluator import RELEASED, MethodEvaluator
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.notes import say_outdated
from attacks.evaluation.processes.tasks import FLOOR, REFERENCE, Task
from attacks.evaluation.processes.work import Work
from attacks.evaluation.reference import Reference
from attacks.evaluation.sweep import reference_of, train_entrant
from attacks.evaluation.target import Target
from attacks.registry import choose
from attacks.results import Method


@dataclass
class Session:
    """The networks of real images and the evaluator of one process. ``shared``: other processes
    work at the same evaluation."""

    plan: Plan
    out: Path
    data: Dataset
    compute: Compute
    work: Work
    shared: bool = False
    _target: tuple[int, Target] | None = None

    @cached_property
    def folder(self) -> Path:
        """Of the classifier and the verifier of real images."""
        plan, images = self.plan, known_by(self.data)
        return plan.reference or reference_of(plan.options, self.out, (), plan.parts, images=images)

    @cached_property
    def reference(self) -> Reference:
        """With both."""
        plan = self.plan
        return Reference(self.folder, plan.parts, plan.options, self.data, self.compute, self.work)

    @cached_property
    def readers(self) -> list[Reference]:
        """Those with the frozen classifiers; none without utility."""
        if not self.plan.measures_utility:
            return []
        found = []
        for n, options in enumerate(self.plan.readers):
            if n == 0 and not self.plan.options.data.holds_back:
                found.append(self.reference)
                continue
            folder = reference_of(options, self.out, (), {}, images=known_by(self.data))
            every = replace(self.data, options=options.data)
            found.append(Reference(folder, {}, options, every, self.compute, self.work))
        return found

    @cached_property
    def evaluator(self) -> MethodEvaluator:
        """Measures methods."""
        given = (self.plan, self.data, self.reference, self.readers, self.compute)
        return MethodEvaluator(*given, self.out / "notes", self.work, self.shared)

    def clean(self) -> None:
        """Removes what was kept for other processes alone."""
        if self.shared:
            shutil.rmtree(self.evaluator.folder / RELEASED, ignore_errors=True)

    def model(self, entrant: Entrant) -> Anonymizer:
        """A method that takes part. One that is named, and draws random numbers without a seed,
        draws the same ones in every process and whenever this evaluation is called again, so that
        what was measured of its release is found."""
        model = entrant.model(self.compute.device)
        if isinstance(entrant.spec, Anonymizer) or not model.is_random or model.noise_is_known:
            return model
        return model.keyed(self._secret).to(self.compute.device)

    @cached_property
    def _secret(self) -> bytes:
        folder = self.out / "notes"
        folder.mkdir(parents=True, exist_ok=True)
        file, called = folder / "noise.key", "noise.key of the notes"
        return read_secret(file, called, private=True) or made_secret(file, called)

    def prepare(self) -> None:
        """Trains the networks of real images that are missing."""
        self.prepare_reference()
        for n, reader in enumerate(self.readers):
            if reader is not self.reference:
                self.prepare_reader(n)

    def prepare_reference(self) -> None:
        """Trains the classifier and the verifier of real images, as far as they are needed."""
        plan = self.plan
        say_outdated([self.folder], self.work.say, file="/*.safetensors")
        self.reference.prepare(classifier=plan.needs_classifier, verifier=plan.needs_verifier)

    def prepare_reader(self, number: int) -> None:
        """Trains a classifier that reads the releases."""
        which = f" {number + 1}/{len(self.readers)}"
        self.readers[number].prepare(classifier=True, verifier=False, which=which)

    def train(self, entrant: Entrant) -> None:
        """Trains the run of a method, where it is missing."""
        title, compute = entrant.title, self.compute
        train_entrant(entrant, self.folder, title=title, compute=compute, work=self.work)

    def do(self, task: Task) -> Entrant | None:
        """Carries out a task; the control of a method that was trained, which comes next."""
        if task.entrant is None:
            if task.what == REFERENCE:
                self.prepare_reference()
            elif task.what == FLOOR:
                self.evaluator.learn_floor(task.repeats)
            else:
                self.prepare_reader(task.repeats[0])
            return None
        if task.what == "training":
            self.train(task.entrant)
        target = self._released(task)
        if task.what == "training":
            return self._control(target, task.entrant) if task.entrant.control else None
        if task.what == "frozen":
            self.evaluator.utility.frozen(target)
        elif task.what == "retrained":
            self.evaluator.utility.train(target, task.repeats)
        else:
            chosen, attacks = choose(task.what), self.evaluator.attacks
            if attacks.concerns(chosen, target):
                attacks.runs(chosen, task.repeats, target)
        return None

    def _control(self, target: Target, entrant: Entrant) -> Entrant:
        """The random warp that moves pixels as far as a trained method."""
        model, image = target.model, self.evaluator.change(target)
        method = Method(name=model.name, options={**model.options, **entrant.varied}, image=image)
        return Entrant(control_for(method, self.data.images.size))

    def _released(self, task: Task) -> Target:
        """The method of a task; the last one is remembered."""
        assert task.entrant is not None
        if self._target is None or self._target[0] != task.method:
            self._target = None  # its images go before others come
            model, again = self.model(task.entrant), task.method > 0
            made = self.evaluator.target(model, task.entrant.title, again=again)
            self._target = task.method, made
        return self._target[1]
