"""What is wrong with a command line is said at once: torch and the attackers take seconds."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from anonymize.configuration import look, read_config
from anonymize.data.sources.registry import check
from anonymize.runs import options_file
from anonymize.specs import check as check_spec
from attacks.registry import refuse_unknown


def refuse(
    changes: Mapping[str, Any],
    *,
    config: str | Path | None = None,
    runs: Iterable[Path] = (),
    methods: Iterable[str | Path | None] = (),
    attackers: Iterable[str] = (),
) -> None:
    """Refuses what cannot be meant, as far as that can be told without the code of methods and
    attackers; ``changes`` are those of the configuration, or else of the first run.

    Raises UsageError: an unknown method, attacker or option, a value out of range, no run, a source
    without its folder."""
    for name in attackers:
        refuse_unknown(name.partition(":")[0])
    for spec in methods:
        if spec is not None:
            check_spec(spec)
    given = [options_file(run) for run in runs]
    config = config or next(iter(given), "quick")
    if "base" not in read_config(config):  # else a whole evaluation, which has its own options
        look(config, dict(changes), refuse=lambda options: check(options.data))
