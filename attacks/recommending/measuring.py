"""Candidates as `attacks evaluate` measures them, in one folder that grows by one at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anonymize.anonymizer import load
from anonymize.errors import DataError
from anonymize.training.compute import Compute
from attacks.evaluation.evaluate import Evaluation, evaluate
from attacks.evaluation.evaluator import RELEASED
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.work import Display, Silent, Work
from attacks.recommending.search import Deadline, Searched, Timed, search
from attacks.results import FILE, Results


@dataclass(frozen=True)
class Measuring:
    """Measures the candidates of a plan."""

    plan: Plan
    entrants: Mapping[str, Entrant]
    out: Path
    compute: Compute

    def search(self, display: Display, deadline: Deadline) -> Searched[Evaluation]:
        """As many as there is time for; results.json is written after each."""
        begun, said = False, set[str]()

        def measure(specs: Sequence[str]) -> Evaluation:
            nonlocal begun
            chosen = [self.entrants[spec] for spec in specs]
            title, begun = chosen[-1].title if begun else "", True
            shown = Timed(display, deadline, title, said)
            plan = replace(self.plan, entrants=[self.plan.entrants[0], *chosen])
            found = evaluate(plan, self.out, compute=self.compute, display=shown)
            found.results.write(self.out / FILE)
            return found

        return search(
            list(self.entrants),
            measure,
            known=self.known(),
            forecast=self.forecast,
            deadline=deadline,
        )

    def known(self) -> list[str]:
        """The candidates that earlier results hold."""
        if not (self.out / FILE).is_file():
            return []
        try:
            held = [(m.name, m.options) for m in Results.read(self.out / FILE).methods]
        except DataError:  # of another version; the notes may know it still
            return []
        models = {spec: load(str(entrant.spec)) for spec, entrant in self.entrants.items()}
        return [spec for spec, model in models.items() if (model.name, model.options) in held]

    def forecast(self) -> float | None:
        """Seconds that one more candidate takes, by what the others took; None: nobody knows."""
        pieces, durations = self.plan.work_of_one(again=True), self.out / "durations.json"
        work = Work(pieces, durations=durations, display=Silent())
        return None if work.left is None else work.left + work.expected(RELEASED)
