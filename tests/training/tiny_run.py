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
    "samples": 1,
}


def ended(*arguments, code=0):
    """What `anonymize train` printed, which must end with the status ``code``."""
    words = list(map(str, arguments))
    part = [words.pop(0)] if words[0] in ("classifier", "verifier") else []
    result = CliRunner().invoke(main, ["train", *part, "--device", "cpu", *words])
    assert result.exit_code == code, result.output
    return result


def train(*arguments, code=0):
    """The same on both outputs."""
    return ended(*arguments, code=code).output
