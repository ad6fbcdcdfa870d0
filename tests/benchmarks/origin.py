"""Of what a figure is: the commit of the checkout, the day, and the packages that do the work."""

import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

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
