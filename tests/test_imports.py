"""Imports point one way; networks know no files; flow and metrics know nobody."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"torch", "kornia", "monai", "sklearn", "skimage", "pandas", "matplotlib", "scipy"}


def imported(path):
    """Modules that a file names in any import, absolute."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(package):
    """(file, module imported) for every import of our own packages below ``package``."""
    for path in sorted((ROOT / package).rglob("*.py")):
        for name in imported(path):
            if name.split(".")[0] in ("anonymize", "attacks", "baselines"):
                yield path.relative_to(ROOT).as_posix(), name


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("anonymize", ("attacks", "baselines")),
        ("baselines", ("attacks",)),
        ("attacks", ("baselines",)),
        ("anonymize/networks", ("anonymize.data", "anonymize.training", "anonymize.model_file")),
        ("anonymize/data", ("anonymize.training", "anonymize.release", "anonymize.networks")),
        ("anonymize/training", ("anonymize.release", "anonymize.commands")),
        ("anonymize/release", ("anonymize.training", "anonymize.data", "anonymize.commands")),
    ],
)
def test_direction(package, forbidden):
    found = list(ours(package))
    assert found or package == "configs"
    wrong = [f"{f}: {m}" for f, m in found if m.startswith(forbidden)]
    assert not wrong


@pytest.mark.parametrize("file", ["anonymize/flow.py", "attacks/measuring/metrics.py"])
def test_knows_nobody(file):
    roots = {name.split(".")[0] for name in imported(ROOT / file)}
    assert not roots & {"anonymize", "attacks", "baselines"}


@pytest.mark.parametrize("module", ["anonymize.cli", "attacks.cli"])
def test_help_imports_nothing_heavy(module):
    code = f"import sys, {module}; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(out.stdout.split())


def test_every_package_is_installed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {
        path.parent.relative_to(ROOT).as_posix().replace("/", ".")
        for top in ("anonymize", "attacks", "baselines")
        for path in (ROOT / top).rglob("__init__.py")
    }
    assert set(listed) == folders | {"anonymize.configs"}
