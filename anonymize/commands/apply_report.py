"""What ``anonymize apply`` says of a release, and of one that is only planned."""

import json
import shlex
from collections import Counter
from dataclasses import asdict

from anonymize.commands import set_report
from anonymize.errors import counted, inert
from anonymize.release.burned_in.options import MUCH
from anonymize.release.reasons import Reason

MOST_SIZES = 3  # that are named
MOVED = (
    "how far each image was moved, in pixels and mm; min_jacobian <= 0 where it folds; SSIM to the "
    "input, 1 = the same; not under --canonical"
)
NO_MANIFEST = "no manifest until somebody looked at every picture"
DONE = "each file, its sha256, and what was done to it"
OF_THE_METHOD = {Reason.INVALID_RESULT.value, Reason.TONE.value, Reason.UNCHANGED.value}


def describe(summary, seconds: float, spec: str | None = None, source: str = "IN") -> str:
    """The end of a release in words; ``spec`` is --model, None: the newest run."""
    if summary.together is not None:
        text = about_text(summary, summary.private)
        return set_report.describe(summary, seconds, text, attack(summary, spec, source))
    model = summary.method + ("" if summary.mu is None else f", mu = {summary.mu:g}")
    lines = [
        f"{counted(summary.inputs, 'file')}: {summary.anonymized} anonymized, "
        f"{summary.already_done} done already, {summary.quarantined} quarantined, "
        f"{summary.left_out} not images ({model}; {seconds:.1f} s)"
    ]
    released = summary.anonymized + summary.already_done
    waiting = summary.reasons.get(Reason.UNREVIEWED.value, 0)
    lines += [
        *set_report.reasons(summary),
        _about_out(summary, released),
        _about_manifest(summary, waiting),
        f"private    {summary.private}: map.csv (input to output), quarantine.csv, journal.jsonl; "
        "never hand it on",
        *about_protection(summary),
        *about_text(summary, summary.private),
        *_about_labels(summary.labels, summary.out),
        *_about_metadata(summary.metadata, summary.out, waiting),
    ]
    if summary.input_gone:
        lines.append(
            f"warning    {counted(summary.input_gone, 'released file')} whose input is no longer "
            "in IN: still released; to withdraw, begin anew with another OUT"
        )
    if waiting:
        lines.append(set_report.next_review(summary, counted(waiting, "file")))
    elif summary.quarantined and set(summary.reasons) <= OF_THE_METHOD:
        lines.append("next       mend the method, not the files; or take another --model")
    elif summary.quarantined:
        lines.append(
            "next       quarantine.csv says why: mend these files, or choose another option or OUT"
        )
    if released and not waiting and not summary.shard:
        lines.append(f"next       whom do these files show? {attack(summary, spec, source)}")
    return "\n".join(lines)


def describe_upload(sent) -> str:
    """What was uploaded, in a line."""
    if not sent.objects:
        return f"uploaded   nothing to {sent.address}: {NO_MANIFEST}"
    return (
        f"uploaded   {sent.address}: {counted(sent.objects, 'object')}, of which {sent.written} "
        f"were written and read back now; {sent.removed} removed"
    )


def _about_out(summary, released: int) -> str:
    if not released:
        return "released   nothing"
    return f"written    {summary.out}" if summary.shard else f"released   {summary.out}"


def _about_manifest(summary, waiting: int) -> str:
    if summary.shard:
        return (
            f"shard      {summary.shard}: a part of a release, which has no manifest before all "
            "are finished and put together: anonymize merge SHARD... OUT"
        )
    told = f"{summary.out}/manifest.csv: {MOVED if summary.mu is not None else DONE}"
    return f"public     {NO_MANIFEST if waiting else told}"


def attack(summary, spec: str | None, source: str) -> str:
    """The command that attacks the release. It finds the private folder beside OUT, and the options
    of a method in there; not where else a model lies."""
    words = ["attacks", "release", source, summary.out, *set_report.private_option(summary)]
    if spec is not None and summary.model_sha256:
        words += ["--method", spec]
    return shlex.join(words)


