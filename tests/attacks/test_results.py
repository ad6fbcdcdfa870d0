"""results.json, and a builder of made-up results that the other tests share."""

import json

import numpy as np
import pytest
from changing import altered
from pydantic import ValidationError

from anonymize.errors import DataError
from attacks.measuring.estimates import Estimate, LabelAuc, Matched
from attacks.results import (
    Attack,
    Classification,
    Cost,
    Displacement,
    ImageChange,
    Method,
    Results,
    Source,
    Utility,
)

LABELS = ("cardiomegaly", "effusion", "nodule", "pneumonia")


def estimate(mean, *, runs=1, sd=0.0, half=0.03):
    spread = mean + sd * np.linspace(-1, 1, runs) if runs > 1 else np.array([mean])
    return Estimate(
        mean=float(spread.mean()),
        sd=float(spread.std()),
        runs=spread.tolist(),
        ci95=None if half is None else (mean - half, mean + half),
    )


def attack(auc, *, knowledge="informed", runs=10, sd=0.012, half=0.03, p1=0.3):
    names = ("precision_at_1", "map_at_r", "r_precision", "r_s", "equal_error_rate")
    others = {
        n: estimate(p1 * f, runs=runs) for n, f in zip(names, (1, 0.8, 0.9, 1.3, 1), strict=True)
    }
    own = {"auc": auc, "auc_listed": auc - 0.01}
    figures = {n: estimate(v, runs=runs, sd=sd, half=half) for n, v in own.items()} | others
    return Attack.of(figures, knowledge=knowledge, scenario="made up")


def with_attacks(one, change):
    """The method with a ``change`` of each of its attacks."""
    return altered(one, privacy={k: change(a) for k, a in one.privacy.items()})


def matched(results, less=0.1):
    """The results with every attack's AUC lower by ``less`` against matched impostors, and one pair
    a patient lower by twice that."""

    def measured(found):
        figures = {
            "auc": estimate(found.auc.mean - less),
            "auc_patient": estimate(found.auc.mean - 2 * less),
        }
        return altered(found, matched=Matched.of(figures, impostor_pairs=9))

    methods = tuple(with_attacks(m, measured) for m in results.methods)
    return altered(results, methods=methods, matched_by=("findings", "age"))


def first_version(results):
    """The results as schema version 1 has them: nothing is matched."""
    return altered(results, version=1)


def classification(mean, *, half=0.02, missing=(), sides=()):
    labels = {n: None if n in missing else mean + 0.02 * i - 0.03 for i, n in enumerate(LABELS)}
    auc = LabelAuc(
        mean=mean, runs=(mean,) * 5, sd=0, ci95=(mean - half, mean + half), per_class=labels
    )
    sides = dict(zip(("told", "held_back"), (LabelAuc(mean=m) for m in sides), strict=False))
    return Classification(auc=auc, **sides)


def method(
    name, options, verification, floor, frozen, retrained, *, ssim=0.9, moved=None, **kwargs
):
    return Method(
        name=name,
        options=options,
        privacy={
            "verification": attack(verification, **kwargs),
            "training-free": attack(floor, knowledge="ignorant", runs=1, p1=0.2),
        },
        utility=Utility(frozen=classification(frozen), retrained=classification(retrained)),
        image=ImageChange(
            ssim=ssim,
            psnr=float("inf") if ssim == 1 else 28.4,
            displacement_px=Displacement(mean=moved / 3, max=moved) if moved else None,
            min_jacobian=0.81 if moved else None,
        ),
        cost=Cost(seconds_per_image=0.004),
    )


def made_up(**changes):
    """Results as a sound evaluation gives them: every check passes."""
    methods = (
        method("identity", {}, 0.904, 0.822, 0.846, 0.846, ssim=1),
        method("prichexy-net", {"mu": 0.001, "sigma": 2.0}, 0.873, 0.820, 0.845, 0.844, moved=0.13),
        method("prichexy-net", {"mu": 0.01, "sigma": 2.0}, 0.843, 0.815, 0.831, 0.842, moved=1.28),
        method("dp-pix", {"b": 1, "epsilon": 0.1}, 0.533, 0.502, 0.501, 0.592, ssim=0.03),
        method("dp-pix", {"b": 2, "epsilon": 0.1}, 0.535, 0.505, 0.503, 0.604, ssim=0.04),
        method("dp-pix", {"b": 8, "epsilon": 0.1}, 0.771, 0.532, 0.695, 0.804, ssim=0.31),
        method("privacy-net", {}, 0.612, 0.590, 0.575, 0.733, ssim=0.55),
    )
    parts = {
        "source": Source(name="phantom", images=412, patients=124, split={"train": 1400}),
        "command": "attacks evaluate --method identity",
        "methods": methods,
    }
    return Results(**(parts | changes))


