"""What `anonymize train` says at its end is what the figures say, in words."""

import pytest
from changing import altered
from test_results import attack, estimate, made_up, method

from attacks.measuring.estimates import Difference
from attacks.reporting.findings_read import Read, verdict
from attacks.reporting.first_look import ATTACKER, said

NOTHING = [Read(float("nan"))] * 3


def read(own=0.79, beside=0.6, half=0.02):
    """What a classifier reads that reads 0.8 in real images."""
    less = (estimate(auc - 0.8, half=half or 0) for auc in (own, beside))
    if half is None:
        less = (altered(one, ci95=None) for one in less)
    return [Read(0.8), *map(Read, (own, beside), less)]


def looked(own, beside=0.7, half=0.02, reads=None, beside_half=None):
    """A look at a model of this AUC among real images of 0.9; without ``half`` of no interval."""
    halves = {"dp-pix": beside_half or half}

    def one(name, auc, **options):
        made = method(name, options, auc, 0.5, 0.8, 0.8)
        found = attack(auc, half=half or 0, runs=1)
        if half is None:
            found = altered(found, auc={"ci95": None})
        if name != "identity":
            difference = estimate(auc - 0.9, half=halves.get(name, half) or 0)
            to_real = Difference(to="real images", role="real", difference=difference)
            found = altered(found, differences=(to_real,))
        return altered(made, privacy={ATTACKER: found})

    methods = (
        one("identity", 0.9),
        one("prichexy-net", own, mu=0.01),
        one("dp-pix", beside, b=8, epsilon=0.1),
    )
    return "\n".join(said(made_up(methods=methods), reads or read()))


@pytest.mark.parametrize(
    ("auc", "words"),
    [
        (0.901, "No: its images are linked like real ones."),
        (0.89, "No: its images are linked like real ones."),
        (0.72, "Hardly: released images are harder to link than real ones, and linked still."),
        (0.51, "From this attacker, yes."),
        (0.45, "Not shown: below chance, its scores are misled, not blind."),
    ],
)
def test_whom_a_model_hides_is_one_sentence(auc, words):
    told = looked(auc)
    assert told.startswith(f"Does it hide anybody? {words} ")
    assert f"{auc:.3f} ({auc - 0.02:.3f}–{auc + 0.02:.3f})" in told
    less = f"{auc - 0.9:+.3f} ({auc - 0.92:+.3f} to {auc - 0.88:+.3f})".replace("-", "−")
    assert f"on real images 0.900 (0.880–0.920), a difference of {less}" in told


def test_what_hides_more_is_said_with_its_price_and_its_command():
    told = looked(0.9, beside=0.7)
    assert "DP-Pix, AUC 0.700" in told
    assert "the same classifier loses 0.200 (0.180–0.220) of AUC by it, one taught by" in told
    assert "anonymize apply IN OUT --model dp-pix:b=8,epsilon=0.1" in told
    assert told.endswith("anonymize recommend")


def test_no_price_is_said_where_no_finding_can_be_read():
    told = looked(0.9, reads=NOTHING)
    assert "No finding can be judged: fewer than 3 patients" in told
    assert "DP-Pix, AUC 0.700 (0.680–0.720):" in told
    assert "nan" not in told


@pytest.mark.parametrize(
    "figures",
    [
        {"own": 0.9, "beside": 0.89},  # by too little
        {"own": 0.9, "beside": 0.82, "beside_half": 0.1},  # not for sure
        {"own": 0.72, "beside": 0.8},  # more than nothing, and less than the model
    ],
)
def test_where_nothing_hides_more_the_search_for_it_is_named(figures):
    told = looked(**figures)
    assert "Nor does DP-Pix" in told
    assert "anonymize apply" not in told
    assert told.endswith("What may:\n  anonymize recommend")


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"own": 0.804}, "Findings are read as well as in real images, +0.004 (−0.016 to +0.024):"),
        ({"own": 0.8, "half": None}, "Findings are read as well as in real images, +0.000:"),
        ({"own": 0.77}, "Findings are read worse than in real images, by 0.030 (0.010–0.050):"),
        ({"own": 0.78, "half": 0.1}, "Too few patients to tell whether findings are read as well"),
        ({"own": 0.6, "half": None}, "Too few patients to tell whether findings are read as well"),
    ],
)
def test_a_verdict_on_findings_stands_before_the_figures(figures, words):
    real, own, _ = read(**figures)
    told = verdict(real, own)
    assert told.startswith(words)
    assert f": AUC {own.auc:.3f}, there 0.800, by one classifier" in told
    assert f"  {told}\n" in looked(0.9, reads=read(**figures))


def test_a_release_that_is_read_as_well_loses_nothing():
    assert "the same classifier loses nothing by it" in looked(0.9, reads=read(beside=0.81))


def test_who_seems_hidden_is_not_declared_safe():
    assert "Stronger attackers may find more" in looked(0.51)


@pytest.mark.parametrize("half", [0.2, None])
def test_a_wide_interval_or_none_is_no_proof_of_protection(half):
    assert looked(0.6, half=half).startswith("Does it hide anybody? Too few patients to tell.")
