"""``anonymize merge``."""

import json
import time
from dataclasses import asdict

import click

from anonymize.commands.apply_options import QUARANTINED, stopping_with_words
from anonymize.commands.apply_report import about_protection, about_text, attack, names_note
from anonymize.commands.common import PATH, warn_of_readers
from anonymize.commands.progress import progress_bar
from anonymize.errors import counted
from anonymize.release.reasons import Reason


@click.command(
    epilog="\b\nExample: for I in 1 2 3; do anonymize apply radiographs shards/$I --shard $I/3 \\\n"
    "           --model runs/cxr8 --key-file secret.key; done\n"
    "         anonymize merge shards released"
)
@click.argument("shards", metavar="SHARD...", type=PATH, nargs=-1, required=True)
@click.argument("out", metavar="OUT", type=PATH)
@click.option(
    "--private",
    type=PATH,
    metavar="DIR",
    help="Map, journal and quarantine list of the release. [OUT-private]",
)
@click.option(
    "--sign",
    is_flag=True,
    help="Write OUT/manifest.sig, as `anonymize apply --sign`; an OUT that is signed stays so.",
)
@click.option("--key-file", type=PATH, help="The shards' secret, to sign with.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(shards, out, private, sign, key_file, as_json) -> None:
    """Make one release of the shards that `anonymize apply --shard I/N` made.

    SHARD is the OUT of one, with its private folder beside it, or a folder of such. All N must be
    there and finished, of the same files, options, secret and model; each of their files is looked
    at (sha256) before anything is changed. They are then moved into OUT, whose manifest is that of
    one machine, byte for byte. The same command again continues.

    Exit status: 0 all done, 3 some files are quarantined or none is released, 2 wrong usage or
    shards that do not fit together, 4 OUT cannot be written.
    """
    from anonymize.release.machines.merge import merge

    warn_of_readers(key_file)
    started = time.monotonic()
    with progress_bar("merging") as progress, stopping_with_words():
        found = merge(shards, out, private=private, key_file=key_file, sign=sign, progress=progress)
    if (note := names_note(found)) is not None:
        click.echo(note, err=True)
    if as_json:
        click.echo(json.dumps(asdict(found), indent=2))
    else:
        click.echo(describe(found, time.monotonic() - started))
    raise SystemExit(QUARANTINED if found.quarantined or not found.released else 0)


def _about_attack(found) -> list[str]:
    """The next command; of a trained method it needs the model, of which a shard knows the sum."""
    if not found.released or Reason.UNREVIEWED.value in found.reasons:
        return []
    command = attack(found, "RUN", found.source)
    which = "; RUN is the --model of the shards" if found.model_sha256 else ""
    return [f"next       whom do these files show? {command}{which}"]


def describe(found, seconds: float) -> str:
    """What became of all shards, in words."""
    return "\n".join(
        [
            f"{counted(found.shards, 'shard')}, {counted(found.inputs, 'file')}: {found.released} "
            f"released, {found.quarantined} quarantined, {found.left_out} not images "
            f"({seconds:.1f} s)",
            *(f"  {count} {code}" for code, count in found.reasons.items()),
            f"released   {found.out}" if found.released else "released   nothing",
            f"private    {found.private}: map.csv, quarantine.csv, journal.jsonl; never hand it on",
            *about_protection(found),
            *about_text(found, found.private),
            f"next       anonymize verify {found.out}; the shards' folders hold nothing more "
            "that is needed",
            *_about_attack(found),
        ]
    )
