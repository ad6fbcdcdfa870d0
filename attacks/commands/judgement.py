"""``--policy`` of a command: figures judged by it, printed and kept, and an exit status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonymize import whole_file
from anonymize.commands.common import options_in_order
from anonymize.errors import UsageError

if TYPE_CHECKING:
    from attacks.evaluation.policies.demands import Verdict
    from attacks.evaluation.policies.guidelines import Answers, Guided
    from attacks.evaluation.policies.policy import Policy
    from attacks.evaluation.policies.release_seen import ReleaseSeen
    from attacks.linkage.release_results import ReleaseResults
    from attacks.results import Results

NOT_PASSED = 5  # exit status
Told = tuple[tuple["Verdict", ...], dict[str, Any]]  # verdicts, and all of it as plain data


_POLICY, _RELEASE, _ANSWERS = (
    click.option(
        "--policy",
        metavar="NAME|FILE",
        help="Thresholds to judge by: public, controlled, internal, or a YAML file.",
    ),
    click.option(
        "--release",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="A release of this method, whose headers and text the policy demands.",
    ),
    click.option(
        "--answers",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="What a person answers to the guidelines. [OUT/answers.yaml, to be filled in]",
    ),
)
policy_options = options_in_order(_POLICY, _RELEASE, _ANSWERS)
release_policy_options = options_in_order(_POLICY, _ANSWERS)  # where the release is an argument


@dataclass(frozen=True)
class Judge:
    """A policy and what it is shown beside results."""

    policy: Policy
    release: ReleaseSeen | None
    answers: Answers
    file: Path

    @classmethod
    def of(
        cls, policy: str | None, release: Path | None, answers: Path | None, out: Path
    ) -> Judge | None:
        """None without a policy. All of it is looked at before anything is measured. Raises
        UsageError: a policy, release or answers that cannot be read, those without a policy, or an
        ``out`` in the release."""
        if (known := policy_of(policy, release, answers)) is None:
            return None
        from attacks.evaluation.policies.guidelines import read_answers
        from attacks.evaluation.policies.release_seen import ReleaseSeen
        from attacks.linkage.named import refuse_inside

        if release is not None:
            refuse_inside(out, str(release), "--release")
        seen = None if release is None else ReleaseSeen.of(release)
        file = answers or out / "answers.yaml"
        return cls(known, seen, read_answers(file), file)

    def tell_files(self, results: ReleaseResults, people: int) -> tuple[Verdict, dict[str, Any]]:
        """The verdict on files that were attacked, and it with the guidelines as plain data;
        ``people`` are shown by the real ones."""
        from attacks.evaluation.policies.guidelines import Facts, guided
        from attacks.linkage.release_verdict import judged_release

        answered = guided(Facts(None, self.release, self.answers.overlaps), self.answers)
        verdict = judged_release(results, people, self.policy, self.release, answered)
        self._ask()
        return verdict, as_content([verdict], answered)

    def _ask(self) -> None:
        from attacks.evaluation.policies.guidelines import template

        if not self.file.exists():
            whole_file.write(self.file, template(), mode=0o600)

    def tell(self, results: Results, out: Path, methods: Sequence[str] | None) -> Told:
        """Writes OUT/verdict.md; gives the verdicts, and them with the guidelines as plain data.
        ``methods``: titles of those that were asked for; None: all."""
        from attacks.evaluation.policies.guidelines import Facts, guided
        from attacks.evaluation.policies.verdict import judged
        from attacks.reporting.policy_tables import verdict_page

        facts = Facts(results, self.release, self.answers.overlaps)
        answered = guided(facts, self.answers)
        verdicts = judged(
            results, self.policy, release=self.release, guided=answered, methods=methods
        )
        self._ask()
        whole_file.write(out / "verdict.md", verdict_page(results, verdicts, answered))
        return verdicts, as_content(verdicts, answered)


def policy_of(policy: str | None, release: Path | None, answers: Path | None) -> Policy | None:
    """The policy, None without one; what is wrong is said before torch is imported. Raises
    UsageError: a policy or answers that cannot be read, no release, or those without a policy."""
    if policy is None:
        if release is not None or answers is not None:
            raise UsageError("--release and --answers are judged by a --policy; name one")
        return None
    from anonymize.release.places import MANIFEST
    from attacks.evaluation.policies.policy import read_policy

    if answers is not None and not answers.exists():
        raise UsageError("--answers must be a file; leave it out to get one in OUT")
    if release is not None and not (release / MANIFEST).is_file():
        raise UsageError(
            f"--release must be the folder that anonymize apply wrote; it has no {MANIFEST}"
        )
    return read_policy(policy)


def as_content(verdicts: Sequence[Verdict], answered: Sequence[Guided]) -> dict[str, Any]:
    """Verdicts and guidelines as plain data."""
    return {
        "verdict": [{**asdict(v), "outcome": v.outcome} for v in verdicts],
        "guidelines": [asdict(g) for g in answered],
    }


def status(verdicts: Sequence[Verdict]) -> int:
    """The exit status: 0 where there are verdicts and all are passed."""
    return 0 if verdicts and all(verdict.passed for verdict in verdicts) else NOT_PASSED


def said(verdicts: Sequence[Verdict]) -> list[str]:
    """What is printed: a headline for each method, and its lines."""
    lines = []
    for verdict in verdicts:
        lines.append(f"VERDICT, {verdict.policy}, {verdict.method}: {verdict.outcome}")
        lines += [f"  {line.in_words()}" for line in verdict.lines]
    return lines
