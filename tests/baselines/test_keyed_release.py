"""A release with keyed noise: repeatable by who holds the key, and by nobody else."""

import numpy as np
import pytest
from asked import ask
from method_table import KEY, written
from release_specimens import KINDS, fill, png, scene

from anonymize.cli import main
from anonymize.release.records import facts


@pytest.fixture
def release(tmp_path, monkeypatch):
    """``release(out, spec, *more)`` of six radiographs, three of each size → (result, files)."""
    monkeypatch.chdir(tmp_path)
    deep = {"size": (33, 30), "dtype": np.uint16}
    fill(tmp_path / "in", {f"{n}.png": png(scene(200 + n), 8, 0) for n in (0, 2, 4)})
    fill(tmp_path / "in", {f"{n}.png": png(scene(60000 + n, **deep), 16, 0) for n in (1, 3, 5)})
    fill(tmp_path / "in", {"colour.png": KINDS["rgb.png"]})
    written(tmp_path / "secret.key")

    def run(out, spec, *more, code=0):
        words = ("--model", spec, "--names=keep", "--device=cpu", *more)
        result = ask(main, "apply", "in", out, *words, code=code)
        return result, {p.name: p.read_bytes() for p in sorted((tmp_path / out).glob("*"))}

    return run


@pytest.mark.processes
def test_who_holds_the_key_repeats_and_resumes_it_bit_for_bit(release, tmp_path):
    spec = "dp-pix:b=4,epsilon=5"
    keyed = f"{spec},key_file={tmp_path / 'secret.key'}"
    _, whole = release("out", keyed, "--workers", "1")
    assert len(whole) == 8
    # Half of the files, and those in other batches by other workers.
    for path in (tmp_path / "in").glob("[0-2].png"):
        path.unlink()
    _, part = release("part", keyed, "--workers", "2", "--batch-size", "4")
    images = {name for name in part if name.endswith(".png")}
    assert images == {"3.png", "4.png", "5.png", "colour.png"}
    assert all(part[name] == whole[name] for name in images)
    # The key counts, not where it lies.
    (tmp_path / "secret.key").rename(tmp_path / "moved.key")
    (tmp_path / "part" / "3.png").unlink()
    result, again = release("part", f"{spec},key_file=moved.key", "--workers=1")
    assert "1 anonymized, 3 done already" in result.output
    assert again == part
    # Another key would be another release.
    written(tmp_path / "other.key", KEY[::-1])
    for other in (f"{spec},key_file=other.key", spec):
        result, after = release("part", other, "--workers=1", code=2)
        assert "other options of the method" in result.stderr
        assert after == part
    # Neither the key nor its path is in any file.
    files = [p for folder in ("out", "out-private") for p in (tmp_path / folder).glob("*")]
    assert {"manifest.csv", "journal.jsonl"} <= {p.name for p in files}
    told = facts.read(tmp_path / "out-private")
    assert "key_file" not in told.tables.method.options
    for path in files:
        named = [b"secret.key", b"key_file"]
        if path.name == facts.FILE:  # it names the secret of names and pseudonyms, another one
            named = [str(tmp_path / "secret.key").encode()]
        for secret in (KEY, KEY.hex().encode(), *named):
            assert secret not in path.read_bytes(), path.name


@pytest.mark.parametrize("spec", ["dp-pix:b=4,epsilon=5", "random-warp:mu=0.05,size=32"])
def test_copies_get_the_same_noise_in_every_call_under_one_secret(release, tmp_path, spec):
    (tmp_path / "in" / "copy.png").write_bytes((tmp_path / "in" / "1.png").read_bytes())
    _, first = release("first", spec, "--workers=1")
    assert first["copy.png"] == first["1.png"]
    (tmp_path / "first" / "3.png").unlink()  # as if the call had been ended before
    assert release("first", spec, "--workers=1")[1] == first
    shared = "--key-file", tmp_path / "secret.key", "--workers=1"
    _, one = release("one", spec, *shared)
    assert release("two", spec, *shared)[1] == one
    images = {name for name in one if name.endswith(".png")}
    assert not any(one[name] == first[name] for name in images)


@pytest.mark.slow
def test_a_keyed_warp_is_repeated_bit_for_bit(release):
    keyed = "random-warp:mu=0.05,size=32,key_file=secret.key"
    _, one = release("one", keyed, "--workers", "1")
    _, two = release("two", keyed, "--workers", "2", "--batch-size", "4")
    assert one == two


@pytest.mark.parametrize("place", ["in", "out"])
def test_the_key_of_a_method_lies_where_nobody_else_reads(release, tmp_path, place):
    (tmp_path / "out").mkdir()
    (tmp_path / "secret.key").rename(tmp_path / place / "k")
    result, files = release("out", f"dp-pix:b=4,epsilon=5,key_file={place}/k", code=2)
    assert f"key_file of dp-pix must not lie in {place.upper()}" in result.stderr
    assert files.keys() <= {"k"}
