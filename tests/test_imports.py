"""Imports point one way; networks know no files; flow and metrics know nobody."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import rooms

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"torch", "kornia", "monai", "sklearn", "skimage", "pandas", "matplotlib", "scipy"}


# From the ground up: a room imports from those before it, and from itself.
ROOMS = [
    *("measuring", "titles", "results", "networks", "attacker", "training", "knowledge"),
    "attackers",
    *(
        "registry",
        "options",
        "evaluation",
        "linkage",
        "studies",
        "check",
        "reporting",
        "recommending",
    ),
    *("api", "commands", "cli"),
]


@cache
def both_kinds(path):
    """Modules that a file names in any import, absolute; and in those at its top."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return list(rooms.imports(tree)), list(rooms.imports(ast.Module(top, [])))


def imported(path):
    return both_kinds(path)[0]


def modules(path, known):
    """Those of the ``known`` modules that a file imports; of a package only what is taken from it,
    where that is a module."""
    found = set(imported(path)) & set(known)
    parts = {name.rpartition(".")[0] for name in found}
    return {name for name in found if name not in parts or known[name].name != "__init__.py"}


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
        (
            "anonymize/release",
            ("anonymize.training", "anonymize.data", "anonymize.commands", "anonymize.receive"),
        ),
        ("anonymize/receive", ("anonymize.training", "anonymize.data", "anonymize.commands")),
    ],
)
def test_direction(package, forbidden):
    found = list(ours(package))
    assert found
    wrong = [f"{f}: {m}" for f, m in found if m.startswith(forbidden)]
    assert not wrong


def test_rooms_of_attacks_are_those_that_are_listed():
    found = {p.stem if p.suffix else p.name for p in (ROOT / "attacks").iterdir()}
    assert found - {"__init__", "__main__", "__pycache__", "py"} == set(ROOMS)


def test_no_room_imports_from_one_above():
    wrong, compared = [], set()
    for file, module in ours("attacks"):
        own = file.removesuffix(".py").split("/")[1]
        top, *other = module.split(".")[:2]
        if top == "attacks" and other and own in ROOMS and other[0] in ROOMS:
            compared.add((own, other[0]))
            if ROOMS.index(other[0]) > ROOMS.index(own):
                wrong.append(f"{file}: {module}")
    assert len(compared) > 40
    assert not wrong


def test_no_files_import_each_other_in_a_circle():
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in ("anonymize", "attacks", "baselines")
        for path in (ROOT / package).rglob("*.py")
    }
    graph = {name: set(modules(path, files)) for name, path in files.items()}
    assert sum(map(len, graph.values())) > 500
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize(
    ("file", "known"),
    [
        ("anonymize/flow.py", set()),
        ("attacks/measuring/error_rates.py", set()),
        ("attacks/measuring/metrics.py", {"attacks.measuring.error_rates"}),
    ],
)
def test_knows_nobody(file, known):
    own = {n for n in imported(ROOT / file) if n.startswith(("anonymize", "attacks", "baselines"))}
    assert {n for n in own if not any(n.startswith(other) for other in known)} == set()


@pytest.mark.parametrize("module", ["anonymize.cli", "attacks.cli"])
def test_help_imports_nothing_heavy(module):
    code = f"import sys, {module}; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(out.stdout.split())


# What an extra brings is imported at the top of these rooms alone, which are imported on demand.
OF_EXTRAS = ("anonymize/receive/", "anonymize/release/review/")


def test_what_is_imported_at_once_comes_with_pip_install():
    """Without any extra: OpenCV once came only with that of the OCR, and `apply` did not start."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    named = {re.match(r"[\w.-]+", one)[0] for one in asked}
    named |= {"pydantic_core", "markupsafe"}  # of pydantic, of jinja2
    named = {re.sub("[-_.]+", "-", one).lower() for one in named}
    ours = {"anonymize", "attacks", "baselines", *sys.stdlib_module_names}
    brought, missing = packages_distributions(), set()
    for top in ("anonymize", "attacks", "baselines"):
        for path in (ROOT / top).rglob("*.py"):
            file = path.relative_to(ROOT).as_posix()
            if file.startswith(OF_EXTRAS):
                continue
            at_once = both_kinds(path)[1]
            for name in {name.split(".")[0] for name in at_once} - ours:
                if not named & {one.replace("_", "-").lower() for one in brought.get(name, ())}:
                    missing.add(f"{file}: {name}")
    assert not missing


def test_every_package_is_installed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {
        path.parent.relative_to(ROOT).as_posix().replace("/", ".")
        for top in ("anonymize", "attacks", "baselines")
        for path in (ROOT / top).rglob("__init__.py")
    }
    assert set(listed) == folders | {"anonymize.configs"}
