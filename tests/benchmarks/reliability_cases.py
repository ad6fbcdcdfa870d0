"""Cases that are tests already, run and counted: python tests/benchmarks/reliability_cases.py [OUT]

I/O errors (full disk, read-only, quota, device errors at each step), malicious model files, and
paths that lead astray. What failed is counted as failed, and what could not run here as skipped.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from reliability import finish

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "tests" / "release"
GROUPS = {
    "I/O errors": (RELEASE / "test_faults.py", "not killed"),
    "malicious models": (RELEASE / "test_hostile_models.py", "hostile_model"),
    "malicious weights to convert": (ROOT / "tests/convert/test_weight_file.py", "hostile_file"),
    "paths that lead astray": (RELEASE / "test_paths.py", "elsewhere"),
}


def counted(file: Path, words: str) -> dict[str, int]:
    """How many of a file's tests, chosen by ``words``, pass, fail and are skipped."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        options = ["-q", "-k", words, "--basetemp", str(Path(folder, "tmp"))]
        command = [sys.executable, "-m", "pytest", str(file), *options, f"--junitxml={report}"]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        suite = ElementTree.parse(report).getroot().find("testsuite")
    failed = int(suite.get("failures")) + int(suite.get("errors"))
    skipped = int(suite.get("skipped"))
    cases = int(suite.get("tests"))
    return {"cases": cases, "held": cases - failed - skipped, "failed": failed, "skipped": skipped}


def main(out: str | None = None) -> None:
    finish({name: counted(*group) for name, group in GROUPS.items()}, out)


if __name__ == "__main__":
    main(*sys.argv[1:2])
