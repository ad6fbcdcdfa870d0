"""What the attack on a release found, in plain words; no file and no patient is named."""

from collections.abc import Iterator

from anonymize.errors import counted
from attacks.linkage.learnt import Learnt
from attacks.linkage.release_results import FileAttack, FindingsFloor, Reading, ReleaseResults
from attacks.measuring.comparisons import holm
from attacks.measuring.estimates import Estimate, Matched
from attacks.measuring.reading_names import ALL, MATCHED, NAMES, matched_like, why_unmatched
from attacks.reporting.tables import Table, in_words, number

BOTH = tuple(f"AUC, {NAMES[reading]}" for reading in (MATCHED, ALL))
GUESSED = tuple(f"P@1, {NAMES[reading]}" for reading in (MATCHED, ALL))
FEW = 3  # patients, of fewer of whom a figure is not said
MOST = 0.5  # share of the files from which "most" is said
UNEVEN = 0.5  # AUC of a coin
UNLIKELY = 0.025  # one-sided, of all readings of a coin together


def verdict(results: ReleaseResults) -> str:
    """One sentence: do attackers find people in this release?"""
    best = results.strongest
    found = best.found
    released = counted(found.files, "released file")
    whom = "whom" if results.made_of == 1 else "somebody of those whom"
    said = (
        f"{best.attacker} finds {whom} {_number(found.found)} of {released} "
        f"show{'s' * (found.files == 1)} ({_percent(found.share)}, simultaneous 95 % interval "
        f"{_percent(found.interval[0])}–{_percent(found.interval[1])}); "
        f"a coin finds {found.expected:.1f}"
    )
    if results.untouched:
        copies = counted(results.untouched, "released file")
        return (
            f"VERDICT: real images are in this release. {copies} ha"
            f"{'s' if results.untouched == 1 else 've'} the pixels of a real one; {said}."
        )
    if results.unlisted is None:
        return (
            "VERDICT: nobody knows what belongs to this release. Its manifest cannot be read: run "
            f"`anonymize verify`. {said}."
        )
    if results.unlisted:
        return (
            "VERDICT: nobody knows what is in this release. Its manifest does not name "
            f"{counted(results.unlisted, 'file')}: run `anonymize verify`, and look at them. "
            f"{said}."
        )
    if results.changed:
        return (
            "VERDICT: nobody knows whom this release shows. Its manifest says another content of "
            f"{counted(results.changed, 'file')}, changed or exchanged since: run `anonymize "
            f"verify`, and make them again. {said}."
        )
    if found.sure:
        return f"VERDICT: people are found in this release. {said}."
    if links := _above_a_coin(results):
        return (
            f"VERDICT: this release links. {said}, but {', '.join(links)} tells pairs of one "
            "person from others."
        )
    if found.share >= MOST and found.found > found.expected:
        return f"VERDICT: too few people to tell. {said}, and chance is not excluded."
    if reason := _blind(results):
        return f"VERDICT: nothing is shown. {said}, and {reason}."
    return (
        f"VERDICT: nobody was found by these attackers. {said}; up to "
        f"{_percent(found.interval[1])} are not excluded."
    )


def _number(found: float) -> str:
    """Files; of several first guesses that tie, each counts as its share."""
    short = _short(found)
    return f"{short} (a tie counts in parts)" if "." in short else short


def _short(found: float) -> str:
    return f"{found:.0f}" if abs(found - round(found)) < 0.05 else f"{found:.1f}"


def explained(results: ReleaseResults) -> Iterator[str]:
    """The figures behind the verdict, what they mean, and what to beware of."""
    best = results.strongest
    shown = {a.attacker: a for a in (best, results.strongest_by_image) if a is not None}
    for attack in shown.values():
        yield f"{attack.attacker}: {attack.scenario}"
        whole = _reading(attack.with_originals, results)
        few = "of fewer than three people: no figure is said"
        said = whole if _enough(attack.with_originals) else few
        yield f"  with the originals among the real files: {said}"
        if attack.others is not None and _enough(attack.others):
            yield (
                "  with other images of the patients alone: "
                f"precision@1, {NAMES[ALL]}, {number(attack.others.precision_at_1, 3)} "
                f"(a coin {number(attack.others.chance, 3)}), {_reading(attack.others, results)}"
            )
    if results.findings is not None and _enough(best.with_originals):
        yield _floor_in_words(results.findings)
    yield f"meaning: {_meaning(results)}"
    yield from _warnings(results)


