"""``attacks retrieve``."""

import click

from attacks.commands import shared
from attacks.commands.one_attacker import attacker_options, place


@click.command(
    epilog="Example: attacks retrieve patient.png --gallery covid19:/data/covid19 "
    "--source chestxray14 --root /data/CXR8"
)
@click.argument("probes", metavar="PROBE...", nargs=-1, required=True)
@click.option("--gallery", required=True, help="A folder of images, or source:root.")
@click.option("--top", type=click.IntRange(1, 1000), default=10)
@shared.prior("Probability that a probe's patient is in the gallery at all.")
@attacker_options(released=True)
def command(probes, gallery, top, prior, arguments) -> None:
    """Rank a gallery by how probably each image shows the person of a probe.

    OUT/retrieve.csv and .json hold the ranked list of every probe, retrieve.png the images. These
    files name images, so nobody but you may read them; what is printed names none. With --method,
    the probes are images that the method released.
    """
    given = {"PROBE": list(probes), "--gallery": gallery}
    arguments.refuse(given)
    from attacks.commands.ranked import ranked, write_ranking
    from attacks.linkage.album import contents_of

    of = {"probes": [*map(place, probes)], "gallery": place(gallery), "top": top, "prior": prior}
    with arguments.claimed("retrieve", of) as holds:
        with arguments.at_work() as work:
            ranking, prepared = ranked(work, given, top=top, prior=prior)
            holds(contents_of(given, ranking.probes, ranking.gallery))
        write_ranking("retrieve", ranking, prepared, arguments)
