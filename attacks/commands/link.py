"""``attacks link``."""

import click

from attacks.commands import shared
from attacks.commands.one_attacker import attacker_options, place


@click.command(
    epilog="Example: attacks link released covid19:/data/covid19 --run runs/covid19 "
    "--method runs/covid19"
)
@click.argument("released")
@click.argument("real")
@click.option("--top", type=click.IntRange(1, 1000), default=5)
@shared.prior("Probability that the patient of a released image is among the real ones at all.")
@attacker_options(released=True)
def command(released, real, top, prior, arguments) -> None:
    """Which real image, and patient, does each released image show?

    RELEASED and REAL are folders or source:root. With --method the attacker learns how that method
    releases images. OUT/link.csv and .json hold the ranked list of every released image, link.png
    the images; they name images, so nobody but you may read them.

    Where the patients of both are known, the figures of `attacks evaluate` are printed, against
    impostors of the same findings, sex, age and view, where these are known, and against all: an
    image is not compared with its own original. Files of one name are the same image, and released
    files without patients have those of the real files of the same name.
    """
    given = {"RELEASED": released, "REAL": real}
    arguments.refuse(given)
    from attacks.commands.ranked import ranked, write_ranking
    from attacks.linkage.album import contents_of
    from attacks.linkage.linking import link_figures, named_after, originals_first

    of = {"released": place(released), "real": place(real), "top": top, "prior": prior}
    with arguments.claimed("link", of) as holds:
        with arguments.at_work() as work:
            ranking, prepared = ranked(work, given, top=top, prior=prior, naming=named_after)
            holds(contents_of(given, ranking.probes, ranking.gallery))
            found = link_figures(prepared.matcher, ranking.probes, ranking.gallery)
        first = originals_first(ranking)
        measured = {"figures": {}} if found is None else found.model_dump(mode="json")
        figures = measured | {"originals_ranked_first": first}
        write_ranking("link", ranking, prepared, arguments, figures, said=_said(found, first))


def _said(found, first) -> list[str]:
    if found is None:
        lines = ["no figures: no patient of RELEASED is known to be in REAL with another image"]
    else:
        lines = [f"patients, {line}" for line in _readings(found)]
    if first is not None:
        lines.append(f"originals: {first:.1%} of the released images are nearest to their own")
    return lines


def _readings(found) -> list[str]:
    """A line of figures against matched impostors, or why there is none; and one against all."""
    from attacks.measuring.reading_names import ALL, MATCHED, NAMES, matched_like
    from attacks.reporting.tables import in_words
    from attacks.results import TITLES

    def line(estimate) -> str:
        shown = ("auc", "precision_at_1", "map_at_r", "r_s")
        return ", ".join(f"{TITLES[name]} {in_words(estimate(name))}" for name in shown)

    matched = f"not measured: {found.unmatched}"
    if found.matched is not None:
        matched = f"{matched_like(found.matched_by)}: {line(found.matched.estimate)}"
    return [f"{NAMES[MATCHED]}: {matched}", f"{NAMES[ALL]}: {line(found.figures.get)}"]
