"""The readings of one AUC (`reading_names`) in every table, figure and report of results.json."""

from collections.abc import Iterable, Iterator

from anonymize.errors import counted
from attacks.measuring.estimates import Difference, Estimate, Figures, Generators
from attacks.measuring.reading_names import ALL as ALL
from attacks.measuring.reading_names import LISTED as LISTED
from attacks.measuring.reading_names import MATCHED as MATCHED
from attacks.measuring.reading_names import NAMES as NAMES
from attacks.measuring.reading_names import SHORT as SHORT
from attacks.measuring.reading_names import matched_like as matched_like
from attacks.results import SETS, Attack, Method, Results, name_of
from attacks.titles import leaves, titles

NONE_ALIKE = "no impostor is alike"
FEW = 6  # of five independent comparisons all may fall on one side by chance (p = 0.06)


def measured(results: Results) -> tuple[str, ...]:
    """The readings that tables show, the headline first."""
    return (ALL,) if results.version == 1 else (MATCHED, ALL)


def headline(results: Results) -> str:
    """The reading that pictures show: matched impostors, unless no attack has any."""
    found = any(attack.matched is not None for _, _, attack in results.attacks())
    return MATCHED if found else ALL


def figures(attack: Attack, reading: str) -> Figures | None:
    """The figures of a reading; None where no impostor is alike."""
    return attack.matched if reading == MATCHED else attack


def auc(attack: Attack | None, reading: str) -> Estimate | None:
    """The AUC of a reading; None where it was not measured."""
    if attack is None:
        return None
    if reading == LISTED:
        return attack.estimate("auc_listed")
    found = figures(attack, reading)
    return None if found is None else found.auc


def one_pair(attack: Attack, reading: str) -> Estimate | None:
    """The AUC of a reading where each patient counts once; None where it was not measured."""
    found = figures(attack, reading)
    return None if found is None else found.estimate("auc_patient")


def strongest_auc(method: Method | None, reading: str) -> Estimate | None:
    """That of the strongest attacker."""
    return auc(method.strongest[1], reading) if method and method.strongest else None


def of_strongest(results: Results, reading: str) -> Iterator[tuple[int, str, str, Figures]]:
    """Number and title of each method, name and figures of its strongest attacker."""
    for n, (title, method) in enumerate(results.titled):
        name, attack = method.strongest or ("", None)
        if attack and (own := figures(attack, reading)) is not None:
            yield n, title, name, own


def less_than_real(attack: Attack, reading: str) -> Difference | None:
    """How much less an attacker reaches than on the real images; None where nobody measured it."""
    own = figures(attack, reading)
    return None if own is None else difference_to("real", own.differences)


def difference_to(role: str, found: Iterable[Difference]) -> Difference | None:
    """The one to the real images ("real"), or to the control."""
    return next((d for d in found if d.role == role), None)


def titles_of_several(results: Results) -> list[str]:
    """Those of its generators, or lots, that are taken together."""
    several = results.generators
    named = titles([(one.name, one.options) for one in several])
    return [f"{t}, {len(one.seeds)} seeds" for t, one in zip(named, several, strict=True)]


def kin_of(one: Generators, results: Results) -> list[tuple[str, Method]]:
    """Title and method of the generators, or lots, that are taken together."""
    return [found for found in results.titled if _is_one(one, found[1])]


def _is_one(one: Generators, method: Method) -> bool:
    own = {key: value for key, value in method.options.items() if key != "seed"}
    training = dict(leaves(method.training))
    said = {key.rpartition(".")[2]: value for key, value in training.items()} | training | own
    alike = own.items() <= one.options.items() <= said.items()
    return method.name == one.name and alike


def strongest(results: Results) -> str:
    """What `Method.strongest` is called in a table: not as the strongest that takes images alone,
    where some are told which released images are of one patient."""
    return "strongest of all" if SETS in map(name_of, results.attackers) else "strongest"


def title(results: Results) -> str:
    """The headline reading in full, for the title of a picture."""
    if headline(results) == ALL:
        why = f" ({NONE_ALIKE})" if MATCHED in measured(results) else ""
        return f"{NAMES[ALL]}{why}"
    like = matched_like(results.matched_by)
    return f"{NAMES[MATCHED]}{f': {like}' if like else ''}"


def explained(results: Results) -> str:
    """What the names of the readings mean in these results, and how many pairs are matched."""
    return " ".join(filter(None, (meaning(results), matched_pairs(results))))


def meaning(results: Results, like: str = "") -> str:
    """What the names of the readings mean in these results; ``like``: what impostors are matched
    by, by default all that is known in these. Where the very originals are looked for, every image
    is a person of its own."""
    originals = {attack.compares for *_, attack in results.attacks()} == {"before-after"}
    known, whose = ("", "image") if originals else ("identified ", "patient's image")
    all_of_them = f"“{NAMES[ALL]}”: any other {whose}."
    if results.version == 1:
        return (
            f"{all_of_them} Against {NAMES[MATCHED]} these figures were not measured, so some of "
            "what links may be the findings."
        )
    if headline(results) == ALL:
        return f"{all_of_them} “{NAMES[MATCHED]}”: {NONE_ALIKE} in what is known of it."
    like = like or matched_like(results.matched_by) or "nothing else is known of the images"
    return (
        f"“{NAMES[MATCHED]}”, the headline: another {known}{whose} ({like}), and "
        "genuine pairs alike by the same rule, so that equal findings link nobody; what else an "
        f"image shows still may (floors.md). {all_of_them}"
    )


def matched_pairs(results: Results) -> str:
    """How many pairs of the first method, which are real images, are matched; "" where none are."""
    of = next(((m, a.matched) for m, _, a in results.attacks() if a.matched is not None), None)
    if of is None:
        return ""
    title, found = of
    genuine = "all" if found.genuine_pairs is None else f"{found.genuine_pairs:,}"
    pairs = counted(found.impostor_pairs, "impostor pair")
    said = f"Matched, of {title}: {pairs} and {genuine} genuine"
    if (independent := found.independent_comparisons) is None:
        return f"{said}."
    few = "; too few to tell anything" if independent < FEW else ""
    return f"{said}; {independent:,} of the impostor pairs share no patient{few}."


def floors(results: Results) -> list[str]:
    """A note on what links these images without looking for a patient, in both readings; none
    where nothing was measured."""
    found = [
        f"{f.name} {'–' if f.matched is None else f'{f.matched.mean:.3f}'} / {f.auc.mean:.3f}"
        for f in results.floors
        if f.auc is not None
    ]
    if not found:
        return []
    return [
        f"Floors, AUC against {NAMES[MATCHED]} / {NAMES[ALL]}: {'; '.join(found)}. What does not "
        "exceed them may be of what an image shows, and not of whom (floors.md)."
    ]


def of_others(results: Results) -> list[str]:
    """A note on the utility of methods that draw from images of other people."""
    drawing = [title for title, method in results.titled if method.utility.pool_only is not None]
    if not drawing:
        return []
    return [
        f"{', '.join(drawing)}: images of other people go into the release, so that its utility "
        "alone says nothing. “Other people's images alone” is the same classifier, learnt from "
        "those without any release; what does not exceed it is of no use to anybody who has them."
    ]
