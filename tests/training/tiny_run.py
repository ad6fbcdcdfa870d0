"""The smallest run that trains everything, for tests of the command line."""

from click.testing import CliRunner

from anonymize.cli import main

TINY = {
    "data": {"size": 32, "patients": 40, "images": 120, "pairs": 40, "workers": 1},
    "generator": {"features": 2},
    "classifier": {"architecture": "compact", "width": 4, "epochs": 2, "rate": 1e-3},
    "verifier": {"architecture": "compact", "width": 4, "epochs": 2, "features": 8, "rate": 1e-3},
    "reconstruction": {"epochs": 2, "rate": 1e-3},
    "adversarial": {"epochs": 3, "rate": 1e-3},
    "threads": 1,
    "samples": 2,
}


def train(*arguments, code=0):
    """Output of `anonymize train`, which must end with the status ``code``."""
    first, *rest = map(str, arguments)
    part = [first] if first in ("classifier", "verifier") else []
    options = rest if part else [first, *rest]
    result = CliRunner().invoke(main, ["train", *part, "--device", "cpu", *options])
    assert result.exit_code == code, result.output
    return result.output
