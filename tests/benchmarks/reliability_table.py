"""The reliability table of the README: python tests/benchmarks/reliability_table.py

Reads docs/results/reliability/*.json, each written by the command in its row, and writes
docs/results/reliability/table.md. What was not measured has no row.
"""

import json
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results" / "reliability"


def dicom_table(r):
    table = r["table"].partition(" (")[0]
    yield (
        f"{r['cases']:,} cases: every row of {table} at five positions, options",
        f"{r['survived']} markers survive, {r['refused']} refused",
    )


def dicom_readers(r):
    yield (
        f"{r['files']} DICOM outputs through {', '.join(r['programs'])}, pydicom",
        f"{r['new errors']} new errors, {r['unread']} unread or other pixels",
    )


def canaries(r):
    places = {key: number for key, number in r.items() if key.startswith("hits in ")}
    pictures = "; burned in too" if r["burned in"] else ""
    found = f"{sum(places.values())} hits in {r['bytes searched'] / 1e6:.1f} MB"
    if r["burned in"]:
        found += f"; names read by OCR in {r['names read before']} of {r['pictures read']} inputs, "
        found += f"{r['names read after']} outputs"
    yield f"{r['canaries']:,} canaries in {r['files']:,} files{pictures}", found


def mutants(r):
    longest = max(r["longest call (s of computing)"].values())
    yield (
        f"{r['mutants']:,} mutants of DICOM, PNG, JPEG, TIFF",
        f"{r['crashes of the run']} crashes of the run, {sum(r['workers lost'].values())} workers "
        f"lost, {r['calls that computed over 10 s']} calls over 10 s (longest {longest:.1f} s); "
        f"{r['released']:,} released, {r['released, not sound']} of them fail `verify`",
    )


def bombs(r):
    yield (
        f"{r['bombs']} bombs",
        f"{r['released']} released, {len(r['over 5 s'])} over 5 s (longest "
        f"{r['longest (s of computing)']} s), workers' memory at most "
        f"{r['most memory of a worker (MiB)']} MiB",
    )


def kills(r):
    yield (
        f"{r['random kills']} random `kill -9` over {r['files']} files, {r['named points']} "
        "named points",
        f"{r['partial, lost or doubled']} files partial, lost or doubled, {r['trees that differ']} "
        "trees other than undisturbed",
    )
    ways = r["same bytes"]
    yield f"{', '.join(ways)}", f"{sum(ways.values())} of {len(ways)} byte-identical"


def receive(r):
    yield (
        f"{r['objects']:,} images from {r['senders']} senders (storescu) to `anonymize receive`, "
        f"killed {r['kills']} times and started again, then to an archive ({r['archive']})",
        f"{r['accounted for']:,} accounted for: {r['released']:,} released, {r['released twice']} "
        f"twice, {r['in the archive']:,} in the archive, {r['left in the spool']} left behind",
    )


def cases(r):
    for name, group in r.items():
        if isinstance(group, dict) and "held" in group:
            yield f"{group['cases']} {name}", f"{group['held']} held, {group['failed']} failed"


def text(r):
    outcomes = r["made_up"]["outcomes"]["all"]
    ends = ("removed", "quarantined", "in part", "missed")
    yield (
        f"{r['made_up']['specimens']} made-up texts, every angle, down to 8 pixels ({r['ocr']})",
        ", ".join(f"{outcomes.get(end, 0)} {end}" for end in ends),
    )
    if "by_contrast" in r:
        faint = r["by_contrast"]
        heights = faint["removed_or_quarantined"].items()
        for height, steps in heights:
            yield (
                f"names of {height} pixels of 1024, 2 to 40 gray levels, in noise of "
                f"{faint['noise']:g}",
                "removed or quarantined: "
                + ", ".join(f"{n} of {faint['of']} at {step}" for step, n in steps.items()),
            )
    for name in ("originals", "covid19"):
        if name in r:
            found = r[name]["found"]
            yield (
                f"texts in {r[name]['pictures']} radiographs ({name}), marked by eye",
                f"found: {found['text']} lines, {found['letter']} single letters, {found['side']} "
                f"side markers, {found['hard']} hardly legible",
            )


def speed(r):
    for name, found in r["sets"].items():
        for workers, now in found["now"].items():
            cost, before = now["user CPU"], found["before"][workers]["user CPU"]
            yield (
                f"a further one of {found['files']} {name}, {r['side']}², text removed, {workers} "
                f"worker{'s' * (workers != '1')}",
                f"{cost:.2f} s of computing ({r['now']}), {before:.2f} s before ({r['before']}): "
                f"{before / cost:.1f} times",
            )
        if "two programs" in found:
            one, two = (found["now"][workers]["wall"] for workers in "12")
            yield (
                f"{found['files']} {name}, {r['side']}², by the clock",
                f"two workers {one / two:.2f} times as fast as one; two programs of one worker at "
                f"once {one / found['two programs']:.2f} times",
            )


def labels(r):
    masks, boxes = r["masks"], r["boxes"]
    yield (
        f"{r['labels']:,} labels of {r['images']} radiographs (covid19)",
        f"Dice of the lung mask with the picture's own segmentation {masks['dice_before']:.2f} "
        f"before, {masks['dice_after']:.2f} after; {boxes['enclose_their_lung_within_1_px']} of "
        f"{boxes['boxes']} boxes enclose their lung",
    )
    for field, found in r["points"].items():
        yield (
            f"{found['points']:,} points there and back, {field.replace(',', ', ')}",
            f"at most {found['largest_round_trip_px']:.4f} px away, "
            f"{found['folded_points']:,} where the field folds",
        )


def hostile(r):
    groups = {name: g for name, g in r.items() if isinstance(g, dict) and "held" in g}
    cases, held = (sum(group[key] for group in groups.values()) for key in ("cases", "held"))
    lost = [name for name, group in sorted(groups.items()) if group["held"] < group["cases"]]
    kinds = "; ".join(f"{name} {group['cases']}" for name, group in sorted(groups.items()))
    yield (
        f"{cases:,} hostile inputs: {kinds}",
        f"{held:,} held" + (f"; not all of {', '.join(lost)}" if lost else ""),
    )


def fuzz(r):
    yield (
        f"{r['inputs']:,} inputs found by coverage in {r['seconds']:,} s: {r['target']}",
        f"{r['refused']:,} refused, {r['crashes']} crashes, "
        f"{len(r.get('stopped by limits', ()))} stopped by a worker's limits",
    )


MEASURED = (
    dicom_table,
    dicom_readers,
    canaries,
    text,
    speed,
    labels,
    mutants,
    bombs,
    kills,
    receive,
    cases,
    hostile,
    fuzz,
)


def table() -> str:
    lines = ["| what | found | command |", "| --- | --- | --- |"]
    for rows in MEASURED:
        for path in sorted(RESULTS.glob(f"{rows.__name__}*.json")):
            result = json.loads(path.read_text(encoding="utf-8"))
            script = result["command"].rpartition("/")[2]
            lines += [f"| {what} | {found} | `{script}` |" for what, found in rows(result)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = table()
    (RESULTS / "table.md").write_text(text, encoding="utf-8")
    print(text, end="")
