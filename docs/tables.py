"""Puts the committed results' tables into README.md: python docs/tables.py

A table stands between ``<!-- table: PATH -->`` and ``<!-- end -->`` and is the file at PATH.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """``text`` with every table as its file has it now."""
    return TABLE.sub(lambda m: m[1] + (ROOT / m[2]).read_text(encoding="utf-8") + m[3], text)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text(encoding="utf-8")), encoding="utf-8")
