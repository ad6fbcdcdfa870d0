"""Teaches the gate of the OCR: train_gate.py COVID19 CHILDREN OUT.onnx [PASSES [STEPS]].

COVID19 and CHILDREN are the folders of two public data sets; pictures that ``burned_in_truth.json``
marks are left out, they measure. The OCR says what text the pictures show already; text is drawn
over them; the gate learns which places that the strokes let pass show any. Needs torch and onnx
(pip install onnx), 4 GB, and an hour of one core.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import cv2
import numpy as np
import onnx
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "release")]
from gate_text import written  # noqa: E402
from text_specimens import gray  # noqa: E402

from anonymize.data.phantom import cohort, draw  # noqa: E402
from anonymize.release.burned_in import find, gate, places, quadrilaterals, views  # noqa: E402

TEXT, NONE, UNKNOWN, BEYOND = 1, 0, 2, 3
SIDE = 96  # pixels: what is learnt from at once; smaller places are multiples of 32
READABLE = (6, 80)  # pixels of letters that the gate must see
CHILDREN, PHANTOMS = 160, 40
EMPTY_PLACES = 110  # of a picture, without text
CONVOLUTIONS = (  # channels, kernel, stride, dilation
    *((12, 5, 2, 1), (24, 3, 2, 1), (32, 3, 2, 1)),
    *((32, 3, 1, 1), (32, 3, 1, 2)),
)
RATE, BATCH = 3e-3, 48
HOPELESS = 0.04  # of the places with text, in which nobody could read any
FAR = -30.0  # a logit that is none


def pictures(covid, children):
    """(pixels, what may be text in them: corners, height of letters, TEXT or UNKNOWN)."""
    measuring = json.loads((HERE.parent / "release/burned_in_truth.json").read_text())["covid19"]
    files = [p for p in sorted((covid / "images").iterdir()) if p.name not in measuring]
    young = sorted(children.rglob("*.jpeg"))
    order = np.random.default_rng(0).permutation(len(young))[:CHILDREN]
    shown = [np.asarray(Image.open(p).convert("L")) for p in [*files, *(young[i] for i in order)]]
    people = cohort(patients=80, images=80, seed=11).drop_duplicates("patient_id")
    for person in people.patient_id[:PHANTOMS]:
        drawn = draw(seed=11, patient_id=person, follow_up=0, size=1024)
        shown.append(np.round(drawn * 255).astype(np.uint8))
    return [(pixels, marks(pixels)) for pixels in shown]


def marks(pixels):
    """What the OCR takes for text, where the detector looks everywhere."""
    find.reader().gate.session = None
    longer = max(pixels.shape)
    found = find.lines(views.views(gray(pixels)), pixels.shape)
    return [
        (one.corners, one.height * longer, TEXT if one.is_text and one.sure >= 0.9 else UNKNOWN)
        for one in found
        if one.is_text or (one.letters and one.sure > 0.3)
    ]


def degraded(pixels, rng):
    """As another device would show it: larger, noisier, in other tones; how much larger."""
    if rng.random() < 0.45:
        return pixels, 1.0
    longer = max(pixels.shape)
    factor = max(float(rng.choice([1.0, 1024 / longer, 1400 / longer])), 0.5)
    made = cv2.resize(pixels, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC)
    noise = rng.normal(0, np.exp(rng.uniform(0, 2.2)), made.shape)
    grain = rng.uniform(0, 1)
    made = made + (cv2.GaussianBlur(noise, (0, 0), grain) if grain > 0.35 else noise)
    if rng.random() < 0.3:
        made = 255 * (made.clip(0, 255) / 255) ** np.exp(rng.normal(0, 0.4))
    return np.round(made.clip(0, 255)).astype(np.uint8), factor


def examples(pixels, known, rng):
    """(input, target) of places of ``pixels`` with text drawn over it."""
    made, factor = degraded(pixels, rng)
    known = [(corners * factor, height * factor, kind) for corners, height, kind in known]
    if rng.random() < 0.8:
        made, drawn = written(made, rng, int(rng.integers(4, 25)))
        known += [(one.corners, one.height, TEXT) for one in drawn]
    if rng.random() < 0.3:
        coded = cv2.imencode(".jpg", made, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(60, 96))])
        made = cv2.imdecode(coded[1], cv2.IMREAD_GRAYSCALE)
    found = [
        (place.shown, target(place, known))
        for place in places.places(views.views(gray(made)), made.shape)
    ]
    with_text = [one for one in found if (one[1] == TEXT).any()]
    empty = [one for one in found if not (one[1] == TEXT).any() and (one[1] == NONE).any()]
    if len(empty) > EMPTY_PLACES:
        often = np.array([one[1].size for one in empty]) ** 0.5
        chosen = rng.choice(len(empty), EMPTY_PLACES, replace=False, p=often / often.sum())
        empty = [empty[i] for i in chosen]
    for shown, wanted in with_text + empty:
        for _ in range(1 + min(wanted.size // (2 * SIDE * SIDE), 5)):
            yield crop(shown, wanted, rng)


def target(place, known):
    """uint8 (h, w) of a place."""
    wanted = np.zeros(place.shown.shape[:2], np.uint8)
    for corners, height, kind in known:
        own = quadrilaterals.drawn(corners * place.scale - place.origin, wanted.shape)
        beside = cv2.dilate(own, np.ones((17, 17), np.uint8)) > 0
        wanted[beside & (wanted != TEXT)] = UNKNOWN
        readable = READABLE[0] <= height * place.scale <= READABLE[1]
        wanted[own > 0] = TEXT if kind == TEXT and readable else UNKNOWN
    return wanted


def crop(shown, wanted, rng):
    """float16 and uint8 of one size; around some text where there is any."""
    size = [min(-(-side // gate.STEP) * gate.STEP, SIDE) for side in wanted.shape]
    planes = gate.standardised(shown)[0, 0]
    fill = [(0, a - b) for a, b in zip(planes.shape, wanted.shape, strict=True)]
    wanted = np.pad(wanted, fill, constant_values=BEYOND)
    text = np.argwhere(wanted == TEXT)
    start = [int(rng.integers(a - b + 1)) for a, b in zip(wanted.shape, size, strict=True)]
    if len(text):
        at = text[rng.integers(len(text))] - [rng.integers(side) for side in size]
        start = np.clip(at, 0, np.subtract(wanted.shape, size)).tolist()
    part = tuple(slice(a, a + b) for a, b in zip(start, size, strict=True))
    return planes[part].astype(np.float16), wanted[part]


def network():
    parts, channels = [], 1
    for wide, kernel, stride, dilation in CONVOLUTIONS:
        padding = dilation * (kernel // 2)
        how = {"stride": stride, "padding": padding, "dilation": dilation, "bias": False}
        parts += [nn.Conv2d(channels, wide, kernel, **how), nn.BatchNorm2d(wide), nn.ReLU()]
        channels = wide
    return nn.Sequential(*parts, nn.Conv2d(channels, 1, 1)).to(memory_format=torch.channels_last)


def loss(logits, wanted):
    """Cells with and without text, and the surest of each place, which decides."""
    text = (F.avg_pool2d((wanted == TEXT).float(), gate.CELL) >= 0.4).float()
    none = (F.avg_pool2d((wanted == NONE).float(), gate.CELL) >= 0.95).float()
    wrong = F.softplus(logits) * none * (0.25 + torch.sigmoid(logits).detach())
    missed = F.softplus(-logits) * text
    cells = 3 * wrong.sum() / none.sum().clamp(min=1) + missed.sum() / 2 / text.sum().clamp(min=1)
    far = torch.full_like(logits, FAR)
    surest = [torch.where(m > 0, logits, far).flatten(1).logsumexp(1) for m in (text, none)]
    shows = text.flatten(1).sum(1) >= 2
    empty = (wanted != TEXT).flatten(1).all(1) & (none.flatten(1).sum(1) >= 1)
    seen = F.softplus(2 - surest[0][shows])
    seen = seen[seen <= torch.quantile(seen.detach(), 1 - HOPELESS)] if len(seen) > 8 else seen
    let_by = F.softplus(2 + surest[1][empty])
    return cells + 1.5 * seen.sum() / max(len(seen), 1) + 0.7 * let_by.sum() / max(len(let_by), 1)


def taught(groups, steps):
    """The network after so many steps on ``groups``: {(h, w): (inputs, targets)}."""
    torch.manual_seed(0)
    net, sizes = network(), list(groups)
    areas = torch.tensor([len(groups[size][0]) * size[0] * size[1] for size in sizes]).float()
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=1e-3)
    for step in range(steps):
        rate = max(RATE / 2 * (1 + np.cos(np.pi * step / steps)), 1e-5)
        optimizer.param_groups[0]["lr"] = rate
        size = sizes[int(torch.multinomial(areas, 1))]
        inputs, targets = groups[size]
        count = min(BATCH * SIDE * SIDE // (size[0] * size[1]), 192)
        chosen = torch.randint(len(inputs), (count,))
        turn, sign = int(torch.randint(4, (1,))), 1 - 2 * int(torch.randint(2, (1,)))
        planes, wanted = (torch.rot90(x[chosen].float(), turn, (2, 3)) for x in (inputs, targets))
        with torch.autocast("cpu", torch.bfloat16):
            logits = net((sign * planes).contiguous(memory_format=torch.channels_last))
        total = loss(logits.float(), wanted)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        if step % 500 == 0:
            print(f"{step} of {steps} steps: {total.item():.2f}", flush=True)
    return net.eval()


def written_to(net, out, card):
    """``net`` as ONNX, normalizations in its convolutions."""
    layers, parts = list(net), []
    for layer, following in zip(layers, [*layers[1:], None], strict=True):
        if isinstance(following, nn.BatchNorm2d):
            layer = nn.utils.fuse_conv_bn_eval(layer, following)
        if not isinstance(layer, nn.BatchNorm2d):
            parts.append(layer)
    sides = {0: "planes", 2: "height", 3: "width"}
    torch.onnx.export(
        nn.Sequential(*parts),
        (torch.zeros(1, 1, SIDE, SIDE),),
        out,
        input_names=["planes"],
        output_names=["logits"],
        dynamic_axes={"planes": sides, "logits": sides},
        dynamo=False,
    )
    model = onnx.load(out)
    onnx.helper.set_model_props(model, card)
    onnx.save(model, out)


def main(covid, children, out, passes=2, steps=25_000):
    rng = np.random.default_rng(1)
    shown = pictures(Path(covid), Path(children))
    groups = defaultdict(list)
    for _ in range(int(passes)):
        for i in rng.permutation(len(shown)):
            for planes, wanted in examples(*shown[i], rng):
                groups[planes.shape].append((planes, wanted))
    stacked = {
        size: tuple(torch.from_numpy(np.stack(side))[:, None] for side in zip(*group, strict=True))
        for size, group in groups.items()
    }
    count = sum(len(group) for group in groups.values())
    print(f"{len(shown)} pictures, {count} places", flush=True)
    card = {
        "taught by": "tests/benchmarks/train_gate.py",
        "pictures": f"{len(shown)}: COVID-19 Image Data Collection, Kermany 2018, phantoms",
        "places": str(count),
        "steps": str(steps),
    }
    written_to(taught(stacked, int(steps)), out, card)


if __name__ == "__main__":
    main(*sys.argv[1:])
