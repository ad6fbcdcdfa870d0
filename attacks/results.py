"""results.json, schema version 2; version 1, which knew less, is read, too.

AUCs and rates are fractions in [0, 1]. A figure that is undefined is null, never NaN. The real
images are the method ``identity``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError

from anonymize import whole_file
from anonymize.errors import DataError, UsageError
from attacks.measuring.estimates import Figures, Floor, Generators, LabelAuc, Matched, Record
from attacks.measuring.release_figures import Classification as Classification
from attacks.measuring.release_figures import Cost, ImageChange, SetFigures, Utility
from attacks.measuring.release_figures import Displacement as Displacement
from attacks.measuring.small_groups import Groups
from attacks.measuring.world_records import World
from attacks.titles import REAL, titles, told_apart

FILE, SETS = "results.json", "sets"
TITLES = {
    "auc": "AUC",
    "auc_patient": "AUC, one pair a patient",
    "auc_listed": "AUC, listed pairs",
    "auc_validation": "AUC, validation part",
    "auc_within": "AUC, within the release",
    "auc_members": "AUC, members against outsiders",
    "precision_at_1": "precision@1",
    "precision_at_1_own": "precision@1, this contributor",
    "precision_at_1_coin": "precision@1 of a coin",
    "map_at_r": "mAP@R",
    "r_precision": "R-precision",
    "r_s": "linkage risk",
    "r_s_coin": "linkage risk of a coin",
    "r_s_all": "R_s",
    "equal_error_rate": "EER",
    "top_5": "top-5",
    "top_10": "top-10",
    "top_15": "top-15",
}
APART = {  # what tables for programs call figures whose keys here look alike
    "r_s": "linkage_risk",  # ours, of patients with several images
    "r_s_coin": "linkage_risk_coin",
    "r_s_all": "R_s",  # the paper's on whole slides, of all patients
}


def name_of(key: str) -> str:
    """The attacker of a key of ``privacy``: ``NAME`` or ``NAME:KNOWLEDGE``."""
    return key.partition(":")[0]


class Attack(Figures):
    """What one attacker reaches against one method."""

    knowledge: Literal["ignorant", "lazy", "informed", "white-box"]
    scenario: str = Field("", description="in words: what it trained on and what it compares")
    compares: Literal["released-real", "released-released", "before-after"] = Field(
        "released-real",
        description="with other real images of the patient, or other released ones; or with the "
        "very image it was made from",
    )
    sees: Literal["pixels", "metadata"] = Field("pixels", description="what it links by")
    trained_on: Literal["real", "released-released", "released-real", "mixed"] | None = Field(
        None, description="pairs that it learnt from; null: it learns nothing, or not recorded"
    )
    warm_start: bool = Field(
        False,
        description="every run goes on from the same verifier of real images, so that the runs are "
        "no independent repeats of what was learnt there",
    )
    matched: Matched | None = Field(None, description="null: no impostor is alike, or not measured")
    world: World | None = Field(None, description="by the number of people; null: not measured")

    @property
    def headline(self) -> Figures:
        """Against matched impostors; against all, where nobody is alike."""
        return self.matched or self

    @property
    def links_patients(self) -> bool:
        """Whether it finds a patient's other images by their pixels: the question of most."""
        return self.compares != "before-after" and self.sees == "pixels"


class Method(Record):
    """One way to release the images, and everything measured about it."""

    name: str
    options: dict[str, Any] = Field(default_factory=dict)
    seed: int | None = Field(None, description="of its training or noise; null: none, or unknown")
    fingerprint: str = Field("", description='sha256 of the model file; "" without one')
    training: dict[str, Any] = Field({}, description="options of its training alone, by section")
    privacy: dict[str, Attack] = Field(default_factory=dict)
    utility: Utility = Utility()
    image: ImageChange = ImageChange()
    cost: Cost = Cost()
    sets: SetFigures | None = Field(None, description="null: an output is of one image alone")
    steps: int | None = Field(None, description="of the generator's training")
    converged: bool | None = Field(None, description="false: it was still moving when it ended")

    @property
    def frozen(self) -> LabelAuc | None:
        """What a classifier of real images reads in the released ones; None of sets, in which it
        reads who was put together by labels, and where it was not measured."""
        return self.utility.auc("frozen") if self.sets is None else None

    @property
    def strongest(self) -> tuple[str, Attack] | None:
        """Name and figures of the attacker with the highest AUC on the validation part, where all
        have one, else on the evaluated one: the mean of that against all and against matched
        impostors, where all have both; among those that find a patient's other images by their
        pixels."""
        return self._best(self.privacy)

    @property
    def strongest_by_image(self) -> tuple[str, Attack] | None:
        """The same without attackers that are told which released images are of one patient."""
        alone = {k: a for k, a in self.privacy.items() if name_of(k) != SETS}
        return self._best(alone)

    @staticmethod
    def _best(attacks: Mapping[str, Attack]) -> tuple[str, Attack] | None:
        found = [item for item in attacks.items() if item[1].links_patients]
        judged = all(attack.auc_validation is not None for _, attack in found)

        def auc(figures: Figures | None) -> float | None:
            if figures is None:
                return None
            return figures.auc_validation if judged else figures.auc.mean

        both = all(auc(attack.matched) is not None for _, attack in found)

        def reached(item: tuple[str, Attack]) -> float:
            # Matched impostors may be few; all of them steady the choice.
            return sum(auc(f) or 0 for f in (item[1], item[1].matched if both else None))

        return max(found, key=reached, default=None)


