"""A recommendation in words: a table, what it means, what it does not, and what to type."""

from collections.abc import Iterator
from typing import Any

from anonymize.errors import counted
from attacks.evaluation.checks.judging import listed
from attacks.evaluation.floors import COIN, FINDINGS, TASK
from attacks.recommending.choice import Point, frontier, verdict
from attacks.recommending.evidence import best_guesser, by_finding, failed, lost, strongest
from attacks.recommending.recommend import Recommendation
from attacks.reporting.tables import in_words, markdown, number, signed
from attacks.results import Method, Results

FLOORS = {
    FINDINGS: "true findings alone",
    TASK: "what a classifier of the findings reads in real images",
    COIN: "a coin",
}
LOOKS_LEFT = """\
Nothing here hides people and leaves a film that a person can read: what leaves it legible (warps,
blur, coarser pixels) is linked like the real images, and what hides people (means, mosaics, DP-Pix)
shows several people or none. So nothing is recommended, and nothing was measured. What is left:

  anonymize apply IN OUT --model random-warp:mu=0.01 --names hashed
      takes names, dates and ids out of headers, paths and (with the extra ocr) pictures; its pixels
      identify people as before
  anonymize verify OUT
      looks at every file again
  attacks release IN OUT
      says whom attackers find in them

Hand such files on under a contract only, to people you know, as you would the originals."""


def told(found: Recommendation) -> str:
    """Everything, for a terminal."""
    parts = [*_measured(found), "\n".join(said(found)), *_left_out(found), *_distrusted(found)]
    if found.apply:
        parts.append(f"To release them so:\n\n  {found.apply}")
    elif found.choice.outcome == "recommended":
        parts.append("These radiographs are drawn: there are no files to release.")
    return "\n\n".join(parts)


def said(found: Recommendation) -> list[str]:
    """What can be said, in sentences; a line each."""
    outcome, asked, point = found.choice.outcome, found.asked, found.choice.point
    if outcome == "not measured":
        return [
            f"No release was measured to the end in {asked.seconds / 60:g} min. The same "
            "command goes on where it was."
        ]
    if outcome == "recommended":
        assert point is not None
        return [f"Take {point.spec}.", *_about(found, point)]
    if outcome == "nothing":
        points = counted(len(found.evidence.points), "release")
        others = len(found.left_out)
        what = "Nothing that was measured does" if others else "Nothing here does"
        more = f"; {others} more were not measured" if others else ""
        lines = [
            f"{what}: of {points} none is at AUC {asked.wish.auc:.3f} or less and "
            f"costs {asked.wish.loss:.3f} or less{more}."
        ]
    else:
        lines = [
            f"These data cannot tell, so nothing is recommended: {'; '.join(found.choice.why)}."
        ]
    if point is not None:
        lines += [f"Closest is {point.spec}, which is no recommendation.", *_about(found, point)]
    return lines


def plain(found: Recommendation) -> dict[str, Any]:
    """What JSON can hold."""
    asked, choice, evidence = found.asked, found.choice, found.evidence
    best = frontier(evidence.points)
    return {
        "outcome": choice.outcome,
        "method": choice.point and choice.point.spec,
        "why": list(choice.why),
        "said": said(found),
        "apply": found.apply,
        "wish": {"auc": asked.wish.auc, "loss": asked.wish.loss, "keep": list(asked.keep)},
        "size": asked.options.data.size,
        "patients": evidence.patients,
        "readable": evidence.readable,
        "real": evidence.real and evidence.real._asdict(),
        "points": [
            {
                "method": point.spec,
                "auc": point.auc and point.auc._asdict(),
                "loss": point.loss and point.loss._asdict(),
                "verdict": verdict(point, evidence, asked.wish),
                "frontier": point in best,
            }
            for point in evidence.points
        ],
        "left_out": found.left_out,
    }


def _measured(found: Recommendation) -> Iterator[str]:
    """The table and what it is of; nothing where nothing was measured to the end."""
    if found.evaluation is None:
        return
    results, size = found.evaluation.results, found.asked.options.data.size
    yield (
        f"Test part: {counted(results.source.images, 'image')} of "
        f"{counted(results.source.patients, 'patient')}, {found.evidence.patients} of them known "
        f"and with several images; {size} × {size} px."
    )
    yield _table(found, results).rstrip("\n")
    floors = [
        f"{FLOORS[floor.name]} {in_words(floor.matched)}"
        for floor in results.floors
        if floor.name in FLOORS and floor.matched is not None
    ]
    yield (
        "AUC: of the strongest attacker against people of equal findings; 0.5 is chance. P@1: how "
        "often a first guess among images of equal findings is right, by the attacker that guesses "
        "best; of several people in a picture any one counts. * on the frontier: nothing measured "
        "is better in both."
        + (f"\nWithout looking for a patient one reaches: {'; '.join(floors)}." if floors else "")
    )


