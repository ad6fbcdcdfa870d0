"""What a data set has nothing for is left out of an evaluation, and said."""

from dataclasses import replace

from changing import altered

from attacks.evaluation.plan import Entrant, Plan, possible


def test_utility_is_left_out_where_there_are_no_findings(data, options):
    options = altered(options, evaluation={"utility": True})
    plan = Plan([Entrant("identity")], options, attackers=("training-free",))
    same, why = possible(plan, data)
    assert same.measures_utility
    assert not why
    bare = replace(data, table=replace(data.table, labels=()))
    without, why = possible(plan, bare)
    assert not without.measures_utility
    assert not without.needs_classifier
    assert why == ("utility is left out: source phantom has no findings to read",)
