"""Releases from and to an object storage: a real server on this machine, and what goes wrong."""

import asyncio
import itertools
import json
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from moto.server import ThreadedMotoServer
from release_specimens import KINDS, MIXED, InProcess, called, checked, fill, quarantine, tree

from anonymize.errors import UsageError
from anonymize.release import storage
from anonymize.release.machines import object_store, upload
from anonymize.release.machines.object_store import Objects, StoreError
from anonymize.release.machines.upload import Record
from anonymize.release.review import session
from anonymize.release.review.pictures import Pictures, view
from anonymize.release.workers.worker_pool import Limits

FILES = {**MIXED, **dict(list(KINDS.items())[::8])}
FEW = {"a.png": KINDS["gray8.png"], "b/c.jpg": KINDS["rgb.jpg"], "broken.png": b"x"}
SECRET = "wJalrXUtnFEMI-verysecret"
numbers = itertools.count()


@pytest.fixture(scope="module")
def server():
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    moto.start()
    yield "http://{}:{}".format(*moto.get_host_and_port())
    moto.stop()


@pytest.fixture
def store(server, key, monkeypatch, tmp_path):
    """A bucket of its own, by name: ``fill(prefix, files)``, ``tree(prefix)``, ``objects(prefix)``
    and ``run(IN, OUT, …)``, the command in a folder of its own; ``apply(…)``: from in/ to out/."""
    given = {"ENDPOINT_URL": server, "ACCESS_KEY_ID": "key-of-tests", "SECRET_ACCESS_KEY": SECRET}
    for name, value in {**given, "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setattr(object_store, "PAUSES", (0,))
    monkeypatch.chdir(tmp_path)
    bucket = f"tests-{next(numbers)}"
    whole = Objects(bucket, "")
    whole._store.call_s3("create_bucket", Bucket=bucket)

    def put(prefix, files):
        for path, content in files.items():
            whole._store.call_s3("put_object", Bucket=bucket, Key=prefix + path, Body=content)

    def there(prefix):
        return {
            path: Objects(bucket, prefix).read(path)[0] for path, _ in objects(prefix).listing()
        }

    def objects(prefix):
        return Objects(bucket, prefix)

    def run(source, out, *more, code=None):
        fixed = ["--model", "gaussian-blur", "--names", "hashed", "--key-file", key]
        said = called("apply", source, out, *fixed, "--text", "keep", *more, code=code)
        assert SECRET not in said.output
        assert "key-of-tests" not in said.output
        return said

    def apply(*more, **expected):
        return run(f"{address}in", f"{address}out", *more, **expected)

    address = f"s3://{bucket}/"
    return SimpleNamespace(
        address=address, fill=put, tree=there, objects=objects, run=run, apply=apply
    )


def test_an_object_in_another_is_in_no_release(store):
    store.fill("out/", {"a": b"", "a/b": b""})
    with (
        pytest.raises(UsageError, match="an object in another"),
        store.objects("out/").fetched(),
    ):
        pass


def test_a_release_by_way_of_a_store_is_that_of_folders(store, tmp_path):
    fill(tmp_path / "in", FILES)
    store.fill("in/", FILES)
    assert store.run("in", "out").exit_code == 3
    said = store.run(f"{store.address}in", f"{store.address}released", "--json", code=3)
    whole = tree(tmp_path / "out")
    assert tree(tmp_path / "released") == store.tree("released/") == whole
    private = tmp_path / "released-private"
    assert quarantine(private) == quarantine(tmp_path / "out-private")
    assert json.loads(said.stdout)["uploaded"]["written"] == len(whole)
    assert "sound" in checked(f"{store.address}released", code=0).output
    everything = b"".join(tree(tmp_path).values())
    assert SECRET.encode() not in everything
    assert not any("private" in path or "key" in path for path in store.tree("released/"))
    again = json.loads(store.run(f"{store.address}in", f"{store.address}released", "--json").stdout)
    assert again["already_done"]
    assert (again["uploaded"]["written"], again["uploaded"]["removed"]) == (0, 0)


@pytest.mark.parametrize("path", ["a//b.png", "../up.png", "./a.png", "a/..", "x" * 300 + ".png"])
def test_a_key_that_is_no_path_is_refused(store, path, tmp_path):
    store.fill("in/", {"a.png": KINDS["gray8.png"], path: KINDS["gray8.png"], "folder/": b""})
    assert store.run(f"{store.address}in", "out").exit_code == 3
    assert quarantine(tmp_path / "out-private") == {path: "unreadable"}
    assert len(tree(tmp_path / "out")) == 2
    checked(f"{store.address}in", code=2)
    assert (
        len(tree(tmp_path)) == len(tree(tmp_path / "out")) + len(tree(tmp_path / "out-private")) + 1
    )


@pytest.mark.parametrize("path", ["a?versionId=1.png", "a b+#%41.png", "ä/é.png", "[a]*.png"])
def test_a_key_of_any_other_form_is_read(store, path, tmp_path):
    store.fill("in/", {path: KINDS["gray8.png"]})
    assert store.apply("--names", "keep").exit_code == 0
    assert set(store.tree("out/")) == {path, "manifest.csv"}


def test_a_listing_is_read_page_by_page(store, monkeypatch):
    store.fill("in/", {f"{n:02}.txt": b"x" for n in range(7)})
    objects = store.objects("in/")
    pages, real = [], objects._store.call_s3

    def three(method, **wanted):
        pages.append(method)
        return real(method, **wanted, MaxKeys=3)

    monkeypatch.setattr(objects._store, "call_s3", three)
    assert [found.path for found in objects.walk()] == [f"{n:02}.txt" for n in range(7)]
    assert len(pages) == 3


def test_what_others_put_there_is_refused(store, tmp_path):
    store.fill("in/", {"a.png": KINDS["gray8.png"]})
    store.fill("out/", {"theirs.txt": b"x"})
    assert "1 object that this release did not write" in store.apply(code=2).output
    assert not (tmp_path / "out").exists()
    assert store.tree("out/") == {"theirs.txt": b"x"}


def test_what_is_withdrawn_or_changed_there_is_mended(store, tmp_path):
    store.fill("in/", {"a.png": KINDS["gray8.png"], "b.png": KINDS["gray16.png"]})
    assert store.apply().exit_code == 0
    whole = store.tree("out/")
    first, second, manifest = sorted(whole)
    store.fill("out/", {first: b"changed"})
    assert store.apply().exit_code == 0
    assert store.tree("out/") == whole
    store.fill("in/", {"b.png": b"\x89PNG\r\n\x1a\n no more"})
    assert store.apply().exit_code == 3
    now = store.tree("out/")
    assert now == tree(tmp_path / "out")
    assert len(now.keys() & {first, second}) == 1
    assert now[manifest] != whole[manifest]


def test_the_manifest_goes_first_and_comes_last(store, monkeypatch):
    store.fill("in/", {"a.png": KINDS["gray8.png"]})
    steps, write, remove = [], Objects.write, Objects.remove
    monkeypatch.setattr(Objects, "write", lambda o, p, d: (steps.append(p), write(o, p, d))[1])
    monkeypatch.setattr(Objects, "remove", lambda o, p: (steps.append(f"-{p}"), remove(o, p))[1])
    assert store.apply("--sign").exit_code == 0
    assert steps[1:] == ["manifest.sig", "manifest.csv"]
    steps.clear()
    store.fill("in/", {"b.png": KINDS["gray16.png"]})
    assert store.apply("--sign").exit_code == 0
    assert steps[:2] == ["-manifest.csv", "-manifest.sig"]
    assert steps[3:] == ["manifest.sig", "manifest.csv"]


def test_a_release_that_waits_for_a_person_is_not_uploaded(store):
    store.fill("in/", {"a.png": KINDS["gray8.png"]})
    assert "uploaded   nothing" in store.apply("--require-review", code=3).output
    assert store.tree("out/") == {}


def test_what_is_rejected_after_the_upload_is_said_to_be_there_until_the_next(
    store, monkeypatch, tmp_path
):
    monkeypatch.setattr("anonymize.release.review.server.serve", lambda *a, **k: None)
    store.fill("in/", {"a.png": KINDS["gray8.png"], "b.png": KINDS["gray16.png"]})
    store.apply("--require-review", code=3)
    assert "uploaded" not in called("review", "out", code=3).stderr
    with session.opened(tmp_path / "out") as work:
        for number in range(2):
            work.decide(number, session.ACCEPTED)
    store.apply("--require-review", code=0)
    with session.opened(tmp_path / "out") as work:
        work.decide(0, session.QUARANTINED)
    assert len(store.tree("out/")) == 3
    assert "stays there as it was" in called("review", "out", code=0).stderr
    store.apply("--require-review", code=3)
    assert len(store.tree("out/")) == 2


@pytest.mark.parametrize("lost", ["read", "write", "read back"])
def test_a_store_that_dies_in_the_middle_stops_and_the_same_command_goes_on(
    store, monkeypatch, tmp_path, lost
):
    store.fill("in/", FEW)
    method = "put_object" if lost == "write" else "get_object"
    calls = itertools.count()
    alive = {"read": 2, "write": 1, "read back": len(FEW) + 1}[lost]

    class Dying:
        """The client, whose server is gone after some calls of a method."""

        def __init__(self, client):
            self.client, self.loop = client, client.loop

        def call_s3(self, name, **wanted):
            self._count(name)
            return self.client.call_s3(name, **wanted)

        def _call_s3(self, name, **wanted):
            self._count(name)
            return self.client._call_s3(name, **wanted)

        def _count(self, name):
            if name == method and next(calls) >= alive:
                raise ConnectionResetError(f"by {SECRET}")

    whole = Objects._store.func
    with monkeypatch.context() as dying:
        prop = property(lambda objects: Dying(whole(objects)))
        dying.setattr(Objects, "_store", prop)
        said = store.apply()
    assert said.exit_code == 4
    stop = "stopped, the object storage cannot be used: ConnectionResetError; see"
    assert stop in said.output
    assert "manifest.csv" not in store.tree("out/")
    assert store.apply().exit_code == 3
    assert store.tree("out/") == tree(tmp_path / "out")


@pytest.mark.parametrize(
    ("error", "listed", "code"),
    [(PermissionError, True, 3), (PermissionError, False, 4), (TimeoutError, True, 4)],
)
def test_one_object_may_be_forbidden_but_not_all(store, monkeypatch, tmp_path, error, listed, code):
    store.fill("in/", FEW)

    async def get(self, path):
        raise error(SECRET)

    monkeypatch.setattr(Objects, "_get", get)
    if not listed:
        refused = Mock(side_effect=StoreError("no permission"))
        listings = itertools.chain([Objects.listing] * 3, itertools.repeat(refused))
        monkeypatch.setattr(Objects, "listing", lambda self: next(listings)(self))
    said = store.run(f"{store.address}in", "out")
    assert said.exit_code == code
    if code == 3:
        assert set(quarantine(tmp_path / "out-private").values()) == {"unreadable"}


def test_a_server_that_drips_for_ever_is_given_up(store, monkeypatch):
    async def get(self, path):
        await asyncio.sleep(600)

    monkeypatch.setattr(Objects, "_get", get)
    monkeypatch.setattr(object_store, "LASTING", 0.05)
    with pytest.raises(StoreError, match="Timeout"):
        store.objects("in/").read("a.png")


def test_what_is_read_back_must_be_what_was_written(store, monkeypatch):
    objects, real = store.objects("out/"), Objects.read
    monkeypatch.setattr(Objects, "read", lambda o, path: (real(o, path)[0][:-1], None))
    with pytest.raises(StoreError, match="read back as something else"):
        objects.write("a", b"abc")


def test_another_writer_is_noticed(store, monkeypatch):
    store.fill("in/", {"a.png": KINDS["gray8.png"]})
    write = Objects.write

    def beside(objects, path, data):
        store.fill("out/", {"theirs": b"x"})
        return write(objects, path, data)

    monkeypatch.setattr(Objects, "write", beside)
    assert "something else wrote to OUT" in store.apply(code=4).output
    assert "manifest.csv" not in store.tree("out/")


def test_a_person_sees_inputs_and_what_is_sent_to_quarantine_leaves_the_store(store, tmp_path):
    two = {"a.png": KINDS["gray8.png"], "b.png": KINDS["gray16.png"]}
    store.fill("in/", two)
    assert store.apply().exit_code == 0
    before = store.tree("out/")
    with session.opened(tmp_path / "out") as opened, InProcess(1, Limits()) as pool:
        ((path, _),) = opened.inputs(0)
        shown = Pictures(opened, pool).input(0, 0)
        assert np.array_equal(shown.values, view(path, two[path]).values)
        opened.decide(0, session.QUARANTINED)
    assert store.apply().exit_code == 3
    assert store.tree("out/") == tree(tmp_path / "out")
    assert len(store.tree("out/")) == 2
    [withdrawn] = before.keys() - store.tree("out/").keys()
    store.fill("out/", {withdrawn: before[withdrawn]})  # somebody brings it back
    assert store.apply().exit_code == 3
    assert store.tree("out/") == tree(tmp_path / "out")


def test_of_an_object_that_is_too_large_the_beginning_is_read(store, monkeypatch):
    monkeypatch.setattr(object_store, "MAX_BYTES", 40)
    monkeypatch.setattr(object_store, "HEAD", 30)
    content = {"in/small": bytes(range(40)), "in/large": bytes(range(50))}
    store.fill("", content)
    inputs = store.objects("in/")
    assert inputs.read("small")[0] == content["in/small"]
    with pytest.raises(storage.Partial, match="too-large") as refused:
        inputs.read("large")
    assert refused.value.head == bytes(range(30))


def test_a_table_that_is_too_large_is_not_uploaded_in_part(store, monkeypatch):
    store.fill("in/", {"a.png": KINDS["gray8.png"]})
    assert store.run(f"{store.address}in", "out").exit_code == 0
    monkeypatch.setattr(upload, "MAX_BYTES", 3)
    assert "which is not uploaded" in store.apply("--staging", "out", code=2).output
    assert store.tree("out/") == {}


def test_a_list_lets_the_staging_folder_lie_in_the_folder_of_the_inputs(store, tmp_path):
    fill(tmp_path, {"a.png": KINDS["gray8.png"], "list.txt": b"a.png\n"})
    store.run(".", f"{store.address}out", "--files-from", "list.txt", code=0)
    assert store.tree("out/") == tree(tmp_path / "out")


def test_a_release_has_one_address(store, tmp_path):
    store.fill("in/", {"a.png": KINDS["gray8.png"]})
    assert store.apply().exit_code == 0
    said = store.run(f"{store.address}in", f"{store.address}2/out", code=2)
    assert "uploaded to another OUT" in said.output
    record = tmp_path / "out-private" / upload.FILE
    record.write_bytes(b"{}x\n")
    with pytest.raises(UsageError, match="damaged"):
        Record(record.parent, store.objects("out/"))


@pytest.mark.parametrize(
    ("source", "out", "words"),
    [
        ("{}in", "{}in/out", "must not lie in one another"),
        ("{}in/more", "{}in", "must not lie in one another"),
        ("{}nothing", "out", "IN holds no files"),
        ("s3://no-such-bucket/in", "out", "IN cannot be listed (no such bucket or object)"),
        ("{}in", "s3://no-such-bucket/out", "OUT cannot be listed"),
        ("s3://user:verysecret@bucket/in", "out", "IN must be a folder, or s3://BUCKET/PREFIX"),
        ("gs://bucket/in", "out", "IN must be a folder, or s3://BUCKET/PREFIX"),
        ("{}in", "s3://bucket/a/../b", "OUT must be a folder, or s3://BUCKET/PREFIX"),
        ("{}in", "out --staging here", "--staging is for an OUT of s3://"),
        ("{}in", "{}out --shard 1/2", "--shard makes no release yet"),
        ("{}in", "out --files-from secret.key", "--files-from names files of a folder"),
    ],
)
def test_wrong_addresses_are_one_line(store, source, out, words, tmp_path):
    store.fill("in/", {"a.png": KINDS["gray8.png"]})
    out, *more = out.format(store.address).split()
    said = store.run(source.format(store.address), out, *more)
    assert (said.exit_code, said.output.count("\n")) == (2, 1)
    assert words in said.output
    assert "verysecret" not in said.output
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(object_store, "find_spec", lambda name: None)
    assert checked("s3://bucket/out", code=2).output == f"Error: {object_store.MISSING}\n"
