"""OUT of a command: for one process at a time, and for one evaluation.

``NAME.of.json`` beside the results ``NAME.json`` says what they are of, so that they are never
overwritten by another evaluation, and the same one can go on. What the inputs hold, of which the
options know the paths alone, is known later: when the data set is open.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.errors import UsageError
from anonymize.folder_lock import own_folder
from anonymize.options import TrainOptions
from attacks.titles import leaves

NAMED = 4  # differences that the message names
CONTENTS = "contents"  # key of a claim: fingerprints, by what a message calls what has them
Holds = Callable[[Mapping[str, str]], None]


def unknown(contents: Mapping[str, str]) -> None:
    """The `Holds` of who claims no folder."""


@contextmanager
def claimed(
    out: Path,
    name: str,
    of: Mapping[str, Any],
    *,
    results: str | None = None,
    option: str = "--out",
) -> Iterator[Holds]:
    """The folder ``out``, made where it is missing, is this process's, for results ``name`` of one
    subject. Gives what is to be called with the contents of inputs, once they are known; it refuses
    others, too. Of what an older claim does not know, nothing is refused.

    Args:
        of: what the results are of, by names that a message may say; plain values. A list may grow:
            whoever asks for more of it asks for the same, and more. `CONTENTS` that are known.
        results: the file that shows that there are some; None: NAME.json.
        option: that names ``out``, for messages.

    Raises:
        UsageError: it holds other files, it cannot be written, another process works there, or it
            holds results of something else.
    """
    claim, written = out / f"{name}.of.json", out / (results or f"{name}.json")

    def refuse(other: list[str]) -> None:
        if other:
            named = ", ".join(other[:NAMED]) + (" and more" if len(other) > NAMED else "")
            raise UsageError(
                f"{out} holds results of something else ({named}); choose another {option}, "
                f"or remove {written.name} there"
            )

    with own_folder(out, option=option, holds=(claim.name, written.name)):
        wanted = _plain(of)
        held = _read(claim) if written.exists() else {CONTENTS: {}}
        if held is None:
            refuse(["nothing says of what"])
        elif written.exists():
            refuse(_differences(held, wanted))
        contents = wanted[CONTENTS] = _contents(held) | _contents(wanted)

        def holds(found: Mapping[str, str]) -> None:
            refuse(_others(contents, found))
            contents.update(found)
            if not written.exists():  # whoever is killed behind them leaves results of these
                _write(claim, wanted)

        begins = not claim.exists()
        if not written.exists():
            _write(claim, wanted)
        try:
            yield holds
        except UsageError:
            if begins:
                claim.unlink()
            raise
        _write(claim, wanted)


def finished(
    out: Path, name: str, of: Mapping[str, Any], contents: Callable[[], Mapping[str, str]]
) -> Path | None:
    """The results ``name`` in ``out`` where they are of exactly this subject; None where not.
    ``contents`` of inputs are asked for where the claim knows some."""
    results, held = out / f"{name}.json", _read(out / f"{name}.of.json")
    if held is None or not results.is_file():
        return None
    known = _contents(held)
    same = {**held, CONTENTS: None} == {**_plain(of), CONTENTS: None}
    return results if same and not (known and _others(known, contents())) else None


def of_options(options: TrainOptions) -> dict[str, Any]:
    """The options that figures depend on, flat, and where the data set lies."""
    root = options.data.root
    where = "" if root is None else str(root.expanduser().resolve())
    # As text: an option that is a list is one value.
    return {"data.root": where} | {k: str(v) for k, v in leaves(options.that_matter("figures"))}


def _plain(of: Mapping[str, Any]) -> dict[str, Any]:
    """As it is read again."""
    return dict(json.loads(json.dumps(of, default=str)))


def _differences(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    keys = [key for key in {**held, **wanted} if not _goes_on(held.get(key), wanted.get(key))]
    return [k for k in keys if k != CONTENTS] + _others(_contents(held), _contents(wanted))


def _contents(claim: Mapping[str, Any] | None) -> dict[str, str]:
    return dict((claim or {}).get(CONTENTS) or {})


def _others(held: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """What holds something else than it did; what is not known is no difference."""
    return [name for name, content in found.items() if held.get(name, content) != content]


def _goes_on(held: Any, wanted: Any) -> bool:
    if isinstance(held, list) and isinstance(wanted, list):
        return all(item in wanted for item in held)
    return bool(held == wanted)


def _write(path: Path, of: dict[str, Any]) -> None:
    whole_file.write(path, json.dumps(of, indent=2) + "\n", mode=0o600)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
