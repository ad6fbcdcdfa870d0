"""Results in which every rule finds something to look at, and ways to break one of them."""

from changing import altered
from test_results import attack, classification, estimate, made_up, method, with_attacks

from attacks.measuring.estimates import Difference, Floor, LabelAuc, Matched
from attacks.measuring.release_figures import SetFigures
from attacks.results import Displacement, Utility


def broken(index=5, **changes):
    """Sound results in which one method (dp-pix b=8, ε=0.1) is changed."""
    methods = list(made_up().methods)
    methods[index] = altered(methods[index], **changes)
    return made_up(methods=tuple(methods))


def attacked(index=5, **attacks):
    """Sound results in which one method is attacked otherwise."""
    privacy = {k.replace("_", "-"): v for k, v in attacks.items()}
    return broken(index, privacy=made_up().methods[index].privacy | privacy)


def with_floors(results, **aucs):
    """With floors of these AUCs, (all, matched) each."""
    floors = [
        Floor(name=n.replace("_", ", "), auc=estimate(a), matched=estimate(m))
        for n, (a, m) in aucs.items()
    ]
    return altered(results, floors=tuple(floors))


def matching(found, auc=None, half=0.03):
    """An attack with that AUC against matched impostors; its own where none is given."""
    auc = found.auc.mean if auc is None else auc
    figures = {"auc": estimate(auc, half=half), "differences": found.differences}
    alike = Matched(**figures, impostor_pairs=900)
    return altered(found, matched=alike)


def moved(rms, auc=0.8, **facts):
    """A deforming method of sound results."""
    name = "prichexy-net" if facts else "random-warp"
    own = method(name, {"mu": rms, "sigma": 2.0}, auc, 0.5, 0.8, 0.8)
    length = Displacement(mean=rms, max=3 * rms, rms=rms, left=0)
    return altered(own, image={"displacement_px": length}, **facts)


def compared(one, mean, half=0.05):
    """The method beside a random warp of equal displacement, from which it differs so much."""
    other = Difference(to="random-warp", role="control", difference=estimate(mean, half=half))
    return with_attacks(one, lambda found: altered(found, differences=(other,)))


def reading(one, lost, pool):
    """The method with findings held back, of which it loses so much more."""
    retrained = one.utility.mean("retrained")
    utility = Utility(
        frozen=one.utility.frozen,
        retrained=classification(retrained, sides=(retrained, retrained - lost)),
        pool_only=classification(pool) if one.name == "privacy-net" else None,
    )
    return altered(one, utility=utility)


def released_as(one, *, untouched=0.0, painted=0.0):
    """The method with a share of real images, and findings that only its images tell."""
    told = LabelAuc(mean=one.utility.retrained.auc.mean + painted)
    image = {"untouched": untouched, "of_others": 0.0, "marks": estimate(0.5, half=0.03)}
    return altered(one, image=image, utility={"retrained": {"on_released": told}})


def drawing(one):
    """The method, of whose pool nobody is told, and whose every output was seen."""
    if one.utility.pool_only is None:
        return one
    made = SetFigures(outputs=9, shown=9, images=9, withheld=0, contributors=1, groups=1)
    return altered(one, image={"donors": estimate(0.5, half=0.03)}, sets=made)


def complete(metadata=0.52, identical=0.5, held_back=0.0, pool=0.55):
    """Sound results in which every rule finds something to look at; of labels held back, which
    releases lose so much more of; and of one method that draws from a pool."""
    links = altered(attack(metadata, knowledge="ignorant", runs=1), sees="metadata")
    methods = []
    learnt = compared(moved(1.0, auc=0.7, steps=39000, converged=True), -0.15)
    for one in (*made_up().methods, learnt, moved(1.02, auc=0.85)):
        found = attack(1.0 if one.name == "identity" else identical, runs=1, half=0)
        itself = altered(found, compares="before-after")
        lost = 0.0 if one.name == "identity" else held_back
        privacy = {name: matching(found) for name, found in one.privacy.items()}
        verification = privacy["verification"]
        beside = verification.estimates | {"auc_within": verification.auc}
        privacy["verification"] = altered(verification, estimates=beside, trained_on="mixed")
        privacy |= {"metadata": links, "identical": itself}
        methods.append(reading(altered(one, privacy=privacy), lost, pool))
    methods = tuple(drawing(released_as(one)) for one in methods)
    found = made_up(methods=methods, matched_by=("findings", "sex"))
    return with_floors(found, findings=(0.52, 0.5), metadata=(metadata, 0.5), coin=(0.5, 0.5))


def within(found, auc):
    """The same attacker, with what it reaches within the release."""
    beside = found.estimates | {"auc_within": estimate(auc)}
    return altered(found, estimates=beside)


def read(index=0, frozen=0.8, retrained=0.8, **kwargs):
    utility = Utility(
        frozen=classification(frozen, **kwargs), retrained=classification(retrained, **kwargs)
    )
    return broken(index, utility=utility)
