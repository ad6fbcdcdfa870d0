"""The site is built without a warning: no broken link, no page left out, every docstring read."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
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


def functions():
    """Every public function and method of the page of the Python interface."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE):
        for _, found in inspect.getmembers(import_module(name)):
            if getattr(found, "__module__", None) == name:
                members = vars(found).values() if inspect.isclass(found) else [found]
                yield from (m for m in members if inspect.isfunction(m) and m.__doc__)


def test_what_a_docstring_calls_an_argument_is_one():
    """As the site's builder asks, which not every machine has."""
    seen = 0
    for function in functions():
        told = re.search(r"^Args:\n((?: {4}.*\n|\n)*)", inspect.getdoc(function), re.MULTILINE)
        for name in re.findall(r"^ {4}(\S.*?): ", told[1] if told else "", re.MULTILINE):
            seen += 1
            assert name.lstrip("*") in inspect.signature(function).parameters, function.__qualname__
    assert seen >= 15
