"""Tables of several evaluations say what stands beside their figures, counted a second way."""

import json
import re

import compared
import pytest
from reproduced import RESULTS

EVERY = (compared.MINIATURE, compared.STRONG, compared.DRAWN, *compared.GAMES)


@pytest.mark.parametrize("key", EVERY)
def test_below_the_control_stands_how_far_the_generators_were_trained(key):
    table, said = compared.against_control(key).split("\n\n")[:2]
    rest, count, steps = re.fullmatch(
        r"Generators that converged: (\d+) of (\d+) after (.+) steps\.", said.strip()
    ).groups()
    row = [cell.strip() for cell in table.splitlines()[-1].split("|")[1:-1]]
    assert count == row[-4]
    text = (RESULTS / key / "results.json").read_text(encoding="utf-8")
    found = [m for m in json.loads(text)["methods"] if '"control"' in json.dumps(m["privacy"])]
    assert len(found) == int(count)
    assert sum(m["converged"] for m in found) == int(rest)
    assert {m["steps"] for m in found} == {int(n.replace(",", "")) for n in steps.split(" or ")}


def test_nothing_is_said_where_no_generator_was_trained():
    assert compared._come_to_rest(compared.results("sets").methods) == []


def test_bounds_apart_are_the_generators_together():
    """Of each attacker the counts of all bounds add up to those of the whole evaluation."""

    def counts(text):
        rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:2] == "| "]
        return [(*row[:2], *map(int, row[-4:])) for row in rows if row[-1].isdecimal()]

    apart, together = (
        f(compared.OBJECTIVES) for f in (compared.by_bound, compared.against_control)
    )
    whole = {row[:2]: row[2:] for row in counts(together)}
    summed = dict.fromkeys(whole, (0, 0, 0, 0))
    for *of, a, b, c, d in counts(apart):
        summed[tuple(of)] = tuple(map(sum, zip(summed[tuple(of)], (a, b, c, d), strict=True)))
    assert summed == whole
    assert all(row[0] > 0 for row in whole.values())
