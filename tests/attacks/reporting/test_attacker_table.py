"""Every attacker, and the strongest."""

from test_results import first_version

from attacks.measuring.estimates import Estimate
from attacks.reporting.attacker_table import attacker_table
from attacks.reporting.tables import MAX_ATTACKER_COLUMNS, table
from attacks.results import Attack, Method, Results, Source


def levelled(auc, knowledge="informed", compares="released-real", validation=None):
    estimate = Estimate(mean=auc, sd=0, runs=(auc,), ci95=(auc - 0.1, min(auc + 0.1, 1)))
    return Attack(knowledge=knowledge, compares=compares, auc=estimate, auc_validation=validation)


def several(**more):
    real = {
        "contrastive": levelled(0.9, validation=0.8),
        "pixels:lazy": levelled(0.6, "lazy", "released-released", 0.6),
        "training-free": levelled(0.85, "ignorant", validation=0.83),
        **more,
    }
    released = {"contrastive": levelled(0.7, validation=0.9)}
    return Results(
        source=Source(name="phantom", images=1, patients=1),
        methods=(
            Method(name="identity", privacy=real),
            Method(name="dp-pix", options={"b": 8}, privacy=released),
        ),
    )


def test_one_attacker_a_row():
    header, rows = attacker_table(first_version(several()))
    assert header == ["attacker", "knowledge", "compares", "impostors", "real images", "dp-pix b=8"]
    assert rows[0] == [
        *("contrastive", "informed", "released ↔ real", "all"),
        *("0.900 (0.80–1.00)", "0.700 (0.60–0.80)"),
    ]
    assert rows[1][:3] == ["pixels", "lazy", "released ↔ released"]
    assert rows[1][5] == "–"


def test_the_strongest_on_validation_and_its_gain():
    _, rows = attacker_table(first_version(several()))
    name = "**strongest, image by image**"
    assert rows[-2] == [name, "", "", "all", "training-free 0.850", "contrastive 0.700"]
    assert rows[-1] == ["above plain HOG by", "", "", "all", "+0.000", "–"]


def test_sets_are_told_more_and_stand_apart():
    _, rows = attacker_table(first_version(several(sets=levelled(0.99, validation=0.95))))
    assert rows[-3][4] == "training-free 0.850"
    assert rows[-1] == ["**strongest of all**", "", "", "all", "sets 0.990", "contrastive 0.700"]


def test_a_wide_table_shows_the_first_and_the_strongest():
    more = {f"a{i}": levelled(0.5, validation=0.5) for i in range(MAX_ATTACKER_COLUMNS)}
    header, rows = table(first_version(several(**more)))
    assert header[:3] == [
        "method",
        "contrastive AUC ↓, all impostors",
        "strongest AUC ↓, all impostors",
    ]
    assert rows[0][1:3] == ["0.900 (0.800–1.000)", "0.850 (0.750–0.950)"]
    assert len({len(header), *map(len, rows)}) == 1


def test_the_strongest_of_all_is_not_called_as_the_strongest_of_single_images():
    more = {f"a{i}": levelled(0.5, validation=0.5) for i in range(MAX_ATTACKER_COLUMNS)}
    told = {"sets": levelled(0.99, validation=0.95)}
    header, rows = table(first_version(several(**more, **told)))
    assert header[2] == "strongest of all AUC ↓, all impostors"
    assert rows[0][2].startswith("0.990")
