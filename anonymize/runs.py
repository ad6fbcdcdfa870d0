"""Runs live in folders below ``runs/``; what such a folder holds, by name."""

from pathlib import Path

from anonymize.errors import UsageError

RUNS = Path("runs")
OPTIONS = "options.yaml"
MODEL = "model.safetensors"
CLASSIFIER = "classifier.safetensors"
VERIFIER = "verifier.safetensors"
METRICS = "metrics.jsonl"
SUMMARY = "summary.json"
TRAINING = "training.png"
CLASSIFIER_TEST = "classifier_test.json"
VERIFIER_TEST = "verifier_test.json"


def newest_run() -> Path | None:
    """The run whose model was written last; None where there is none."""
    models = sorted(RUNS.glob(f"*/{MODEL}"), key=lambda path: path.stat().st_mtime_ns)
    return models[-1].parent if models else None


def options_file(run: Path) -> Path:
    """The file of a run's options; UsageError where it is no run."""
    if not (run / OPTIONS).is_file():
        raise UsageError(f"--run {run} is no run: it has no {OPTIONS}")
    return run / OPTIONS