class Source(Record):
    """Which images were evaluated; counts are of the evaluated part. More keys are allowed."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    images: int
    patients: int
    split: dict[str, Any] = Field(default_factory=dict)


class Check(Record):
    """Whether the figures can be trusted in one respect; or, if ``informative``, a finding that
    says nothing about trust. Not ``tested``: nobody looked; it neither passed nor failed."""

    name: str
    passed: bool
    message: str
    informative: bool = False
    tested: bool = True


class Made(Record):
    """When the figures were put together, and by what."""

    date: str = Field(description="ISO 8601, UTC, to the second")
    versions: dict[str, str] = Field(description="of this package, Python and torch")
    intervals: str = Field("", description="since when they are computed so; '': before")


class Results(Record):
    """Everything one evaluation measured."""

    version: Literal[1, 2] = Field(2, alias="schema")
    source: Source
    seed: int = 0
    command: str = ""
    made: Made | None = Field(None, description="null: not recorded")
    options: dict[str, Any] = Field({}, description="all that change a figure, by section")
    methods: tuple[Method, ...]
    checks: tuple[Check, ...] = ()
    floors: tuple[Floor, ...] = ()
    generators: tuple[Generators, ...] = Field((), description="spread over seeds of training")
    matched_by: tuple[str, ...] = Field((), description="what impostors are matched by")
    groups: Groups | None = Field(None, description="whom facts set apart; null: not measured")

    @property
    def real(self) -> Method | None:
        """The real images; None where they were not evaluated."""
        return next((m for m in self.methods if m.name == REAL), None)

    @property
    def released(self) -> tuple[Method, ...]:
        """Every method but the real images."""
        return tuple(m for m in self.methods if m.name != REAL)

    @property
    def attackers(self) -> tuple[str, ...]:
        """Names of the attackers, in the order of their first use."""
        return tuple(dict.fromkeys(a for m in self.methods for a in m.privacy))

    @property
    def titled(self) -> list[tuple[str, Method]]:
        """Every method with its title."""
        return list(zip(self.titles(), self.methods, strict=True))

    @property
    def titled_released(self) -> list[tuple[str, Method]]:
        """Every method but the real images, with its title."""
        return [(title, method) for title, method in self.titled if method.name != REAL]

    @property
    def named(self) -> list[tuple[str, str]]:
        """Title and name of every method."""
        return [(title, method.name) for title, method in self.titled]

    def attacks(self) -> Iterator[tuple[str, str, Attack]]:
        """Every attack: title of the method, key of the attacker, and what it reaches."""
        for title, method in self.titled:
            yield from ((title, key, attack) for key, attack in method.privacy.items())

    def linking(self) -> Iterator[tuple[str, str, Attack]]:
        """Those that find a patient's other images by their pixels."""
        return (found for found in self.attacks() if found[2].links_patients)

    def titles(self) -> list[str]:
        """A short unique name for each method: the options in which it differs from its kin."""
        named = [(m.name, m.options) for m in self.methods]
        return titles(told_apart(named, [m.training | {"seed": m.seed} for m in self.methods]))

    def write(self, path: Path) -> None:
        """Writes results.json, whole or not at all; the same results give the same bytes. A byte of
        a path that is no text is "?", since JSON has none."""
        content = self.model_dump(mode="json", by_alias=True)
        whole_file.write(path, f"{_lines(content)}\n".encode(errors="replace"))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Reads results.json.

        Raises:
            DataError: no JSON, or not schema version 1 or 2; the message names the field.
        """
        try:
            return cls.model_validate_json(Path(path).read_bytes())
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "the file"
            raise DataError(
                f"results file: {field}: {first['msg']}; expected schema version 1 or 2, "
                "as attacks evaluate writes it"
            ) from None


def _lines(value: Any, indent: str = "\n") -> str:
    """JSON in lines, a record of plain values on one: of a line a number, most would be spaces."""
    values = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list) or not any(map(_holds_record, values)):
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    deeper = indent + " "
    if isinstance(value, list):
        return f"[{deeper}{f',{deeper}'.join(_lines(one, deeper) for one in value)}{indent}]"
    named = (f"{json.dumps(k, ensure_ascii=False)}: {_lines(v, deeper)}" for k, v in value.items())
    return f"{{{deeper}{f',{deeper}'.join(named)}{indent}}}"


def _holds_record(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_record, value)))


def results_file(path: Path) -> Path:
    """The results.json that ``path`` is, or that lies in it.

    Raises:
        UsageError: there is none.
    """
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise UsageError(
            f"RESULTS.json must be a file that attacks evaluate wrote, or its folder; there is no "
            f"{file}"
        )
    return file


def results_files(paths: Iterable[Path]) -> list[Path]:
    """Those of several evaluations; UsageError where one is missing, or is given twice."""
    files = [results_file(path) for path in paths]
    if len({file.resolve().parent for file in files}) < len(files):
        raise UsageError("attacks compare needs different results; one was given twice")
    return files
