"""``anonymize receive``."""

import json
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

import click

from anonymize.commands import common
from anonymize.commands.apply_options import (
    QUARANTINED,
    REASONS,
    asked_for,
    model_and_options,
    shared,
    stopping_with_words,
)
from anonymize.commands.apply_report import about_protection, about_text
from anonymize.commands.interrupts import asked_to_stop
from anonymize.errors import UsageError
from anonymize.receive.options import ForwardOptions, NodeOptions, ReceiveOptions, SpoolOptions

MIB = 1 << 20
EPILOG = REASONS + (
    "\n\nExample: anonymize receive released --aet ANONYMIZE --allow MODALITY1 --model runs/cxr8 "
    "--forward-to ARCHIVE@127.0.0.1:4242"
)
SECONDS = common.FiniteRange(0.1, 3600)


@click.command(epilog=EPILOG)
@click.argument("out", metavar="OUT", type=common.PATH)
@click.option("--aet", default=NodeOptions.aet, metavar="AET", help="AE title of this node.")
@click.option(
    "--allow",
    multiple=True,
    required=True,
    metavar="AET",
    help="AE title that may send; may be repeated. Others are rejected, and told nothing.",
)
@click.option(
    "--host",
    default=NodeOptions.host,
    help="Address to listen at; by default only this machine can reach it.",
)
@click.option("--port", type=click.IntRange(0, 65_535), default=NodeOptions.port, help="0: any.")
@click.option(
    "--tls-cert", type=common.PATH, metavar="PEM", help="Certificate of this node: TLS only."
)
@click.option("--tls-key", type=common.PATH, metavar="PEM", help="Its key.")
@click.option(
    "--tls-client-ca",
    type=common.PATH,
    metavar="PEM",
    help="CAs that senders' certificates must come from (mutual TLS).",
)
@click.option(
    "--associations",
    type=click.IntRange(1, 256),
    default=NodeOptions.associations,
    help="Most at once.",
)
@click.option(
    "--pdu",
    type=click.IntRange(4096, MIB),
    default=NodeOptions.pdu,
    help="Longest PDU that senders are told to send, in bytes.",
)
@click.option(
    "--object-limit",
    type=click.IntRange(1, 1024),
    default=NodeOptions.object_bytes // MIB,
    metavar="MIB",
    help="Largest object that is taken.",
)
@click.option(
    "--timeout",
    type=SECONDS,
    default=NodeOptions.timeout,
    metavar="SECONDS",
    help="How long a sender may be silent.",
)
@click.option(
    "--spool",
    type=common.PATH,
    metavar="DIR",
    help="Where objects wait until they are released and forwarded; mode 0700. [OUT-spool]",
)
@click.option(
    "--spool-files",
    type=click.IntRange(1),
    default=SpoolOptions.files,
    help="Most objects that wait; beyond, senders are answered 0xA700 (out of resources).",
)
@click.option(
    "--spool-limit",
    type=click.IntRange(1),
    default=SpoolOptions.size // MIB,
    metavar="MIB",
    help="The same for their size.",
)
@click.option(
    "--spare-disk",
    type=click.IntRange(0),
    default=SpoolOptions.spare // MIB,
    metavar="MIB",
    help="The same where less would stay free on a disk.",
)
@click.option(
    "--forward-to",
    metavar="AET@HOST:PORT|URL",
    help="Send what is released there, by C-STORE or STOW-RS (https://host/…/studies).",
)
@click.option(
    "--forward-ca",
    type=common.PATH,
    metavar="PEM",
    help="CAs that the archive's certificate must come from; C-STORE is over TLS then. "
    "[https: the system's]",
)
@click.option(
    "--forward-credentials",
    type=common.PATH,
    metavar="FILE",
    help="For STOW-RS: a file of mode 0600 with user:password, or Bearer and a token. "
    "[the environment's ANONYMIZE_FORWARD_CREDENTIALS]",
)
@click.option(
    "--forward-tries",
    type=click.IntRange(1, 10_000),
    default=ForwardOptions.tries,
    help="After so many a file is listed in DIR/undelivered.csv, until the node is started anew.",
)
@click.option(
    "--drain",
    type=SECONDS,
    default=ReceiveOptions.drain,
    metavar="SECONDS",
    help="How long it may go on with what it has when it is to end.",
)
@shared
@click.option("--json", "as_json", is_flag=True, help="Print the counts at the end as JSON.")
@common.device_option
def command(out, spec, as_json, device, **wanted) -> None:
    """Be a DICOM node: receive radiographs, anonymize them, and forward them to an archive.

    Every object is on the disk before its sender is told so. It is released to OUT as `anonymize
    apply` does, under a hashed name, and forwarded if that is asked for; what cannot be anonymized
    is kept in DIR/quarantine, and goes nowhere. C-STORE and C-ECHO are answered, and nothing else.

    Ctrl-C or SIGTERM ends it in order, a second one at once; the same command goes on, and nothing
    that was received is lost, not by kill -9 either.

    Exit status: 0 ended, 3 ended and some were quarantined or undelivered, 2 wrong usage, 4
    stopped: OUT cannot be written, or no worker started.
    """
    if missing := [name for name in ("pynetdicom", "httpx") if find_spec(name) is None]:
        raise UsageError(
            f"receiving needs {' and '.join(missing)}: pip install 'anonymize-cxr[receive]'"
        )
    options = _options(wanted)
    unlike: dict[str, Any] = {"labels": (), "label_columns": (), "names": "hashed"}
    unlike |= dict.fromkeys(("spare", "table", "columns", "patients", "measured", "shard"))
    method, release = asked_for(spec, **wanted, **unlike)
    from anonymize.receive.destinations import sides

    sides(release, options)
    model, release = model_and_options(method, device, release, text=wanted["text"])

    from anonymize.receive.service import check_method, receive
    from anonymize.release.summary import Told

    check_method(model)
    private = str(release.private or f"{out}-private")

    def say(line: str) -> None:
        click.echo(line, err=True)

    known = Told(evidence=model.evidence, text=release.text.mode)
    text = about_text(known, private) if known.text == "keep" else []
    say("\n".join([*about_protection(known), *text]))
    with stopping_with_words(), asked_to_stop() as stopping:
        summary = receive(out, model, release, options, stopping=stopping, say=say)
    assert summary.told is not None  # it ended
    if as_json:
        click.echo(json.dumps(summary.counts | asdict(summary.told), indent=2))
    else:
        found = [*about_protection(summary.told), *about_text(summary.told, private)]
        click.echo("\n".join([f"ended: {summary}", *found]))
    raise SystemExit(QUARANTINED if summary.quarantined or summary.undelivered else 0)


def _options(wanted: dict) -> ReceiveOptions:
    """What is asked of the node; it is taken out of ``wanted``."""
    same = ("aet", "allow", "host", "port", "tls_cert", "tls_key", "tls_client_ca")
    node = {name: wanted.pop(name) for name in (*same, "associations", "pdu", "timeout")}
    return ReceiveOptions(
        node=NodeOptions(**node, object_bytes=wanted.pop("object_limit") * MIB),
        spool=SpoolOptions(
            folder=wanted.pop("spool"),
            files=wanted.pop("spool_files"),
            size=wanted.pop("spool_limit") * MIB,
            spare=wanted.pop("spare_disk") * MIB,
        ),
        forward=ForwardOptions(
            to=wanted.pop("forward_to"),
            ca=wanted.pop("forward_ca"),
            credentials=wanted.pop("forward_credentials"),
            tries=wanted.pop("forward_tries"),
        ),
        drain=wanted.pop("drain"),
    )
