"""What every check of an evaluation has in common: what it looked at, and what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attacks.results import Check, Method, Results


def judged(
    name: str, looked_at: Iterable, wrong: Iterable[str], *, good: str, bad: str, most: int = 6
) -> Check | None:
    """None without anything looked at; otherwise passed where nothing is wrong."""
    if not list(looked_at):
        return None
    wrong = list(wrong)
    if not wrong:
        return Check(name=name, passed=True, message=sentence(good))
    more = [f"{len(wrong) - most} more"] if len(wrong) > most else []
    return Check(
        name=name, passed=False, message=sentence(bad.format("; ".join(wrong[:most] + more)))
    )


def sentence(text: str) -> str:
    """The text with a capital letter."""
    return text[0].upper() + text[1:]


def titled(results: Results) -> Iterator[tuple[str, Method]]:
    """Every method with its title."""
    return zip(results.titles(), results.methods, strict=True)
