"""The map of the rooms as a mermaid drawing, made of the imports themselves.

A room is a folder of ``anonymize`` or ``attacks``, a file in OWN, or all of ``baselines``. The
other files of ``anonymize`` are what all rest on. An arrow is an import; one that others imply is
left out.
"""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("attacks", "anonymize", "baselines")
OWN = (
    *("attacks.attacker", "attacks.registry", "attacks.results"),
    *("anonymize.prichexy_net", "anonymize.set_anonymizer"),
)
GROUND = "anonymize.anonymizer"  # stands for the contract, the displacement and the options
STATEMENTS = ast.stmt | ast.excepthandler | ast.match_case  # no expression imports
ENTRIES = (
    *("anonymize", "anonymize.__main__", "anonymize.cli", "anonymize.reading"),
    *("attacks", "attacks.__main__", "attacks.api", "attacks.cli"),
)


def drawing() -> str:
    """The map in mermaid's language, rooms above those that they import. Raises
    graphlib.CycleError: rooms that import each other in a circle."""
    found = arrows()
    ordered = list(TopologicalSorter({k: sorted(v) for k, v in found.items()}).static_order())
    below: dict[str, set[str]] = {}
    for room in ordered:
        below[room] = found[room].union(*(below[other] for other in found[room]))
    ordered.reverse()
    lines = ["flowchart TB"]
    for package in PACKAGES:
        lines += [f'  subgraph in_{package}["{package}"]']
        lines += [f"    {_node(room)}" for room in ordered if room.partition(".")[0] == package]
        lines += ["  end"]
    for room in ordered:
        implied = set().union(*(below[other] for other in found[room]))
        lines += [f"  {_id(room)} --> {_id(other)}" for other in sorted(found[room] - implied)]
    return "\n".join(lines)


@cache
def arrows() -> dict[str, set[str]]:
    """Every room with the rooms that its files import."""
    found: dict[str, set[str]] = {}
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            here = room_of(".".join(file.relative_to(ROOT).with_suffix("").parts))
            if here:
                tree = ast.parse(file.read_text(encoding="utf-8"))
                there = {room_of(module) for module in imports(tree)}
                found.setdefault(here, set()).update(there - {here, ""})
    return found


def room_of(module: str) -> str:
    """The room of a dotted name; "" for other people's and for the entries that open all rooms."""
    module = module.removesuffix(".__init__")
    package, _, rest = module.partition(".")
    first = f"{package}.{rest.partition('.')[0]}"
    if package not in PACKAGES or module in ENTRIES:
        return ""
    if package == "baselines":
        return package
    if first in OWN or (ROOT / first.replace(".", "/")).is_dir():
        return first
    return GROUND if package == "anonymize" else ""


def imports(node: ast.AST) -> Iterator[str]:
    """What ``node`` imports when it runs, also late, and the names that it takes from there; not
    what it needs for types only."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "no import is relative"
        yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, STATEMENTS):
            yield from imports(child)


def _id(room: str) -> str:
    return room.replace(".", "_")


def _node(room: str) -> str:
    if room == GROUND:
        return f'{_id(room)}["anonymizer, flow, options, model_file, …"]'
    title = room.partition(".")[2] or "methods"
    return f'{_id(room)}["{title}"]'