def _table(found: Recommendation, results: Results) -> str:
    points = dict(zip(found.evidence.points, results.released, strict=True))
    best = frontier(points)
    header = ["release", "AUC ↓ (95 %)", "attacker", "P@1 ↓"]
    header += ["classifier AUC ↑", "less that of real images", "as wished"]
    assert results.real is not None
    rows = [["real images", *_cells(results.real), "–", "–"]]
    for point, method in points.items():
        judged = verdict(point, found.evidence, found.asked.wish)
        words = {"meets": "yes", "misses": "no", "unclear": "not shown"}[judged]
        loss = signed(lost(method)) if found.evidence.readable else "unreadable"
        rows.append([f"{point.spec}{' *' * (point in best)}", *_cells(method), loss, words])
    return markdown(header, rows)


def _cells(method: Method) -> list[str]:
    """AUC, attacker, first guess, and what the classifier reads."""
    attack, retrained = strongest(method), method.utility.retrained
    read = "–" if retrained is None else in_words(retrained.told or retrained.auc)
    if attack is None:
        return ["no impostor is alike", "–", "–", read]
    return [in_words(attack[1].headline.auc), attack[0], _guessed(method)[1], read]


def _guessed(method: Method) -> tuple[str, str]:
    """Who guesses best among matched images, and how often that is right, with a coin's where it is
    known."""
    found = best_guesser(method)
    if found is None:
        return "nobody", "–"
    name, figures = found[0], found[1].headline
    coin = figures.precision_at_1_coin
    luck = "" if coin is None else f" (a coin {number(coin, 3)})"
    return name, number(figures.precision_at_1, 3) + luck


def _about(found: Recommendation, point: Point) -> Iterator[str]:
    """What a release hides, what it costs, what it does not promise, and how sure all that is."""
    assert found.evaluation is not None  # there is a point
    results = found.evaluation.results
    method = results.released[found.evidence.points.index(point)]
    yield _hides(found, method, results)
    yield _costs(found, method, results)
    several = method.sets is not None
    again = (
        "Release these people once: a second release would put them with others, and tell."
        if several
        else "Noise is drawn anew for each release, and averages out over several."
    )
    yield (
        "It does not promise that nobody is found: attackers with more patients, time or knowledge "
        f"may find more. No person can read such a film. {again}"
    )
    yield _sure(found, results)


def _hides(found: Recommendation, method: Method, results: Results) -> str:
    assert results.real is not None  # they always take part
    attack, real = strongest(method), strongest(results.real)
    if attack is None or real is None:
        return "Whom it hides is not known: no impostor is alike."
    guesser, guessed = _guessed(method)
    return (
        f"It hides: the strongest of {counted(len(method.privacy), 'attacker')} that learnt from "
        f"releases of other patients ({attack[0]}) links its images with AUC "
        f"{in_words(attack[1].headline.auc)}, real images {in_words(real[1].headline.auc)}; a "
        f"first guess among images of equal findings is right in {guessed} of all cases "
        f"({guesser}), on real images in {_guessed(results.real)[1]}."
    )


def _costs(found: Recommendation, method: Method, results: Results) -> str:
    keep = ", ".join(found.asked.keep) or "all findings"
    difference = lost(method)
    if not found.evidence.readable or difference is None:
        return f"What it costs is not known: no classifier here can be read ({keep})."
    real = by_finding(results.real) if results.real else {}
    each = {
        name: before - after
        for name, after in by_finding(method).items()
        if after is not None and (before := real.get(name)) is not None
    }
    unread = sorted(name for name, auc in by_finding(method).items() if auc is None)
    worst = max(each, key=lambda name: each[name]) if len(each) > 1 else None
    most = f"; most for {worst}, {-each[worst]:+.3f}".replace("-", "−") if worst else ""
    missing = f" Not judged, all there or all absent: {listed(unread)}." if unread else ""
    return (
        f"It costs: a classifier that learns from it and reads real images ({keep}) changes by "
        f"{signed(difference)} of AUC{most}.{missing}"
    )


def _sure(found: Recommendation, results: Results) -> str:
    evaluation, released = found.asked.options.evaluation, results.released
    chosen = f" Picked from {len(released)} by these same figures, which flatters it a little."
    size = found.asked.options.data.size
    return (
        f"How sure: 95 % intervals over patients, {found.evidence.patients} of whom have several "
        f"images; one lot of the method, {counted(evaluation.repeats, 'training')} of each "
        f"attacker and {evaluation.utility_repeats} of each classifier."
        f"{chosen * (len(released) > 1)} At {size} px: of larger images nothing is known."
    )


def _left_out(found: Recommendation) -> Iterator[str]:
    if found.left_out:
        lines = [f"  {spec}: {why}" for spec, why in found.left_out.items()]
        yield "\n".join(["Not measured (where time was short, the same command goes on):", *lines])


def _distrusted(found: Recommendation) -> Iterator[str]:
    checks = failed(found.evaluation.results) if found.evaluation else []
    if checks:
        yield "\n".join(f"do not trust: {check.message}" for check in checks)
