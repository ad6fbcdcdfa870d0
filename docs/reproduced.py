"""Whether the commands printed beside committed results still give the options of these results.

A command stands in backticks in an item of a list, beside the link to its table, and is read
by the command line's own parser; the options are those in results.json.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from anonymize.configuration import train_options
from anonymize.errors import UsageError
from anonymize.prichexy_net import PriCheXyNet
from attacks.commands.evaluate import choices_of, options_of
from attacks.commands.evaluate import command as evaluate_command
from attacks.evaluation.checks.checks import run_checks
from attacks.evaluation.differences import with_margins
from attacks.evaluation.pinned import pinned, pinned_training, training_of
from attacks.evaluation.protocol import entrants, is_protocol, read_protocol
from attacks.results import Results

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
RUN = " --run RUN"
OTHER_RUN = "a run of another evaluation"
WARP_MENDED = "2026-11-29"  # before, what computed in bfloat16 learnt through rounded coordinates
ROUNDED = "generators learnt through a warp whose coordinates were rounded (docs/miniature.md)"
COMMAND = re.compile(r"`(attacks evaluate [^`]+)`")


def evaluations() -> list[str]:
    """Every committed evaluation, its folder below docs/results."""
    return sorted(p.parent.relative_to(RESULTS).as_posix() for p in RESULTS.rglob("results.json"))


def documented(key: str, page: str) -> str:
    """The command of an evaluation. Raises UsageError: the page has none."""
    for item in re.split(r"^- ", page, flags=re.MULTILINE):
        if f"](results/{key}/table.md)" in item and (call := COMMAND.search(item)):
            return " ".join(call[1].split())
    raise UsageError(f"no item of a list has both the table and the command of {key}")


def asked(call: str) -> tuple[dict, list[dict]]:
    """The options of ``attacks evaluate …``, and those of each training of its methods. Raises
    UsageError: an option that the command does not have."""
    values = evaluate_command.make_context("evaluate", shlex.split(call)[2:]).params
    choices, config = choices_of(values), values["config"]
    config = str(ROOT / config) if config and (ROOT / config).is_file() else config
    own = pinned(options_of(choices, config))
    if not config or not is_protocol(config):
        return own, []
    found = entrants(read_protocol(config), Path("runs"), choices)
    return own, [kept for entrant in found if (kept := training_of(entrant))]


def differences(key: str, page: str) -> list[str]:
    """Options that the documented command gives otherwise: "classifier.epochs 12, now 10".

    An option that the results do not know yet is none as long as it has its default, by which a
    new option changes nothing. ``--run RUN`` takes runs of the evaluation in whose folder these
    results lie.
    """
    kept = results(key)
    try:
        call = documented(key, page)
        now, trainings = asked(call.replace(RUN, ""))
    except UsageError as error:
        return [str(error)]
    found = list(_unequal(kept.options, now, _DEFAULTS))
    trained = [method for method in kept.methods if method.training]
    if RUN in call:
        runs = {method.fingerprint for method in results(key.rpartition("/")[0]).methods}
        return found + [OTHER_RUN for method in trained if method.fingerprint not in runs]
    for training in (method.training or {} for method in trained):
        least = (list(_unequal(training, other, _DEFAULTS)) for other in trainings)
        found += min(least, key=len, default=["the training of a method"])
    return found


def rounded(own: Results) -> bool:
    """Whether generators of an evaluation learnt through a warp rounded to 8 bits, as those without
    control points did in bfloat16 (tests/benchmarks/bench_rounding.py)."""
    early = own.made is None or own.made.date < WARP_MENDED
    learnt = [method for method in own.methods if method.name == PriCheXyNet.name]
    free = any("controls" not in method.options for method in learnt)
    return early and free and own.options["precision"] == "bf16"


def results(key: str) -> Results:
    """A committed evaluation, by its folder; what its figures decide is judged by today's rules."""
    path = RESULTS / key / "results.json"
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, written: int) -> Results:
    """Of a file ``written`` then: many tables are made of the same few files."""
    found = _each_once(Results.read(path))
    kept = {check.name: check for check in found.checks}
    now = {check.name: check for check in run_checks(found)}
    judged = {"methods": with_margins(found.methods), "checks": tuple((kept | now).values())}
    return found.model_copy(update=judged)


def _each_once(found: Results) -> Results:
    """Before, a control that two generators share stood there for each of them, under two names."""
    own = [m for n, m in enumerate(found.methods) if m not in found.methods[:n]]
    once = found.model_copy(update={"methods": tuple(own)})
    named = {title: once.titles()[own.index(method)] for title, method in found.titled}
    text = once.model_dump_json(by_alias=True)
    for title in sorted(named, key=len, reverse=True):  # "#10" before "#1"
        text = text.replace(title, named[title]) if title != named[title] else text
    return once if len(own) == len(found.methods) else Results.model_validate_json(text)


_OPTIONS = train_options("prichexy-net")()  # the sections of all attackers among them
_DEFAULTS = pinned(_OPTIONS) | pinned_training(_OPTIONS)


def _unequal(
    one: Mapping[str, Any], other: Mapping[str, Any], defaults: Mapping[str, Any], at: str = ""
) -> Iterator[str]:
    for name in dict.fromkeys((*one, *other)):
        a, b, default = one.get(name), other.get(name), defaults.get(name)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _unequal(a, b, default or {}, f"{at}{name}.")
        elif a != b and (name in one or b != default):
            yield f"{at}{name} {a}, now {b}"
