"""A node that is killed: python tests/benchmarks/reliability_receive.py [COUNT KILLS OUT ARCHIVE]

COUNT small radiographs are sent to `anonymize receive` by two of dcmtk's storescu, each again until
it was told that all are stored, while the node is killed with SIGKILL at KILLS random moments and
started again; it forwards to ARCHIVE: dcmtk's storescp, or Orthanc (orthanc-store, orthanc-stow).
By default 1,000, 12, no file and storescp. At the end each object must be released once, be in the
archive, and be gone from the spool.
"""

import sys
import tempfile
from pathlib import Path

from reliability import finish

# isort: split

sys.path.insert(0, str(Path(__file__).parents[1] / "receive"))

from accounting import run


def main(
    count: int = 1000, kills: int = 12, out: str | None = None, archive: str = "storescp"
) -> None:
    with tempfile.TemporaryDirectory() as name:
        finish(run(Path(name), count, kills, archive), out)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:5])
