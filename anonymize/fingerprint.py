"""What a kept result was computed from: values, files, images, and the sources that compute it.

A result is kept under the fingerprint of all that it depends on, so that a change of any of it
finds nothing and is computed again. Options are part of a fingerprint unless they say themselves
that they change nothing (:func:`anonymize.section.only`). Sources are followed import by import,
those inside functions too; what is imported by a name that only exists at run time is not seen, so
the module of whatever was chosen by name is given beside.
"""

import ast
import hashlib
import json
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from anonymize.section import Options

OURS = ("anonymize", "attacks", "baselines")
_distributions = cache(packages_distributions)
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def fingerprint(*parts: Any) -> str:
    """sha256, hex, of values in their order; equal for equal ones, in any process: 1 is 1.0.

    Args:
        parts: None, text, bytes, numbers, paths (what the file or folder holds, not its name),
            tensors and arrays (type, shape and values), options without those that change nothing,
            and mappings, sequences and sets of these.

    Raises:
        TypeError: anything else, which might have no lasting text.
    """
    digest = hashlib.sha256()
    for piece in _pieces(parts):
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


def sources(*roots: Any, without: Collection[str] = (), libraries: bool = True) -> str:
    """sha256, hex, of the program that computes with modules (or their names), classes, functions.

    These are their modules and all that those import: our packages and the roots' own by what they
    do, other ones by their versions. A package around a module counts, but what it imports does
    not, unless it is imported itself.

    Args:
        without: modules that compute nothing of what is kept, and so do not count, nor what they
            alone import.
        libraries: whether the versions of packages that are not ours count.
    """
    own, others = closure(*roots, without=without)
    versions = {name: _version(name) for name in others if libraries}
    return fingerprint({name: _module(name)[0] for name in own}, versions, sys.version_info[:2])


def closure(*roots: Any, without: Collection[str] = ()) -> tuple[set[str], set[str]]:
    """The modules that :func:`sources` reads, and the packages whose versions it takes."""
    return _closure(frozenset(map(_module_of, roots)), frozenset(without))


@cache
def _closure(roots: frozenset[str], without: frozenset[str]) -> tuple[set[str], set[str]]:
    pending = list(roots)
    packages = {*OURS, *(name.partition(".")[0] for name in pending)}
    own: set[str] = set()
    others: set[str] = set()
    followed = {__name__, *without}  # a key follows from it, and nothing of what is kept
    while pending:
        name = pending.pop()
        if name in followed:
            continue
        followed.add(name)
        top, *below = name.split(".")
        if top not in packages or _file(name) is None:
            others.add(top)
            continue
        around = (".".join((top, *below[:n])) for n in range(len(below)))
        own.update(package for package in (*around, name) if _file(package))
        pending.extend(_module(name)[1])
    return own, others - sys.stdlib_module_names


def _pieces(value: Any) -> Iterator[bytes | memoryview]:
    """Each beginning with its kind, so that no two values give the same."""
    value = _meant(value)
    if isinstance(value, bool | int | float | str | None):
        yield f"{type(value).__name__} {json.dumps(value)}".encode()
    elif isinstance(value, bytes):
        yield from (b"bytes", value)
    elif isinstance(value, Path):
        yield from _contents(value)
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}".encode()
        for key in sorted(value, key=repr):
            yield from (*_pieces(key), *_pieces(value[key]))
    elif isinstance(value, set | frozenset):
        yield from _pieces({"set": sorted(value, key=repr)})
    elif isinstance(value, list | tuple):
        yield f"sequence {len(value)}".encode()
        for item in value:
            yield from _pieces(item)
    elif isinstance(value, np.ndarray | np.generic):
        yield f"array {value.dtype.str} {value.shape}".encode()
        yield np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
    elif hasattr(value, "detach"):  # a tensor; torch is not imported for values without one
        yield b"tensor"
        yield from _pieces(value.detach().cpu().numpy())
    else:
        raise TypeError(f"no fingerprint of a {type(value).__name__}")


def _meant(value: Any) -> Any:
    """Options as those that matter, a whole number as one: the default of an option may be written
    as 1, which is 1.0 to who reads it from a file."""
    if isinstance(value, Options):
        return value.that_matter()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def sha256_file(path: Path) -> str:
    """Hex digest of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _contents(path: Path) -> Iterator[bytes | memoryview]:
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*") if p.is_file())
        yield from _pieces({p.relative_to(path).as_posix(): p for p in inside})
    elif path.is_file():
        yield b"file " + bytes.fromhex(sha256_file(path))
    else:
        yield f"no file {path}".encode()


def _module_of(root: Any) -> str:
    while isinstance(root, partial):
        root = root.func
    if isinstance(root, ModuleType):
        return root.__name__
    return root if isinstance(root, str) else root.__module__


@cache
def _module(name: str) -> tuple[str, tuple[str, ...]]:
    """A digest of what a module does, without comments and docstrings, and the modules that it
    imports, anywhere in it. Read once: what is loaded does not change with the file."""
    path = _file(name)
    assert path is not None
    tree = ast.parse(path.read_bytes())
    tree.body = [node for node in tree.body if not _of_types(node)]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = ".".join((*(above if node.level else ()), *filter(None, [node.module])))
            inner = [f"{start}.{alias.name}" for alias in node.names]
            found |= dict.fromkeys(one if _file(one) else start for one in inner)
        elif isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), tuple(found)


def _of_types(node: ast.stmt) -> bool:
    """Whether a statement is for type checkers alone, which compute nothing."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    return ast.unparse(node.test).endswith("TYPE_CHECKING")


@cache
def _file(name: str) -> Path | None:
    """The source of a module, found without importing it; None where there is none."""
    if name == "__main__":
        script = getattr(sys.modules[name], "__file__", None)
        return None if script is None else Path(script)
    top, *below = name.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return None
    if not below and not spec.submodule_search_locations:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations or ():
        base = Path(folder, *below)
        for path in (base / "__init__.py", base.with_name(f"{base.name}.py")):
            if path.is_file() and (below or path.name == "__init__.py"):
                return path
    return None


@cache
def _version(package: str) -> str:
    found = []
    for distribution in sorted(set(_distributions().get(package, ()))):
        try:
            found.append(f"{distribution} {version(distribution)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
