"""The README shows what the committed results say, and only commands that exist."""

import re
import runpy
import shlex
from pathlib import Path

import click
import pytest

from anonymize.cli import main as anonymize
from attacks.cli import main as attacks

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands():
    """Every line of a console block that calls one of our commands."""
    for block in re.findall(r"```(?:bash|console)\n(.*?)```", README, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            for call in re.split(r"&&|;", line.split("#")[0]):
                if call.split()[:1] in (["anonymize"], ["attacks"]):
                    yield call.strip()


def test_tables_are_the_committed_ones():
    tables = runpy.run_path(str(ROOT / "docs" / "tables.py"))
    assert tables["TABLE"].search(README)
    assert tables["filled"](README) == README


def test_pictures_and_files_it_links_to_are_there():
    links = re.findall(r"\]\(([^)#:]+)\)|src=\"([^\":]+)\"", README)
    names = {a or b for a, b in links}
    assert {"docs/phantoms.png"} <= names
    assert not [name for name in names if not (ROOT / name).exists()]


@pytest.mark.parametrize("call", sorted(set(commands())))
def test_every_command_and_option_exists(call):
    words = shlex.split(call)
    command, rest = {"anonymize": anonymize, "attacks": attacks}[words[0]], words[1:]
    context = click.Context(command)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        command = command.get_command(context, rest.pop(0))
        assert command is not None, call
    known = {name for parameter in command.params for name in parameter.opts}
    assert {w.split("=")[0] for w in rest if w.startswith("--")} <= known | {"--help"}


def test_the_two_commands_of_a_new_user_are_shown():
    assert "pip install . && anonymize train --mu 0.01" in README
    assert 'pip install ".[test]" && pytest' in README
