"""What `anonymize train` says at its end is what the figures say, in words."""

import pytest
from changing import altered
from test_results import attack, estimate, made_up, method

from attacks.measuring.estimates import Difference
from attacks.reporting.first_look import ATTACKER, said


def looked(own, beside=0.7, half=0.02, reads=(0.8, 0.79, 0.6)):
    """A look at a model of this AUC among real images of 0.9; without ``half`` of no interval."""

    def one(name, auc, **options):
        made = method(name, options, auc, 0.5, 0.8, 0.8)
        found = attack(auc, half=half or 0, runs=1)
        if half is None:
            found = altered(found, auc={"ci95": None})
        if name != "identity":
            difference = estimate(auc - 0.9, half=half or 0)
            to_real = Difference(to="real images", role="real", difference=difference)
            found = altered(found, differences=(to_real,))
        return altered(made, privacy={ATTACKER: found})

    methods = (
        one("identity", 0.9),
        one("prichexy-net", own, mu=0.01),
        one("dp-pix", beside, b=8, epsilon=0.1),
    )
    return "\n".join(said(made_up(methods=methods), list(reads)))


@pytest.mark.parametrize(
    ("auc", "words"),
    [
        (0.901, "No: its images are linked like real ones."),
        (0.88, "No: its images are linked like real ones."),
        (0.72, "Hardly: released images are harder to link than real ones, and linked still."),
        (0.51, "From this attacker, yes."),
        (0.45, "Not shown: below chance, its scores are misled, not blind."),
    ],
)
def test_whom_a_model_hides_is_one_sentence(auc, words):
    told = looked(auc)
    assert told.startswith(f"Does it hide anybody? {words} ")
    assert f"{auc:.3f} ({auc - 0.02:.3f}–{auc + 0.02:.3f})" in told
    assert "on real images 0.900" in told


def test_what_hides_more_is_said_with_its_price_and_its_command():
    told = looked(0.9, beside=0.7)
    assert "DP-Pix, AUC 0.700" in told
    assert "then reads 0.600" in told
    assert "anonymize apply IN OUT --model dp-pix:b=8,epsilon=0.1" in told
    assert told.endswith("anonymize recommend")


def test_no_price_is_said_where_no_finding_can_be_read():
    told = looked(0.9, reads=[float("nan")] * 3)
    assert "No finding of the test part can be read" in told
    assert "DP-Pix, AUC 0.700 (0.680–0.720):" in told
    assert "nan" not in told


def test_where_nothing_hides_more_none_is_recommended():
    told = looked(0.9, beside=0.89)
    assert "Nor does DP-Pix" in told
    assert "anonymize apply" not in told


def test_who_seems_hidden_is_not_declared_safe():
    assert "Stronger attackers may find more" in looked(0.51)


@pytest.mark.parametrize("half", [0.2, None])
def test_a_wide_interval_or_none_is_no_proof_of_protection(half):
    assert looked(0.6, half=half).startswith("Does it hide anybody? Too few patients to tell.")