def test_reading_gives_back_what_was_written(tmp_path):
    made_up().write(tmp_path / "results.json")
    again = Results.read(tmp_path / "results.json")
    assert again == made_up()
    again.write(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "results.json").read_bytes()


def test_a_command_of_any_bytes_is_no_loss_of_what_was_measured(tmp_path):
    made_up(command="attacks evaluate --root \udcff").write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json").command == "attacks evaluate --root ?"


@pytest.mark.parametrize("options", [{}, {"to": "{a}", "list": [{"b": [1, "}"]}, {}]}, {"x": []}])
def test_the_file_holds_the_same_whatever_its_lines(options, tmp_path):
    results = made_up(command="{", methods=(method("identity", options, 0.5, 0.5, 0.5, 0.5),))
    results.write(tmp_path / "results.json")
    found = json.loads((tmp_path / "results.json").read_text())
    assert found == results.model_dump(mode="json", by_alias=True)


def test_what_is_not_a_number_is_null(tmp_path):
    results = made_up()
    assert results.real.image.psnr is None
    labels = LabelAuc(mean=float("nan"), per_class={"nodule": np.float64("nan")})
    assert labels.mean is None
    assert labels.per_class["nodule"] is None
    results.write(tmp_path / "results.json")
    assert not {"NaN", "Infinity"} & set((tmp_path / "results.json").read_text().split())
    with pytest.raises(ValidationError, match="finite"):
        Estimate(mean=float("nan"), sd=0, runs=(1,))


def without(content, keys):
    """JSON without some keys, at any depth."""
    if isinstance(content, dict):
        return {k: without(v, keys) for k, v in content.items() if k not in keys}
    return [without(v, keys) for v in content] if isinstance(content, list) else content


def measured_in(folder):
    """All that results.json holds but for what a repetition changes."""
    return without(json.loads((folder / "results.json").read_text()), {"command", "cost", "made"})


def test_version_1_is_read(tmp_path):
    new = {
        *("floors", "matched_by", "matched", "auc_patient", "told", "held_back", "difference"),
        *("ece", "on_released", "pool_only", "readable", "steps", "converged", "training"),
        *("operating_points", "roc", "independent_comparisons", "differences", "p_below_chance"),
        *("r_s_all", "warm_start", "generators", "margin", "made"),
    }
    old = without(made_up().model_dump(mode="json", by_alias=True), new) | {"schema": 1}
    (tmp_path / "results.json").write_text(json.dumps(old))
    again = Results.read(tmp_path / "results.json")
    assert again.version == 1
    assert again.methods == made_up().methods


def test_the_strongest_is_chosen_in_both_readings_where_all_have_them():
    def against(auc, matched):
        figures = Matched.of({"auc": estimate(matched)}, impostor_pairs=9)
        return altered(attack(auc), matched=figures)

    found = {"a": against(0.9, 0.6), "b": against(0.85, 0.7)}
    assert Method(name="identity", privacy=found).strongest[0] == "b"
    found["c"] = attack(0.85)
    assert Method(name="identity", privacy=found).strongest[0] == "a"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 3}, "schema: .*expected schema version 1 or 2"),
        ({"extra": 1}, "extra: Extra inputs"),
        ({"methods": [{}]}, "methods.0.name: Field required"),
        (None, "results file: the file: Invalid JSON"),
    ],
)
def test_another_file_is_refused(tmp_path, change, message):
    content = made_up().model_dump(mode="json", by_alias=True)
    text = json.dumps(content | change) if change else "{"
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(DataError, match=message):
        Results.read(tmp_path / "results.json")


def test_titles_are_short_and_unique():
    assert made_up().titles() == [
        "real images",
        "prichexy-net μ=0.001",
        "prichexy-net μ=0.01",
        "dp-pix b=1, ε=0.1",
        "dp-pix b=2, ε=0.1",
        "dp-pix b=8, ε=0.1",
        "privacy-net",
    ]


def test_several_levels_of_one_attacker_stand_side_by_side(tmp_path):
    both = {
        "verification": attack(0.8),
        "verification:ignorant": attack(0.6, knowledge="ignorant", runs=1),
    }
    results = made_up(methods=(Method(name="identity", privacy=both),))
    results.write(tmp_path / "results.json")
    again = Results.read(tmp_path / "results.json")
    assert again.attackers == ("verification", "verification:ignorant")
    assert [a.knowledge for a in again.real.privacy.values()] == ["informed", "ignorant"]


def test_the_strongest_attacker_has_the_highest_auc():
    name, found = made_up().methods[2].strongest
    assert (name, round(found.auc.mean, 3)) == ("verification", 0.843)
    assert Method(name="identity").strongest is None
