"""What a release has to keep to before somebody signs for it: thresholds, read from YAML."""

from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import Field, model_validator

from anonymize import section, yaml_text
from anonymize.configuration import configs_folder
from anonymize.errors import UsageError


class Population(section.Options):
    """Linkage risk in a gallery of so many people: patients with several images who are found."""

    people: int = Field(ge=2, le=10**9, description="in the adversary's gallery")
    most: float = Field(gt=0, lt=1, description="share of the patients who are found, at most")
    very_image: bool = Field(
        False, description="also by an adversary who holds the very images that were released"
    )


class Usefulness(section.Options):
    """What a classifier has to read still."""

    margin: float = Field(gt=0, lt=0.5, description="of its AUC, that it may lose at most")
    kind: Literal["frozen", "retrained"] = Field("retrained", description="the classifier")
    equivalent: bool = Field(
        False, description="it may not gain more, either: two one-sided tests at 5 %"
    )


class Policy(section.Options):
    """Demands; one that is left out is not made. Raises UsageError: no demand at all."""

    title: str
    matched_auc: float | None = Field(
        None, ge=0.5, le=1, description="of any attacker, against matched impostors, at most"
    )
    precision_at_1: float | None = Field(
        None, gt=0, le=1, description="of any attacker in the gallery evaluated, at most"
    )
    r_s: Population | None = None
    utility: Usefulness | None = None
    min_jacobian: float | None = Field(None, description="of a displacement, at least")
    headers: bool = Field(False, description="`anonymize verify` finds the release sound")
    text: bool = Field(False, description="burned-in text was looked for in every released file")
    checks: bool = Field(False, description="every check whether to trust the figures is passed")
    guidelines: Literal["A", "P"] | None = Field(
        None, description="all of A1–A7 (anonymous data) or P1–P4 (personal data) are answered yes"
    )

    @model_validator(mode="after")
    def _demands_something(self) -> Self:
        demands = [name for name in type(self).model_fields if name != "title"]
        made = [getattr(self, name) for name in demands]
        if all(value is None or value is False for value in made):  # 0 is a demand
            raise ValueError(
                f"a policy must demand something; name at least one of {', '.join(demands)}"
            )
        return self


def policy_names() -> list[str]:
    """Those that come with the package."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def read_policy(policy: str) -> Policy:
    """By name or file. Raises UsageError: no such policy, no YAML, an unknown demand or a value out
    of range."""
    known = policy_names()
    path = _folder() / f"{policy}.yaml" if policy in known else Path(policy)
    try:
        values = yaml_text.read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(
            f"--policy must be one of {', '.join(known)} or a readable YAML file; got {policy!r} "
            f"({type(error).__name__})"
        ) from None
    if not isinstance(values, dict):
        raise UsageError(f"--policy {policy!r} must hold keys and values, as docs/verdict.md says")
    found: Policy = section.validated(Policy, values)
    return found


def _folder() -> Path:
    return configs_folder() / "policies"
