"""The site is built without a warning: no broken link, no page left out, every docstring read."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(
    not all(map(find_spec, ("mkdocs", "material", "mkdocstrings_handlers"))),
    reason="needs the extra docs: pip install 'anonymize-cxr[docs]'",
)
def test_the_site_is_built_strictly(tmp_path):
    config = ROOT / "docs" / "site" / "mkdocs.yml"
    words = ["mkdocs", "build", "--strict", "-f", str(config), "-d", str(tmp_path / "site")]
    built = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    api = (tmp_path / "site" / "api" / "index.html").read_text(encoding="utf-8")
    for name in ("anonymize.anonymizer.load", "attacks.attacker.Attacker"):
        assert f'id="{name}"' in api
    assert (tmp_path / "site" / "results" / "phantom" / "results.json").is_file()
    assert not list((tmp_path / "site").rglob("*.py"))
