"""Which method made a release: by its manifest, and the journal in its private folder."""

import csv
from collections.abc import Sequence
from pathlib import Path

import anonymize
from anonymize.errors import UsageError
from anonymize.fingerprint import sha256_file
from anonymize.model_card import model_path
from anonymize.release.places import MANIFEST
from anonymize.release.records.journal import begun
from anonymize.runs import MODEL, RUNS

OF_NOISE = ("seed", "key_id")  # options that an adversary does not have


def method_of(
    released: Path, private: Path | None, given: str | None, runs: Sequence[Path] = ()
) -> str | None:
    """What `anonymize.load` makes the method of; None where nobody says what released the files.

    Args:
        given: by the user; it must not contradict the manifest.
        runs: that may be the manifest's model; those below ``runs`` are looked at, too.

    Raises:
        UsageError: the manifest names a method that is not ``given``, or a model that is not found;
            it is there, and cannot be read.
    """
    said = _first_row(released)
    name, model = (said.get("method", ""), said.get("model_sha256", "")) if said else ("", "")
    if given is not None:
        chosen = anonymize.load(given)
        if name and (chosen.name, chosen.fingerprint) != (name, model):
            raise UsageError(
                f"--method is {chosen.name}, and the manifest of RELEASED says {name}"
                f"{' of another model' if chosen.name == name else ''}; leave --method out"
            )
        return given
    if model:
        candidates = [*runs, *sorted(path.parent for path in RUNS.glob(f"*/{MODEL}"))]
        for run in candidates:
            if (run / MODEL).is_file() and sha256_file(model_path(run)) == model:
                return str(run)
        raise UsageError(
            f"RELEASED was made by a model of {name}, which is in no run here; "
            "name it with --method RUN|FILE"
        )
    return _with_options(name, private) if name else None


def _with_options(name: str, private: Path | None) -> str:
    header = {} if private is None else begun(private)
    if header.get("method") != name:
        raise UsageError(
            f"RELEASED was made by {name}, and its options are in the private folder alone: name "
            f"it with --private DIR, or the method with --method {name}:…"
        )
    options = {k: v for k, v in header.get("options", {}).items() if k not in OF_NOISE}
    text = ",".join(f"{key}={value}" for key, value in options.items())
    return f"{name}:{text}" if text else name


def _first_row(released: Path) -> dict[str, str] | None:
    path = released / MANIFEST
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            return next(csv.DictReader(file), None)
    except FileNotFoundError:
        return None
    except (OSError, csv.Error):
        raise UsageError(
            f"{MANIFEST} of RELEASED, which says what released the files, cannot be read; make it "
            "readable"
        ) from None
