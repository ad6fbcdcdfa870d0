"""An evaluation as a file: which methods are trained and measured, with which options.

A sweep lists the values of an option; several lists give every combination of them, so that no
method stands at one unlucky point.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import Field

from anonymize.configuration import config_names, load_options, read_config
from anonymize.errors import UsageError
from anonymize.options import TrainOptions
from anonymize.section import Options, validated
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.sweep import reference_of, run_of
from attacks.registry import DEFAULT
from attacks.results import REAL

OWN = ("generator", "reconstruction", "adversarial")


class Trained(Options):
    """A method that is trained, at every point of its sweep."""

    config: str | None = Field(
        None, description="its generator, reconstruction and adversarial sections; none: the base's"
    )
    set: dict[str, Any] = Field({}, description="changes of options, as --set makes them")
    sweep: dict[str, list[Any]] = Field({}, description="values of options")
    control: bool = Field(
        False, description="a random warp stands beside it that moves pixels as far"
    )


class Untrained(Options):
    """A method without training, at every point of its sweep."""

    method: str = Field(description="its name")
    options: dict[str, Any] = Field({}, description="of the method")
    sweep: dict[str, list[Any]] = Field({}, description="values of options")


class Protocol(Options):
    """A whole evaluation; the real images always take part."""

    base: str = Field(
        description="training configuration of all (data, classifier, verifier, …), or another "
        "evaluation: what it says holds where this one says nothing"
    )
    set: dict[str, Any] = Field({}, description="changes of its options, as --set makes them")
    trained: tuple[Trained, ...] = ()
    untrained: tuple[Untrained, ...] = ()
    attackers: tuple[str, ...] = DEFAULT
    published: bool = Field(True, description="the paper's table and figures beside the results")


def is_protocol(config: str) -> bool:
    """Whether a configuration describes an evaluation and no training."""
    return "base" in read_config(config)


def read_protocol(config: str) -> Protocol:
    """The evaluation of a configuration by name or file; files it names lie beside it. Raises
    UsageError: not readable, an unknown key, a value of another type, or its own base."""
    return _over_its_base(config, ())


def _over_its_base(config: str, above: tuple[Path, ...]) -> Protocol:
    place = Path(config).resolve()
    if place in above:
        raise UsageError(f"config {config!r} is its own base; name a training configuration there")
    protocol = validated(Protocol, read_config(config))
    beside = Path(config).parent

    def found(name: str) -> str:
        return name if name in config_names() else str(beside / name)

    trained = tuple(
        entry.model_copy(update={"config": entry.config and found(entry.config)})
        for entry in protocol.trained
    )
    own = protocol.model_copy(update={"base": found(protocol.base), "trained": trained})
    if not is_protocol(own.base):
        return own
    base = _over_its_base(own.base, (*above, place))
    said = {name: getattr(own, name) for name in protocol.model_fields_set - {"base", "set"}}
    return base.model_copy(update={**said, "set": _in_order(base.set, own.set)})


@dataclass(frozen=True)
class Choices:
    """What a user adds to a protocol, or puts in the place of what it says.

    Attributes:
        changes: of options; they win.
        runs: used where their options are those of the evaluation, else measured besides.
        methods: measured besides.
        attackers: instead of the protocol's; None: these.
        parts: "classifier" and "verifier" that are given instead of trained.
    """

    changes: dict[str, Any] = field(default_factory=dict)
    runs: Sequence[Path] = ()
    methods: Sequence[str] = ()
    attackers: Sequence[str] | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    command: str = ""


def plan_of(protocol: Protocol, out: Path, choices: Choices) -> Plan:
    """The evaluation, ready to be done in the folder ``out``. Raises UsageError: a change of an
    option that is swept, or an option out of range."""
    folder, runs = out / "runs", [str(run) for run in choices.runs]
    options = protocol_options(protocol, choices.changes)
    found = entrants(protocol, folder, choices)
    fits = {entrant.spec for entrant in found}
    besides = [spec for spec in (*runs, *choices.methods) if spec not in fits]
    return Plan(
        entrants=[*found, *map(Entrant, besides)],
        options=options,
        attackers=protocol.attackers if choices.attackers is None else choices.attackers,
        reference=reference_of(options, folder, choices.runs, choices.parts),
        parts=choices.parts,
        command=choices.command,
    )


def protocol_options(protocol: Protocol, changes: Mapping[str, Any]) -> TrainOptions:
    """Those of all that it measures, with a user's changes."""
    return load_options(protocol.base, _in_order(protocol.set, changes))


def entrants(protocol: Protocol, folder: Path, choices: Choices) -> list[Entrant]:
    """Every method of the protocol, the real images first.

    Runs are those among the chosen ones that fit, else they lie below ``folder``.
    """
    found = [Entrant(REAL)]
    for entry in protocol.trained:
        for values in _grid(entry.sweep):
            options = _training(protocol, entry, choices.changes, values)
            if entry.control and not getattr(options.generator, "mu", 0):
                raise UsageError(
                    "control: true is for methods that deform, of mu above 0; take it from "
                    f"{options.generator.method}"
                )
            varied = {key.rpartition(".")[2]: value for key, value in values.items()}
            run = run_of(options, folder, choices.runs, choices.parts)
            found.append(Entrant(str(run), options, varied, control=entry.control))
    for plain in protocol.untrained:
        for values in _grid(plain.sweep):
            chosen = ",".join(f"{k}={v}" for k, v in (plain.options | values).items())
            found.append(Entrant(f"{plain.method}:{chosen}" if chosen else plain.method))
    return found


def _training(
    protocol: Protocol, entry: Trained, changes: Mapping[str, Any], values: Mapping[str, Any]
) -> TrainOptions:
    swept = sorted(values.keys() & changes.keys())
    if swept:
        raise UsageError(f"option {swept[0]} is swept by the evaluation; change it in its file")
    own = {}
    if entry.config is not None:
        whole = load_options(entry.config).model_dump(mode="json")
        own = {name: whole[name] for name in OWN}
    changed = _in_order(protocol.set, own, entry.set, changes, values)
    return load_options(protocol.base, changed)


def _grid(sweep: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination of the values, the last option varying first."""
    return (dict(zip(sweep, values, strict=True)) for values in product(*sweep.values()))


def _in_order(*changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes one after another; one that is made again moves to the end."""
    merged: dict[str, Any] = {}
    for key, value in (item for change in changes for item in change.items()):
        merged.pop(key, None)
        merged[key] = value
    return merged
