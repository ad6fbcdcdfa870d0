"""``attacks verify``."""

import json
from math import exp, log

import click

from attacks.commands import shared
from attacks.commands.one_attacker import attacker_options


@click.command(
    epilog="Example: attacks verify first.png second.png --source covid19 --root /data/covid19"
)
@click.argument("a")
@click.argument("b")
@shared.prior("Probability before looking that both show the same person.")
@attacker_options(released=True)
def command(a, b, prior, arguments) -> None:
    """How probable is it that images A and B show the same person?

    The attacker learns from a data set of known patients, and its scores become probabilities on
    the validation part of that set; what it is worth on the test part is printed below. With
    --method, A is an image that the method released.
    """
    arguments.refuse({"A": a, "B": b})
    from anonymize.folder_lock import own_folder
    from attacks.linkage.album import only_image, open_album
    from attacks.linkage.duplicates import duplicates
    from attacks.linkage.ranking import pictures
    from attacks.measuring.calibration import posterior

    posterior(0.0, prior)  # refused before an attacker learns
    with own_folder(arguments.out), arguments.at_work() as (read, _, prepare):
        first, second = (
            only_image(open_album(given, read, argument=name), name)
            for name, given in (("A", a), ("B", b))
        )
        prepared = prepare(first)
        score = prepared.matcher.scores(pictures(first), pictures(second))
        same = duplicates(first, second).get((0, 0), "")
    ratio = prepared.learnt.calibration.log_ratios(score)[0, 0]
    probability = 1.0 if same else float(posterior(ratio, prior))
    if arguments.as_json:
        found = {
            "probability": probability,
            "prior": prior,
            "log10_likelihood_ratio": float(ratio / log(10)),
            "score": float(score[0, 0]),
            "identical": same,
            "attacker": prepared.learnt.model_dump(mode="json"),
        }
        click.echo(json.dumps(found, indent=2))
        return
    for line in prepared.learnt.first():
        click.echo(line)
    if same:
        click.echo(f"the {same} of both images {'is' if same == 'file' else 'are'} identical")
    click.echo(f"probability that both show the same person: {probability:.3g} (prior {prior:g})")
    likely = f"{exp(abs(ratio)):.3g} times {'more' if ratio >= 0 else 'less'} likely"
    click.echo(f"a score like theirs is {likely} between images of one person")
    for line in prepared.learnt.in_words():
        click.echo(line)