def names_note(summary) -> str | None:
    """What is to be known of kept names."""
    if summary.telling:
        return (
            f"warning: --names keep: the paths of {counted(summary.telling, 'released file')} hold "
            "a word that a DICOM header of this release knows of somebody (a name, an id, a date "
            "of birth); with --names hashed they would not"
        )
    if summary.names == "keep":
        return "note: file names are kept; if they tell who it is, use --names hashed"
    return None


def about_protection(told) -> list[str]:
    """What is not shown of a release's protection (:class:`summary.Told`)."""
    lines = [f"protection NOT SHOWN: {told.evidence}"]
    for why, number in list(told.unfit.items())[:MOST_SIZES]:
        lines.append(f"warning    {counted(number, 'image')}: {why}")
    if others := sum(list(told.unfit.values())[MOST_SIZES:]):
        lines.append(
            f"warning    {counted(others, 'image')} of other sizes: the method's strength does not "
            "fit them either"
        )
    return lines


def about_text(told, private: str) -> list[str]:
    """What is not known of text burned into a release's pictures (:class:`summary.Told`)."""
    if told.text == "keep":
        return [
            "text       NOT LOOKED FOR: text burned into a picture is treated as the rest of it, "
            "and may still be read: look at the pictures"
        ]
    done = f"removed from {counted(told.cleaned, 'image')}; " if told.text == "remove" else ""
    lines = [f"text       {done}what the OCR cannot read stays: look at the pictures"]
    if told.text == "remove" and told.cleaned:
        lines.append(f"           before and after: {private}/text, listed in text.csv there")
    if told.much_filled:
        lines.append(
            f"warning    {counted(told.much_filled, 'image')} lost more than {MUCH:.1%} of the "
            "picture with the text, and maybe anatomy: text.csv says how much (filled), look at "
            "the sheets"
        )
    return lines


def _about_labels(labels, out: str) -> list[str]:
    if not labels.images and not labels.without_image:
        return []
    lines = [
        f"labels     {labels.released} moved to {out}/labels; "
        f"{labels.held_back} held back with quarantined images; names of classes as they are, in "
        "labels.csv of the private folder: look at them"
    ]
    if labels.without_image:
        lines.append(
            f"warning    {counted(labels.without_image, 'label')} without an image in IN: see "
            "labels.csv in the private folder"
        )
    return lines


def _about_metadata(told, out: str, waiting: int) -> list[str]:
    if told is None:
        return []
    if waiting:
        return ["metadata   rows of --table are written when every picture was looked at"]
    lines = [
        f"metadata   {counted(told.written, 'row')} of --table written to "
        f"{out}/labels/metadata.csv; {told.left_out} of {told.rows} left out, whose files are "
        "quarantined or not in IN"
    ]
    if told.without_row:
        lines.append(f"note       {counted(told.without_row, 'released file')} without a row")
    if told.groups is not None:
        lines.append(f"{'warning' if told.groups.alone else 'note':<11}{told.groups}")
    return lines


PLANNED = (
    "note: not tried are the method, the encoders and the search for text: more may be quarantined"
)


def describe_plan(planned) -> str:
    """A line a file, and how many of each kind."""
    lines = []
    for p in planned:
        lines.append(f"{p.action:<10}  {p.reason or '-':<19} {inert(p.input)}")
    counts = sorted(_counts(planned).items())
    lines.append(", ".join(f"{count} {action}" for action, count in counts))
    return "\n".join([*lines, PLANNED])


def as_json_text(planned) -> str:
    """The plan as JSON."""
    files = [asdict(p) for p in planned]
    return json.dumps({"files": files, "counts": _counts(planned)}, indent=2)


def _counts(planned) -> Counter[str]:
    return Counter(p.action for p in planned)
