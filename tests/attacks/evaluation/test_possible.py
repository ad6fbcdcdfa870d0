"""What a data set has nothing for is left out of an evaluation, and said."""

from dataclasses import replace

import pytest
from changing import altered

from anonymize.errors import DataError
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


def test_a_part_where_nobody_can_be_found_is_refused_before_anything_is_trained(data, options):
    table = data.table
    alone = table.with_frame(table.frame.drop_duplicates("patient_id").reset_index(drop=True))
    strangers = replace(data, table=alone)
    plan = Plan([Entrant("identity")], options, attackers=("training-free",))
    with pytest.raises(DataError, match="nobody there has several images"):
        possible(plan, strangers)
    own = altered(options, evaluation={"scenario": "before-after"})
    possible(Plan([Entrant("identity")], own, attackers=("training-free",)), strangers)
    possible(Plan([Entrant("identity")], options, attackers=("identical",)), strangers)