def _floor_in_words(floor: FindingsFloor) -> str:
    """What findings alone link, of who holds other images of the patients where that is known."""
    of, images = floor.with_originals, "with the originals among the real files"
    if floor.others is not None:
        of, images = floor.others, "with other images of the patients alone"
    aucs = ((of.matched, MATCHED), (of.auc, ALL))
    said = (f"{in_words(auc)} against {NAMES[reading]}" for auc, reading in aucs if auc)
    return f"floor, {images}: true findings alone link with AUC {', '.join(said)}"


def attack_table(results: ReleaseResults) -> Table:
    """One attacker a row."""
    header = ["attacker", "knows", "found", "95 %, all at once", "a coin", *BOTH]
    header += [f"others: {name}" for name in (*GUESSED, *BOTH)] + [f"own test {n}" for n in BOTH]
    rows = []
    for a in results.attacks:
        (low, high), held = a.found.interval, a.with_originals
        rows.append(
            [
                f"{a.attacker}{' (floor)' * a.floor}",
                a.knowledge,
                f"{_short(a.found.found)} of {a.found.files}",
                f"{_percent(low)}–{_percent(high)}",
                f"{a.found.expected:.1f}",
                *(_both(held.matched, held.auc) if _enough(held) else ["too few", "–"]),
                *_of_others(a.others),
                *_own(a.learnt),
            ]
        )
    if results.findings is not None:
        rows.append(_of_findings(results.findings, results.attacks[0]))
    return header, rows


def _of_findings(floor: FindingsFloor, beside: FileAttack) -> list[str]:
    """The row of what findings alone link, of the same people as the attacks."""
    held, others = floor.with_originals, floor.others
    shown = others is not None and beside.others is not None and _enough(beside.others)
    aucs = [held.matched, held.auc] if _enough(beside.with_originals) else [None, None]
    beyond: list[Estimate | None] = [None] * 4
    if shown and others is not None:
        beyond = [others.first_guess_matched, others.precision_at_1, others.matched, others.auc]
    guesses = [number(guess.mean if guess else None, 3) for guess in beyond[:2]]
    return [
        *("findings (floor)", "findings", "–", "–", "–"),
        *(in_words(auc) for auc in aucs),
        *guesses,
        *(in_words(auc) for auc in beyond[2:]),
        *("–", "–"),
    ]


def _of_others(found: Reading | None) -> list[str]:
    """First guesses and AUCs of an adversary who holds other images of the patients."""
    if found is None:
        return ["–"] * 4
    if not _enough(found):
        return [f"of {counted(found.patients or 0, 'patient')}: too few", *["–"] * 3]
    matched = found.matched.precision_at_1 if found.matched else None
    guesses = [number(matched, 3), number(found.precision_at_1, 3)]
    return guesses + _both(found.matched, found.auc)


def _own(learnt: Learnt | None) -> list[str]:
    """AUCs on the attacker's own test part."""
    if learnt is None:
        return ["–", "–"]
    return _both(learnt.matched, learnt.figures["auc"])


def _enough(found: Reading) -> bool:
    """Whether so many people have a pair that a figure of them can be said."""
    return found.patients is None or found.patients >= FEW


def _both(matched: Matched | None, every: Estimate) -> list[str]:
    return [in_words(matched.auc if matched else None), in_words(every)]


def _reading(found: Reading, results: ReleaseResults) -> str:
    every = f"{in_words(found.auc)} against {NAMES[ALL]}"
    if found.matched is None:
        why = why_unmatched(results.matched_by)
        return f"AUC {every}, against {NAMES[MATCHED]} not measured ({why}); a coin {UNEVEN}"
    like = f"{NAMES[MATCHED]} ({matched_like(results.matched_by)})"
    return f"AUC {in_words(found.matched.auc)} against {like}, {every}; a coin {UNEVEN}"


