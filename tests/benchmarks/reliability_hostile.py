"""The hostile corpus, all of it: python tests/benchmarks/reliability_hostile.py [OUT [GROUP]]

Prints a row for each group of tests/release/hostile and names what was not held. The exit status
is 1 where anything was not. GROUP: only the groups whose names hold this word.
"""

import sys
import tempfile
import warnings
from pathlib import Path

from reliability import finish

sys.path.insert(0, str(Path(__file__).parents[1] / "release" / "hostile"))

import corpus


def main(out: str | None = None, group: str = "") -> int:
    """Runs the corpus; the exit status."""
    warnings.simplefilter("ignore")  # pydicom's, of values that are wrong on purpose
    groups: dict[str, dict[str, int]] = {}
    lost = []
    for case in corpus.cases():
        if group not in case.group:
            continue
        counts = groups.setdefault(case.group, {"cases": 0, "held": 0, "failed": 0})
        with tempfile.TemporaryDirectory() as folder:
            leaked = case.leak(Path(folder))
        counts["cases"] += 1
        counts["held" if leaked is None else "failed"] += 1
        if leaked is not None:
            lost.append(f"{case.title}: {leaked}")
    finish({**groups, "not held": lost}, out)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
