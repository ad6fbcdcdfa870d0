"""``--policy`` of a command: figures judged by it, printed and kept, and an exit status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonymize import whole_file
from anonymize.errors import UsageError

if TYPE_CHECKING:
    from attacks.evaluation.guidelines import Answers
    from attacks.evaluation.policy import Policy
    from attacks.evaluation.release_seen import ReleaseSeen
    from attacks.evaluation.verdict import Verdict
    from attacks.results import Results

NOT_PASSED = 5  # exit status
Told = tuple[tuple["Verdict", ...], dict[str, Any]]  # verdicts, and all of it as plain data


def policy_options(command: Callable) -> Callable:
    """``--policy``, ``--release`` and ``--answers``."""
    for option in (
        click.option(
            "--answers",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="What a person answers to the guidelines. [OUT/answers.yaml, to be filled in]",
        ),
        click.option(
            "--release",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="A release of this method, whose headers and text the policy demands.",
        ),
        click.option(
            "--policy",
            metavar="NAME|FILE",
            help="Thresholds to judge by: public, controlled, internal, or a YAML file.",
        ),
    ):
        command = option(command)
    return command


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
        """None without a policy. All of it is looked at before anything is measured.

        Raises:
            UsageError: a policy, release or answers that cannot be read, or those without a policy.
        """
        from attacks.evaluation.guidelines import read_answers
        from attacks.evaluation.policy import read_policy
        from attacks.evaluation.release_seen import ReleaseSeen

        if policy is None:
            if release is not None or answers is not None:
                raise UsageError("--release and --answers are judged by a --policy; name one")
            return None
        known = read_policy(policy)
        if answers is not None and not answers.exists():
            raise UsageError("--answers must be a file; leave it out to get one in OUT")
        seen = None if release is None else ReleaseSeen.of(release)
        file = answers or out / "answers.yaml"
        return cls(known, seen, read_answers(file), file)

    def tell(self, results: Results, out: Path, methods: Sequence[str] | None) -> Told:
        """Writes OUT/verdict.md; gives the verdicts, and them with the guidelines as plain data.

        Args:
            methods: titles of those that were asked for; None: all.
        """
        from attacks.evaluation.guidelines import Facts, guided, template
        from attacks.evaluation.verdict import judged
        from attacks.reporting.policy_tables import verdict_page

        facts = Facts(results, self.release, self.answers.overlaps)
        answered = guided(facts, self.answers)
        verdicts = judged(
            results, self.policy, release=self.release, guided=answered, methods=methods
        )
        if not self.file.exists():
            whole_file.write(self.file, template(), mode=0o600)
        whole_file.write(out / "verdict.md", verdict_page(results, verdicts, answered))
        return verdicts, {
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
