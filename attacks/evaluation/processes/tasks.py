"""An evaluation as a graph: the tasks that processes share out, and what each of them waits for.

A task is what one process does at a stretch. Repeats of an attacker that trains no network are one
task, for they learn from the same descriptions of the same images.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from attacks.evaluation.plan import Entrant, Plan, attack_kind, training_kind
from attacks.registry import Chosen, choose

REFERENCE, READER, FLOOR = "reference", "reader {}", "floor"


@dataclass(frozen=True)
class Task:
    """A share of an evaluation.

    Attributes:
        what: "reference", "reader", "training", "frozen", "retrained", "floor", or the key of an
            attacker.
        kinds: of its pieces of work.
        after: names of the tasks that must be done before.
        method: number of the method; -1: it is of the real images.
        repeats: which runs of an attacker or classifier, or which reader.
    """

    name: str
    what: str
    kinds: tuple[str, ...]
    after: tuple[str, ...] = ()
    method: int = -1
    entrant: Entrant | None = None
    repeats: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The task in words."""
        if self.entrant is None:
            words = {REFERENCE: "networks of real images", FLOOR: f"real images: {self.name}"}
            return words.get(self.what, f"classifier {self.name}")
        numbers = ", ".join(str(n + 1) for n in self.repeats)
        return f"{self.entrant.title}: {self.what} {numbers}".strip()


def tasks_of(plan: Plan) -> list[Task]:
    """All tasks but those of controls, which come when what they control is trained."""
    kinds = ("classifier",) * plan.needs_classifier + ("verifier",) * plan.needs_verifier
    found = [Task(REFERENCE, REFERENCE, kinds)]
    if plan.measures_utility:
        first = 0 if plan.options.data.holds_back else 1
        numbers = range(first, len(plan.readers))
        found += [Task(READER.format(n), "reader", ("classifier",), repeats=(n,)) for n in numbers]
    for number, entrant in enumerate(plan.entrants):
        found += tasks_of_one(plan, number, entrant)
    if plan.floor:
        chosen = choose(plan.floor)
        for repeats in _shares(plan, chosen, again=False):
            kinds = (attack_kind(chosen, again=False),) * len(repeats)
            found.append(Task(_name(-1, chosen, repeats), FLOOR, kinds, repeats=repeats))
    return found


def tasks_of_one(plan: Plan, number: int, entrant: Entrant) -> list[Task]:
    """The tasks of one method; ``number`` counts the methods."""
    found, task = list[Task](), partial(Task, method=number, entrant=entrant)
    begins, kinds = tuple[str, ...](), tuple[str, ...]()
    if entrant.training is not None:
        begins = (f"{number} training",)
        kinds = (training_kind(entrant.training),)
        found.append(task(*begins, "training", kinds, (REFERENCE,)))
    if plan.measures_utility:
        readers = [READER.format(n) for n in range(len(plan.readers))]
        if not plan.options.data.holds_back:
            readers[0] = REFERENCE
        kinds = ("frozen",) * len(readers)
        found.append(task(f"{number} frozen", "frozen", kinds, (*begins, *readers)))
        for n in range(plan.utility_repeats):
            name = f"{number} retrained {n}"
            found.append(task(name, "retrained", ("retrained",), begins, repeats=(n,)))
    for chosen in plan.chosen:
        kind, waits = attack_kind(chosen, again=number > 0), _before(plan, chosen, number)
        for repeats in _shares(plan, chosen, again=number > 0):
            name, kinds = _name(number, chosen, repeats), (kind,) * len(repeats)
            found.append(task(name, chosen.key, kinds, (*begins, *waits), repeats=repeats))
    return found


def _shares(plan: Plan, chosen: Chosen, *, again: bool) -> Iterator[tuple[int, ...]]:
    """The repeats of an attacker by task."""
    level, repeats = chosen.level, tuple(range(plan.repeats(chosen)))
    trains = level.trained and level.epochs(plan.options) and not (again and level.learns == "real")
    yield from ((n,) for n in repeats) if trains else (repeats,)


def _before(plan: Plan, chosen: Chosen, number: int) -> tuple[str, ...]:
    """What an attacker waits for: the verifier that it starts from; its members; who learns for it,
    which is the first level of its name at the first method."""
    level, waits = chosen.level, list[str]()
    if level.needs_verifier(plan.options):
        waits.append(REFERENCE)
    first: Sequence[Chosen] = plan.members_of(chosen) if level.combines else ()
    at = number
    if level.learns == "real" and not level.combines:
        alike = [c for c in plan.chosen if c.name == chosen.name and c.level.learns == "real"]
        first, at = alike[: number > 0 or alike[0].key != chosen.key], 0
    for other in first:
        waits += (_name(at, other, share) for share in _shares(plan, other, again=at > 0))
    return tuple(waits)


def _name(number: int, chosen: Chosen, repeats: tuple[int, ...]) -> str:
    return f"{number} {chosen.key} {','.join(map(str, repeats))}"
