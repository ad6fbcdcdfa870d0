"""Model files of strangers: refused in one line, before anything of theirs runs or fills memory."""

import resource
import sys

import hostile_models
import pytest
from release_specimens import KINDS, command, fill, tree

import anonymize

FORBIDDEN = {"os.system", "os.exec", "subprocess.Popen", "pickle.find_class"}
_seen: list[str] = []
sys.addaudithook(lambda event, arguments: event in FORBIDDEN and _seen.append(event))


def apply(tmp_path, content):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    fill(tmp_path / "in", {"a.png": KINDS["gray8.png"]})
    return command(tmp_path / "in", tmp_path / "out", model=str(path))


@pytest.fixture
def little_memory():
    """An eighth of a gigabyte more than what is in use."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as stream:
        used = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 27), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize("name", hostile_models.HOSTILE)
def test_a_hostile_model_is_refused_in_one_line(tmp_path, little_memory, name):
    content = hostile_models.HOSTILE[name]()
    _seen.clear()
    result = apply(tmp_path, content)
    assert not _seen
    assert result.exit_code == 2, result.output
    [line] = [text for text in result.stderr.splitlines() if "OCR" not in text]
    assert line.startswith("Error: ")
    assert line.isprintable()
    assert set(tree(tmp_path)) == {"model.safetensors", "in/a.png"}


def test_the_same_file_without_malice_is_loaded(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(hostile_models.carded())
    assert anonymize.load(path).name == "prichexy-net"
    assert apply(tmp_path, hostile_models.carded()).exit_code == 0
