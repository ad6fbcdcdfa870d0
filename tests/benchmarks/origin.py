"""Of what a figure is: the commit of the checkout, the day, and the packages that do the work."""

import subprocess
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from anonymize.errors import counted

PACKAGES = ("Pillow", "imagecodecs", "onnxruntime")
HERE = Path(__file__).parent


def origin() -> dict[str, object]:
    """Ask before the first figure is written: a checkout that holds it is dirty. Where there is no
    checkout, ``commit`` is ""; what is not installed is left out of ``versions``."""
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    said = ""
    with suppress(OSError):
        said = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    found = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return {"commit": said, "date": f"{datetime.now(UTC):%Y-%m-%d}", "versions": found}


def origins(rows: list[dict]) -> list[str]:
    """Which commit, day and packages how many rows are of, a line each."""
    found = Counter(_in_words(row["made"]) if "made" in row else "" for row in rows)
    return [
        f"{counted(number, 'row')}: {words or 'commit, day and packages were not kept'}."
        for words, number in found.items()
    ]


def _in_words(made: dict) -> str:
    packages = "".join(f", {name} {version}" for name, version in made["versions"].items())
    return f"commit {made['commit'] or 'unknown'}, {made['date']}{packages}"
