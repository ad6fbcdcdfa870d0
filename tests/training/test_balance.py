"""The weights of L_aux and L_ver: equal norms, a constraint that is met, state that moves."""

import math

import numpy as np
import pytest
import torch

from anonymize.options import AdversarialOptions
from anonymize.training.balance import BALANCES, Terms
from anonymize.training.compute import Compute, Part

COMPUTE, ZERO = Compute(), torch.zeros(())


def balance(kind, **options):
    return BALANCES[kind](AdversarialOptions(balance=kind, **options))


def part(rows=4, batch=4):
    return Part([np.arange(rows)], 0, np.arange(batch))


def terms(auxiliary, verification, real=0.0):
    return Terms(auxiliary, verification, torch.as_tensor(real), ZERO)


def test_fixed_is_eq_4():
    fixed = balance("fixed", verification_weight=3)
    assert fixed.loss(terms(torch.tensor(2.0), torch.tensor(0.5))) == 3.5
    assert fixed.figures() == {}


@pytest.mark.parametrize("parts", [1, 2])
def test_norms_make_both_gradients_as_long_as_asked(parts):
    norms = balance("norms", verification_weight=0.5)
    output = torch.randn(4, 2, 3, 3, requires_grad=True)
    for rows in output.chunk(parts):
        found = terms((7 * rows).square().mean(), (rows * 0.1).sin().mean())
        norms.observe(found, output, part(4 // parts), COMPUTE)
    norms.step(COMPUTE)
    whole = terms((7 * output).square().mean(), (output * 0.1).sin().mean())
    lengths = [
        float(torch.autograd.grad(t, output, retain_graph=True)[0].norm()) for t in whole[:2]
    ]
    assert norms.weight == pytest.approx(lengths[0] / lengths[1], rel=1e-5)
    (joint,) = torch.autograd.grad(norms.loss(whole) - whole.auxiliary, output)
    assert float(joint.norm()) == pytest.approx(lengths[0] / 2, rel=1e-5)


def test_norms_are_averaged_over_steps():
    norms = balance("norms", balance_rate=0.1)
    output = torch.ones(1, requires_grad=True)
    for factor in [1.0] * 20 + [math.e]:
        norms.observe(terms(factor * output.sum(), output.sum()), output, part(), COMPUTE)
        norms.step(COMPUTE)
    assert math.log(norms.weight) == pytest.approx(0.1, rel=1e-5)


@pytest.mark.parametrize("factors", [(1, 0), (1, math.inf), (math.inf, math.inf)])
def test_a_term_without_gradient_or_with_too_large_a_one_leaves_the_weight(factors):
    norms = balance("norms")
    output = torch.ones(1, requires_grad=True)
    norms.observe(terms(*(factor * output.sum() for factor in factors)), output, part(), COMPUTE)
    norms.step(COMPUTE)
    assert norms.weight == 1


def test_the_constraint_is_met_and_used_up():
    """Least (x − 1)² under x² ≤ 0.25 + tolerance lies at the border."""
    constraint = balance("constraint", tolerance=0.11, balance_rate=0.05)
    x = torch.zeros((), requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.02)
    for _ in range(600):
        found = terms(x.square(), (x - 1).square(), real=0.25)
        optimizer.zero_grad()
        constraint.loss(found).backward()
        optimizer.step()
        constraint.observe(found, x, part(), COMPUTE)
        constraint.step(COMPUTE)
    assert float(x.detach()) == pytest.approx(0.6, abs=0.02)
    assert constraint.weight == pytest.approx((1 - 0.6) / 0.6, rel=0.1)  # the KKT multiplier


def test_the_multiplier_sees_the_whole_batch():
    whole, parts = balance("constraint"), balance("constraint")
    whole.observe(terms(torch.tensor(0.07), ZERO), ZERO, part(4), COMPUTE)
    for value, rows in ((0.1, 1), (0.06, 3)):
        parts.observe(terms(torch.tensor(value), ZERO), ZERO, part(rows), COMPUTE)
    for one in (whole, parts):
        one.step(COMPUTE)
    assert whole.weight > 1
    assert parts.weight == pytest.approx(whole.weight)


@pytest.mark.parametrize("kind", ["norms", "constraint"])
def test_epochs_are_judged_whatever_the_weight_is(kind):
    one = balance(kind)
    found = Terms(*map(torch.tensor, (0.4, 0.3, 0.2, 0.6)))
    before = one.verdict(found)
    one.move(2.0)
    assert one.verdict(found) == before
    better = found._replace(verification=torch.tensor(0.2))
    assert one.verdict(better) < before
    assert one.loss(found) != balance(kind).loss(found)


@pytest.mark.parametrize("kind", ["norms", "constraint"])
def test_the_weight_is_state(kind):
    one, again = balance(kind), balance(kind)
    one.move(0.1234567890123)
    again.load_state_dict(one.state_dict())
    assert again.weight == one.weight != 1
