"""The README's table: PriCheXy-Net, trained, beside what it has to surpass."""

from collections.abc import Callable, Mapping

from cells import CONTROL, FLOORS, RETRAINED, several, utility
from games import MINIATURE
from reproduced import results

from attacks.evaluation.floors import METADATA
from attacks.measuring.estimates import Estimate, Generators
from attacks.reporting import readings
from attacks.reporting.generator_table import NOTE, differences
from attacks.reporting.readings import ALL, MATCHED, NAMES, difference_to
from attacks.reporting.tables import compared, in_words, text
from attacks.results import Method
from baselines.dp_pix import DPPix

KIND = {"verification_weight": 10, "border": "replicate"}  # of the generators of the table
STRONGEST, WEAKER = "ensemble", ("verification", "training-free")
Figure = Callable[[str, str], Estimate | None]  # of an attacker and a kind of impostors
COLUMNS = {  # attacker, and the kind of impostors
    f"strongest, image by image ↓, {NAMES[MATCHED]}": (STRONGEST, MATCHED),
    f"the same, {NAMES[ALL]}": (STRONGEST, ALL),
    f"published attacker, goes on learning ↓, {NAMES[MATCHED]}": ("verification", MATCHED),
    f"no training ↓, {NAMES[MATCHED]}": ("training-free", MATCHED),
}


def headline() -> str:
    """A release a row, several generators as one, and the floors."""
    own = results(MINIATURE)
    titled = dict(own.titled)
    game = next(g for g in own.generators if g.options.items() >= KIND.items())
    played = [m for m in own.methods if m.options.items() >= KIND.items()]
    beside = played[0].privacy[STRONGEST].differences
    control = titled[next(d.to for d in beside if d.role == CONTROL)]
    noise = next(
        m for m in results("children").methods if m.name == DPPix.name and m.options["b"] == 8
    )
    rest, steps = sum(m.converged is True for m in played), sorted({m.steps for m in played})
    title = (
        f"{game.name} μ={game.options['mu']:g}, {len(played)} generators, {rest} at rest after "
        f"{' or '.join(f'{n:,}' for n in steps)} steps"
    )
    noise_title = f"{noise.name} b=8, ε={noise.options['epsilon']:g}"
    taught = (
        in_words(game.retrained, digits=2)
        if game.retrained
        else several(m.utility.retrained.auc.mean for m in played)
    )
    rows = [
        ["real images", "–", *_linked(_of(own.real)), utility(own.real, "retrained")],
        [title, _moved(played), *_linked(_of_all(game)), taught],
        [
            f"{control.name} that moves as far as the first (control)",
            _moved([control]),
            *_linked(_of(control)),
            utility(control, "retrained"),
        ],
        [noise_title, "–", *_linked(_of(noise)), utility(noise, "retrained")],
    ]
    facts = next(f for f in results("children").floors if f.name == METADATA).message
    names = FLOORS | {METADATA: f"{facts.partition(';')[0]}, which no picture shows"}
    for floor in own.floors:
        if floor.auc is not None and floor.name in names:
            both = [in_words(found, digits=2) for found in (floor.matched, floor.auc)]
            rows.append([f"*floor: {names[floor.name]}*", "–", *both, "–", "–", "–"])
    header = ["released as", "moved by (px, RMS)", *COLUMNS, RETRAINED]
    images = f"{own.source.images} images of {own.source.patients} patients, {own.source.size} px."
    matched = readings.matched_pairs(own)
    whose = {"real images": _of(own.real), game.name: _of_all(game), "the control": _of(control)}
    beside = _against_all(whose | {noise.name: _of(noise)})
    said = [f"{images} {matched}", readings.meaning(own), beside, *_surpassed(game)]
    return text((header, rows), said)


def _against_all(whose: Mapping[str, Figure]) -> str:
    """The other reading of the attackers that have one column."""
    found = (
        f"{title} {' / '.join(in_words(of(one, ALL), digits=2) for one in WEAKER)}"
        for title, of in whose.items()
    )
    return f"Published attacker / no training, {NAMES[ALL]}: {'; '.join(found)}."


def _surpassed(game: Generators) -> list[str]:
    """By how much the generators differ from the control, with intervals over generators and
    patients; nothing of an evaluation that does not say."""
    found = [
        f"{attacker}, {NAMES[reading]}, {compared(less)}"
        for attacker, reading in dict.fromkeys(COLUMNS.values())
        if (less := difference_to(CONTROL, differences(game, attacker, reading))) is not None
    ]
    if less := difference_to(CONTROL, game.retrained_differences):
        found.append(f"classifier retrained, {compared(less)}")
    return [f"{game.name} less the control: {'; '.join(found)}. {NOTE}"] if found else []


def _linked(figure: Figure) -> list[str]:
    return [in_words(figure(*asked), digits=2) for asked in COLUMNS.values()]


def _of(method: Method) -> Figure:
    return lambda attacker, reading: readings.auc(method.privacy[attacker], reading)


def _of_all(generators: Generators) -> Figure:
    kinds = {MATCHED: generators.matched, ALL: generators.auc}
    return lambda attacker, reading: kinds[reading][attacker]


def _moved(methods: list[Method]) -> str:
    found = (m.image.displacement_px.rms for m in methods if m.image.displacement_px)
    return several(rms for rms in found if rms is not None)