def _above_a_coin(results: ReleaseResults) -> list[str]:
    """Attackers of which an AUC is, as far as so many readings allow to say."""
    readings = [
        (attack.attacker, reading.p_above_chance)
        for attack in results.attacks
        for reading in (attack.with_originals, attack.others)
        if reading is not None and reading.p_above_chance is not None
    ]
    adjusted = holm([p for _, p in readings])
    found = [name for (name, _), p in zip(readings, adjusted, strict=True) if p < UNLIKELY]
    return list(dict.fromkeys(found))


def _blind(results: ReleaseResults) -> str:
    """Why these attackers cannot be expected to find anybody; "" where they can."""
    tried = [a.learnt for a in results.attacks if a.learnt is not None]
    if not any(learnt.knowledge == "informed" for learnt in tried):
        return (
            "no attacker that learns from released images took part: name one in --attackers, such "
            "as histogram-metric, and the --method where the private folder does not say it"
        )
    able = [learnt for learnt in tried if (learnt.figures["auc"].ci95 or (0, 0))[0] > UNEVEN]
    return "" if able else "on other patients of known data these attackers find nobody either"


def _meaning(results: ReleaseResults) -> str:
    best = results.strongest.found
    if results.untouched:
        return (
            "whoever holds such a real image knows at once whose the file is. Do not hand this "
            "release on; make it again, and `anonymize verify` it"
        )
    if best.sure:
        much = "most" if best.share >= MOST else "some"
        return (
            f"whoever holds real images of these people can tell for {much} of the released files "
            f"{'whose they are' if results.made_of == 1 else 'that somebody is in them'}. "
            "Do not hand this release on as anonymous"
        )
    return (
        "a lower bound of the risk: others may train longer, on more images, or know more of a "
        "person than images"
    )


def _warnings(results: ReleaseResults) -> Iterator[str]:
    for a in results.attacks:
        if a.floor and a.found.sure:
            what = {
                "identical": "have the pixels of a real file: a hash finds them",
                "format": "are found by size and format of the files alone: see "
                "`anonymize apply --canonical`",
            }
            yield f"warning: {a.found.found:.0f} files {what.get(a.attacker, 'are found')}"
        high = a.with_originals.auc.ci95
        if not a.floor and high is not None and high[1] < UNEVEN:
            yield (
                f"warning: {a.attacker} is below a coin, which is no privacy: its scores are "
                "misled, as by pictures turned or inverted"
            )
    yield from _left_out(results)
    if not results.originals_known:
        yield "note: it is not known which file each was made from; people are known by --patients"
    if results.nobodys:
        yield (
            f"note: whom {results.nobodys} of {counted(results.real, 'real file')} show nobody "
            "says (--patients would): each counts as a person of its own, who has no other images"
        )
    if results.method is None:
        yield "note: nobody says what released these files; an attacker that knows finds more"
    for name, reason in results.not_tried.items():
        yield f"not tried: {name}: {reason}"
    best = results.strongest_by_image
    if best is not None and best.learnt is not None:
        yield from best.learnt.in_words()


def _left_out(results: ReleaseResults) -> Iterator[str]:
    """Files that were not read, that do not belong there, and that count in no figure."""
    for kind, reasons in (("released", results.unread.released), ("real", results.unread.real)):
        if reasons:
            why = "; ".join(f"{count} × {reason}" for reason, count in reasons.items())
            yield f"not read: {counted(sum(reasons.values()), f'{kind} file')} ({why})"
    if results.unlisted is None:
        yield "warning: the manifest cannot be read, so that nobody knows which files belong here"
    if results.unlisted:
        whose = (
            f". Whose {results.foreign} of them are nobody says, so that these count in no figure"
        )
        yield (
            f"warning: the manifest does not name {counted(results.unlisted, 'file')} of the "
            "release, attacked, too, where they can be read (else in unread.csv); found.csv says "
            f"what each was taken for{whose if results.foreign else ''}"
        )
    if absent := results.without_real - results.foreign:
        yield (
            f"not counted: {counted(absent, 'released file')} whose original, or "
            "patient, is not among the real ones that were read"
        )


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")
