"""What makes the scores of an attacker: its options, and the program from its class downwards."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from anonymize.anonymizer import Anonymizer
from anonymize.errors import UsageError
from anonymize.fingerprint import fingerprint, sources
from anonymize.options import TrainOptions
from anonymize.plugins import installed
from anonymize.section import Product
from attacks.attacker import section_of
from attacks.registry import GROUP, Chosen, attacker_class

COMPUTE_NOTHING = (
    __name__,
    "anonymize.display",
    "anonymize.folder_lock",
    "anonymize.whole_file",  # writes what it is given
    "attacks.evaluation.plan",  # says who attacks what, which is among the values
    "attacks.evaluation.processes.work",  # says how far it is
)


def attack_made_by(
    options: TrainOptions, attackers: Iterable[Chosen], user: str, *others: Any
) -> str:
    """Fingerprint of what makes the scores of these attackers from images that are known.

    Args:
        user: module that lets them attack.
        others: of :func:`fingerprint`: whatever else they depend on.
    """
    chosen = list(attackers)
    return fingerprint(
        [(attacker.name, attacker.knowledge) for attacker in chosen],
        attack_options(options, (attacker.name for attacker in chosen)),
        program(chosen, user),
        others,
    )


def learnt_by(options: TrainOptions, attacker: Chosen, user: str, *others: Any) -> str:
    """Fingerprint of what makes an attacker that learns from real images alone, at whatever level;
    arguments as of :func:`attack_made_by`."""
    return fingerprint(attack_options(options, [attacker.name]), program([attacker], user), others)


def program(attackers: Iterable[Chosen], *users: str, libraries: bool = True) -> str:
    """Fingerprint of the sources of attackers and of the modules that use them, and of the versions
    of the libraries that these use, unless they are not to count."""
    makers = (attacker_class(attacker.name) for attacker in attackers)
    return sources(*makers, *users, without=COMPUTE_NOTHING, libraries=libraries)


def attack_options(
    options: TrainOptions, attackers: Iterable[str] = (), to: Product = "scores"
) -> dict[str, Any]:
    """The options that "scores" or "figures" depend on, without the sections of other attackers."""
    found, mine = options.that_matter(to) | who_is_tested(options), set(attackers)
    strangers = {section_of(name) for name in installed(GROUP) if name not in mine}
    evaluation = found["evaluation"]
    return found | {"evaluation": {k: v for k, v in evaluation.items() if k not in strangers}}


def who_is_tested(options: TrainOptions) -> dict[str, Any]:
    """The list of test pairs, where one is given: nothing learns from its patients, so that all
    that learns depends on it."""
    listed = options.data.test_list
    return {} if listed is None else {"data.test_list": listed}


def verifier_for(
    options: TrainOptions, attacker: Chosen, verifier: Callable[[], Path]
) -> Callable[[], Path]:
    """``verifier`` for those who say that they use it, so that their figures depend on it."""

    def refused() -> Path:
        raise UsageError(
            f"attacker {attacker.key} looks through the verifier of real images, but its level "
            "does not say so; add needs_verifier to it"
        )

    return verifier if attacker.level.needs_verifier(options) else refused


def model_made_by(model: Anonymizer) -> str:
    """Fingerprint of a method, for who knows it."""
    own = json.dumps([model.name, model.options, model.fingerprint], sort_keys=True, default=str)
    return fingerprint(own, sources(type(model)))
