"""What ``anonymize apply`` says of a release whose outputs are each made of several people."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from anonymize.errors import counted
from anonymize.release.reasons import Reason

# Whom attackers of means and patches find, and what needs no picture.
ATTACKERS = ("histogram-metric", "unmixing", "patchwise", "format", "identical")


def describe(summary, seconds: float, text: Sequence[str], attack: str) -> str:
    """The end of such a release in words.

    Args:
        text: what is said of burned-in text.
        attack: the command that attacks the release.
    """
    told = summary.together
    grouped_not = summary.reasons.get(Reason.NOT_GROUPED.value, 0)
    lines = [
        f"{counted(summary.inputs, 'file')}: {summary.anonymized} went into outputs, "
        f"{summary.already_done} done already, {summary.quarantined - grouped_not} quarantined, "
        f"{grouped_not} not grouped, {summary.left_out} not images "
        f"({summary.method}; {seconds:.1f} s)"
    ]
    lines += reasons(summary)
    waits = Reason.UNREVIEWED.value in summary.reasons
    if waits:
        lines.append("released   nothing: no manifest until somebody looked at every output")
    elif told["outputs"]:
        lines.append(f"released   {summary.out}: {counted(told['outputs'], 'output')}")
    else:
        lines.append(
            f"released   nothing: an output needs {told['people_per_output_asked']} different "
            "people whose images may be put together"
        )
    if not waits:
        lines.append(
            f"public     {summary.out}/manifest.csv, certificate.json and certificate.md: what was "
            "made of how many, and what is not promised" + _about_labels(told)
        )
    lines += [
        f"private    {summary.private}: map.csv (input to outputs), quarantine.csv, set.json; "
        "never hand it on",
        *_about_people(told),
        f"protection NOT SHOWN: {summary.evidence}; no differential privacy; whoever holds a "
        "person's very image may find out that it is in here",
        *text,
    ]
    if waits:
        lines.append(next_review(summary, "every output is"))
    elif summary.quarantined:
        lines.append(
            "next       quarantine.csv says why; mended or further files need another OUT, and "
            "only one of the releases may be handed on"
        )
    if told["outputs"] and not waits:
        lines.append(
            "next       whom do these files show? With the --patients of above, if there was "
            f"one: {attack} --attackers {','.join(ATTACKERS)}"
        )
    return "\n".join(lines)


def reasons(summary) -> list[str]:
    """How many files were not released, a line a reason."""
    return [f"  {count} {code}: {Reason(code).meaning}" for code, count in summary.reasons.items()]


def next_review(summary, waiting: str) -> str:
    """The command by which what waits is looked at."""
    command = shlex.join(["anonymize", "review", summary.out, *private_option(summary)])
    return f"next       {waiting} to be looked at: {command}"


def private_option(summary) -> list[str]:
    """How a further command finds the private folder."""
    beside = Path(summary.private) == Path(f"{summary.out}-private")
    return [] if beside else ["--private", summary.private]


def _about_labels(told) -> str:
    names = ", ".join(told["labels"])
    return f"; labels.csv: each output's {names}" if names else ""


def _about_people(told) -> list[str]:
    if not told["outputs"]:
        return []
    lines = [
        f"people     {told['patients']} in {counted(told['groups'], 'group')} of "
        f"{told['patients_per_group_min']} or more; {told['people_per_output_min']} or more in "
        "each output, as far as --patients or the headers are right"
    ]
    if told["guess_at_most"] is not None:
        lines.append(
            "           at which of them somebody is, a guess from one output is right "
            f"{told['guess_at_most']:.3g} of the time on average, at most"
        )
    if told["largest_share_of_an_image"] is not None:
        lines.append(
            f"warning    real pixels: up to {told['largest_share_of_an_image']:.3g} of an image of "
            "everybody is shown, in patches that may be recognized"
        )
    return lines + _about_findings(told)


def _about_findings(told) -> list[str]:
    """What whoever is found among these people is known to have."""
    if not told["labels"]:
        return []
    common, lines = told["in_common"], []
    most = f"of {counted(told['groups'], 'group')}", f"of {counted(told['outputs'], 'output')}"
    have = common["groups_where_all_have_a_finding"], common["outputs_where_all_have_a_finding"]
    alike = common["groups_alike"], common["outputs_alike"]
    if have != (0, 0):
        lines.append(
            f"warning    in {have[0]} {most[0]} and {have[1]} {most[1]} all people have one and "
            f"the same finding, most often {common['most_often']}: whoever is found there has it"
        )
    if alike != have:
        lines.append(
            f"warning    in {alike[0]} {most[0]} and {alike[1]} {most[1]} all have some finding "
            "or all have it not: of whoever is found there, that is known"
        )
    return lines
