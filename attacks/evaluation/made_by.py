"""What makes a figure of an attacker: its options, and the program from its class downwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from anonymize.anonymizer import Anonymizer
from anonymize.errors import UsageError
from anonymize.fingerprint import fingerprint, sources
from anonymize.options import TrainOptions
from attacks.registry import ATTACKERS, Chosen

EVERYONE = ("attacks.registry",)  # imports every attacker


def attack_made_by(
    options: TrainOptions, attackers: Iterable[Chosen], user: str, *others: Any
) -> str:
    """Fingerprint of what makes the figures of these attackers from images that are known.

    Args:
        user: module that lets them attack and measures them.
        others: of :func:`fingerprint`: whatever else they depend on.
    """
    chosen = list(attackers)
    return fingerprint(
        [(attacker.name, attacker.knowledge) for attacker in chosen],
        figure_options(options, (attacker.name for attacker in chosen)),
        program(chosen, user),
        others,
    )


def program(attackers: Iterable[Chosen], *users: str) -> str:
    """Fingerprint of the sources of attackers and of the modules that use them."""
    makers = (name for a in attackers if a.level.build for name in _makers(a.level.build, set()))
    return sources(*makers, *users, unfollowed=EVERYONE)


def figure_options(options: TrainOptions, attackers: Iterable[str] = ()) -> dict[str, Any]:
    """The options that figures depend on, without the sections of other attackers."""
    found, mine = options.that_matter("figures"), set(attackers)
    strangers = {name.replace("-", "_") for name in ATTACKERS if name not in mine}
    evaluation = found["evaluation"]
    return found | {"evaluation": {k: v for k, v in evaluation.items() if k not in strangers}}


def uses_verifier(options: TrainOptions, attacker: Chosen) -> bool:
    """Whether an attacker looks through the verifier of real images, or starts from it."""
    start = options.evaluation.attacker_start == "verifier"
    return attacker.level.needs_verifier or (start and attacker.name == "verification")


def verifier_for(
    options: TrainOptions, attacker: Chosen, verifier: Callable[[], Path]
) -> Callable[[], Path]:
    """``verifier`` for those who say that they use it, so that their figures depend on it."""

    def refused() -> Path:
        raise UsageError(
            f"attacker {attacker.key} looks through the verifier of real images, but its level "
            "does not say so; add needs_verifier=True to it"
        )

    return verifier if uses_verifier(options, attacker) else refused


def model_made_by(model: Anonymizer) -> str:
    """Fingerprint of a method, for who knows it."""
    own = json.dumps([model.name, model.options, model.fingerprint], sort_keys=True, default=str)
    return fingerprint(own, sources(type(model)))


def _makers(build: Any, seen: set[int]) -> Iterator[str]:
    """The modules of a function that makes an attacker, and of what it names."""
    if id(build) in seen:
        return
    seen.add(id(build))
    if isinstance(build, partial):
        for part in (build.func, *build.args, *build.keywords.values()):
            yield from _makers(part, seen)
    elif isinstance(build, MethodType):
        yield from (*_makers(build.__func__, seen), *_makers(build.__self__, seen))
    elif isinstance(build, ModuleType):
        yield build.__name__
    elif isinstance(build, type):
        yield build.__module__
    elif isinstance(build, FunctionType):
        yield build.__module__
        if build.__module__ in EVERYONE:  # else its imports are followed
            for name in _names(build.__code__):
                yield from _makers(build.__globals__.get(name), seen)
        for cell in build.__closure__ or ():
            yield from _makers(cell.cell_contents, seen)
    elif isinstance(build, Callable):
        yield type(build).__module__


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
