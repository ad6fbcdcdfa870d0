"""OUT of a command: for one process at a time, and for one evaluation.

``NAME.of.json`` beside the results ``NAME.json`` says what they are of, so that they are never
overwritten by another evaluation, and the same one can go on.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.errors import UsageError
from anonymize.folder_lock import own_folder
from anonymize.options import TrainOptions
from attacks.titles import leaves

NAMED = 4  # differences that the message names


@contextmanager
def claimed(
    out: Path,
    name: str,
    of: Mapping[str, Any],
    *,
    results: str | None = None,
    option: str = "--out",
) -> Iterator[None]:
    """The folder ``out``, made where it is missing, is this process's, for results ``name`` of one
    subject.

    Args:
        of: what the results are of, by names that a message may say; plain values. A list may grow:
            whoever asks for more of it asks for the same, and more.
        results: the file that shows that there are some; None: NAME.json.
        option: that names ``out``, for messages.

    Raises:
        UsageError: it holds other files, it cannot be written, another process works there, or it
            holds results of something else.
    """
    claim, written = out / f"{name}.of.json", out / (results or f"{name}.json")
    with own_folder(out, option=option, holds=(claim.name, written.name)):
        wanted = json.loads(json.dumps(of, default=str))
        if written.exists():
            held = _read(claim)
            other = ["nothing says of what"] if held is None else _differences(held, wanted)
            if other:
                named = ", ".join(other[:NAMED]) + (" and more" if len(other) > NAMED else "")
                raise UsageError(
                    f"{out} holds results of something else ({named}); choose another {option}, "
                    f"or remove {written.name} there"
                )
        begins = not claim.exists()
        if not written.exists():
            _write(claim, wanted)
        try:
            yield
        except UsageError:
            if begins:
                claim.unlink()
            raise
        _write(claim, wanted)


def finished(out: Path, name: str, of: Mapping[str, Any]) -> Path | None:
    """The results ``name`` in ``out`` where they are of exactly this subject; None where not."""
    results = out / f"{name}.json"
    same = _read(out / f"{name}.of.json") == json.loads(json.dumps(of, default=str))
    return results if same and results.is_file() else None


def of_options(options: TrainOptions) -> dict[str, Any]:
    """The options that figures depend on, flat, and where the data set lies."""
    root = options.data.root
    where = "" if root is None else str(root.expanduser().resolve())
    # As text: an option that is a list is one value.
    return {"data.root": where} | {k: str(v) for k, v in leaves(options.that_matter("figures"))}


def _differences(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    return [key for key in {**held, **wanted} if not _goes_on(held.get(key), wanted.get(key))]


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
