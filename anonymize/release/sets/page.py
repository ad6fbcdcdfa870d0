"""The certificate for people, one page of Markdown; it says nothing that the JSON does not."""

from anonymize.errors import counted
from anonymize.release.sets.certificate import Certificate


def written(certificate: Certificate) -> bytes:
    """The page that belongs to ``certificate``."""
    c = certificate
    options = ", ".join(f"{key} = {value}" for key, value in c.options.items())
    lines = [
        "# What this release is, and what it does not promise",
        "",
        f"Made by the method `{c.method}`" + (f" ({options})." if options else "."),
        f"{counted(c.outputs, 'output')}, squares of {c.size} pixels ({c.format}); every output is "
        f"made of images of {c.people_per_output_asked} different people or more.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in _figures(c)),
        "",
        *_labels(c),
        "## What is promised",
        "",
        *(f"- {text}" for text in promised(c)),
        "",
        *_measured(c),
        "## What is not promised",
        "",
        *(f"- {text}" for text in (*filter(None, [c.no_bound]), *c.not_promised)),
    ]
    return ("\n".join(lines) + "\n").encode()


def promised(certificate: Certificate) -> list[str]:
    """What the construction itself bounds, and against whom."""
    c = certificate
    found = [
        f"No output shows fewer than {c.people_per_output_asked} people, as far as the patients "
        "were named rightly; nobody stands in outputs of two groups."
    ]
    if c.guess_at_most is not None:
        found.append(
            f"A guess, from one output alone, at which of its contributors a person is cannot be "
            f"right more often than {c.guess_at_most:.4g} on average."
        )
    if c.largest_share_of_an_image is not None:
        found.append(
            f"Of any one person, real patches of together {c.largest_share_of_an_image:.4g} of an "
            "image are shown over the whole release, and what passes over into the patches beside "
            "them. These patches are real pixels: that nobody is known by them is not promised."
        )
    return found


def _measured(c: Certificate) -> list[str]:
    m = c.measured
    if m is None:
        return []
    impostors = "people alike in what is known of them" if m.matched else "anybody else"
    linked, first, away = (
        figure and "{:g} ({:g} to {:g})".format(*figure)
        for figure in (m.auc, m.first_guess, m.given_away)
    )
    luck, named = (
        "" if coin is None else f"; a coin's: {coin:g}"
        for coin in (m.first_guess_coin, m.given_away_coin)
    )
    among = " among images of people alike" if m.matched else ""
    other = "" if m.size == c.size else f", and not of {c.size}"
    return [
        "## What attackers reached",
        "",
        f"Against this method, on {counted(m.images, 'image')} of {counted(m.patients, 'patient')} "
        f"of `{m.source}`, squares of {m.size} pixels{other}; the highest of "
        f"{counted(m.attackers, 'attacker')}, with 95 % intervals.",
        "",
        f"- AUC against {impostors}, where 0.5 is chance: {linked}.",
        f"- First guesses{among} at anybody who is in an output, right: {first} of 1{luck}.",
        *([f"- Share of patients whom some output names so: {away} of 1{named}."] if away else []),
        "",
    ]


def _figures(c: Certificate) -> list[tuple[str, str]]:
    found: list[tuple[str, object]] = [
        ("files that were given", c.inputs),
        ("files that went into an output", c.released),
        ("files that no group needed or had place for", c.not_grouped),
        ("files that were refused", c.quarantined),
        ("files that are no images", c.left_out),
        ("people in any output", c.patients),
        ("people in an output, at least", c.people_per_output_min),
        ("people in an output, median", c.people_per_output_median),
        ("groups of people", c.groups),
        ("people in a group, at least", c.patients_per_group_min),
        ("largest share of an image of anybody that is shown", c.largest_share_of_an_image),
        ("a guess at which contributor somebody is, right at most", c.guess_at_most),
    ]
    if c.no_bound is not None:
        found[-1] = (found[-1][0], "no bound is promised")
    return [(name, value if isinstance(value, str) else _text(value)) for name, value in found]


def _labels(c: Certificate) -> list[str]:
    if not c.labels:
        return ["No labels were given: groups bring people together whatever their findings.", ""]
    lines = [f"Labels, in labels.csv: {', '.join(f'`{name}`' for name in c.labels)}."]
    if share := c.options.get("read"):
        rest = "" if share == 1 else f", by {share:g}, and the mean of what is known of its people"
        lines.append(
            f"Each is what networks read in the output{rest}. The networks learnt from other "
            "people of the same data set, and labels tell of these as much as a network does that "
            "learnt from them."
        )
    else:
        lines.append("Each is the mean of what is known of an output's people.")
    if c.outputs:
        lines.append(_shared(c))
    return [*lines, ""]


def _shared(c: Certificate) -> str:
    common = c.in_common
    assert common is not None  # there are labels and outputs
    have, alike = (
        f"In {groups:,} of {counted(c.groups, 'group')} and {outputs:,} of "
        f"{counted(c.outputs, 'output')}"
        for groups, outputs in (
            (common.groups_where_all_have_a_finding, common.outputs_where_all_have_a_finding),
            (common.groups_alike, common.outputs_alike),
        )
    )
    often = "" if common.most_often is None else f", most often `{common.most_often}`"
    fewest = common.different_answers_min
    return (
        f"{have} all people have one and the same finding{often}: whoever is found there has it. "
        f"{alike} all have some finding or all have it not: of whoever is found there, that is "
        "known. A person has a finding who has it in any image that went in; of whom it is not "
        "known, he does not count. To whether somebody has a finding, the people of a group give "
        f"{_text(fewest)} different {'answer' if fewest == 1 else 'answers'} or more (its "
        "l-diversity); with 2, nine of ten may still have it."
    )


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
