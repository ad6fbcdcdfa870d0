"""README and pages show what the committed results say, link what is there, and name commands,
options and files that exist."""

import ast
import json
import re
import shlex
from pathlib import Path

import click
import measured
import pytest
import rooms
import tables
from click.testing import CliRunner

from anonymize import specs
from anonymize.cli import main as anonymize
from anonymize.configuration import load_options, parse_setting
from anonymize.plugins import installed
from attacks.cli import main as attacks

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
SETS = ("k-same", "mosaic", "utility-code")  # methods that make each output of several people
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def commands():
    """Every line of a console block that calls one of our commands."""
    for text in TEXTS.values():
        for block in re.findall(r"```(?:bash|console)\n(.*?)```", text, re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                for call in re.split(r"&&|;", line.split("#")[0]):
                    if call.split()[:1] in (["anonymize"], ["attacks"]):
                        yield " ".join(call.split())


def anchors(page):
    """What GitHub and MkDocs both call the headings of a page."""
    for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", TEXTS[page]), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def links(page):
    """Targets of the links and pictures of a page that are no address."""
    found = re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", TEXTS[page]))
    return [target for target in found if "://" not in target]


def test_the_bench_of_known_answers_says_when_it_was_run(tmp_path, monkeypatch):
    answers = json.loads((measured.RESULTS / "known_answers.json").read_text())["answers"]
    source = {"images": 1174, "patients": 48}
    kept = {"answers": answers, "made": {"date": "2026-11-24T05:07:01+00:00"}, "source": source}
    (tmp_path / "known_answers.json").write_text(json.dumps(kept))
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    assert f"Of {len(answers)}: " in measured.known_answers()
    assert "Run on 2026-11-24, tested on 1,174 images of 48 patients.\n" in measured.known_answers()


def reached(arrows):
    """All pairs of rooms that a chain of arrows joins."""
    found = set(arrows)
    while more := {(a, d) for a, b in found for c, d in arrows if b == c} - found:
        found |= more
    return found


def test_the_map_leads_where_the_imports_lead():
    drawn = re.findall(r"^  (\w+) --> (\w+)$", rooms.drawing(), re.MULTILINE)
    imports = {(room, other) for room, others in rooms.arrows().items() for other in others}
    assert len(drawn) < len(imports)
    assert reached(imports) == reached(
        {tuple(room.replace("_", ".", 1) for room in arrow) for arrow in drawn}
    )


@pytest.mark.parametrize("page", ["README.md", "docs/results.md", "docs/reliability.md"])
def test_pages_of_figures_hold_tables(page):
    assert tables.TABLE.search(TEXTS[page])


@pytest.mark.parametrize("page", TEXTS)
def test_tables_are_the_committed_ones(page):
    assert tables.filled(TEXTS[page]) == TEXTS[page]


def leads_somewhere(page, target):
    path, _, anchor = target.partition("#")
    found = (ROOT / page).parent / path if path else ROOT / page
    if not found.exists():
        return False
    return not anchor or anchor in anchors(found.resolve().relative_to(ROOT).as_posix())


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page):
    assert not [target for target in links(page) if not leads_somewhere(page, target)]


def test_every_picture_is_shown():
    targets = [target for page in TEXTS for target in links(page)]
    pictures = [path.name for path in (ROOT / "docs").glob("*.png")]
    assert pictures
    assert not [name for name in pictures if not any(name in target for target in targets)]


@pytest.mark.parametrize("page", TEXTS)
def test_files_that_a_page_names_are_there(page):
    named = re.findall(
        r"`((?:anonymize|attacks|baselines|configs|docs|tests)/[\w./]+)`", TEXTS[page]
    )
    assert not [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize("call", sorted(set(commands())))
def test_every_command_and_option_exists(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for word in call.split():
        if re.fullmatch(r"[\w-]+\.(csv|png|key|pem|yaml|secret|pub|pth)", word):
            Path(word).touch()
    words = shlex.split(call)
    command, rest = {"anonymize": anonymize, "attacks": attacks}[words[0]], words[1:]
    context = click.Context(command)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        command = command.get_command(context, rest.pop(0))
        assert command is not None, call
    asked = command.make_context(words[0], rest).params  # ends with what click refuses
    for spec in (asked.get("spec"), asked.get("method")):
        for one in filter(None, [spec] if isinstance(spec, str) else spec or ()):
            if one.partition(":")[0] in installed(specs.GROUP):
                specs.check(one)
    load_options("quick", dict(map(parse_setting, asked.get("settings", ()))))
    assert not list(missing(asked)), call


def missing(asked):
    """Options that the others of a documented command cannot do without."""
    source = asked.get("source")
    if "root" in asked and source not in (None, "phantom") and asked.get("keep") != "looks":
        yield from () if asked["root"] else ("--root",)
    if "attacker" in asked and "policy" not in asked and not (asked["run"] or source):
        yield "--run or --source"
    if asked.get("shard") and not asked["key_file"]:
        yield "--key-file"
    if asked.get("forward_credentials") and not asked["forward_to"]:
        yield "--forward-to"
    if (asked.get("spec") or "").partition(":")[0] in SETS:
        yield from () if asked["canonical"] else ("--canonical",)
        yield from () if asked["patients"] or str(source) == "dicoms" else ("--patients",)


@pytest.mark.parametrize(
    ("call", "lacks"),
    [
        ("anonymize recommend --keep Effusion", "--root"),
        ("anonymize train --mu 1 --source covid19", "--root"),
        ("attacks verify a.png b.png", "--run or --source"),
        ("anonymize apply a b --shard 1/2", "--key-file"),
        ("anonymize apply a b --model k-same:k=2 --patients p.csv", "--canonical"),
        ("anonymize apply a b --model mosaic:g=2 --canonical 64", "--patients"),
    ],
)
def test_a_command_that_lacks_a_companion_is_seen(call, lacks):
    name, sub, *rest = shlex.split(call)
    command = {"anonymize": anonymize, "attacks": attacks}[name].get_command(None, sub)
    assert list(missing(command.make_context(name, rest).params)) == [lacks]


def test_who_wants_looks_is_answered_without_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(anonymize, ["recommend", "--keep", "looks"])
    assert (done.exit_code, bool(done.stdout)) == (0, True)
    assert not list(tmp_path.iterdir())


def test_the_two_commands_of_a_new_user_are_shown():
    assert "pip install . && anonymize train --mu 0.01" in TEXTS["README.md"]
    assert 'pip install ".[test]" && pytest' in TEXTS["README.md"]


WALKS = re.findall(
    r"`((?:anonymize|attacks)?/?[a-z_/]+):([A-Za-z_.]+)`",
    TEXTS["docs/architecture.md"].partition("## The walk of one DICOM")[2],
)


def defined(path):
    """Names of the functions, methods and classes in a file, and of what it calls a command."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        if isinstance(node, ast.ClassDef):
            members = (n for n in node.body if isinstance(n, ast.FunctionDef | ast.AnnAssign))
            for member in members:
                name = member.name if isinstance(member, ast.FunctionDef) else member.target.id
                yield f"{node.name}.{name}"


def test_the_walks_name_functions_that_exist():
    assert len(WALKS) > 60
    missing = []
    for module, name in WALKS:
        places = (
            f"{top}{module}.py" for top in ("anonymize/release/", "attacks/", "anonymize/", "")
        )
        files = [ROOT / place for place in places if (ROOT / place).is_file()]
        if not any(name in set(defined(file)) for file in files):
            missing.append(f"{module}:{name}")
    assert not missing
