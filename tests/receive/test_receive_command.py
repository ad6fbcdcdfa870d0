"""``anonymize receive`` as a user meets it."""

import json
import threading
from contextlib import contextmanager

import pytest
from asked import ask
from click.testing import CliRunner
from programs import free_port
from receiving import attempt, made, options, released, spooled, until

from anonymize.cli import main
from anonymize.commands import receive as module
from anonymize.receive import service


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """``serve(objects, *words)``: what comes of a node that ends once these were settled."""
    monkeypatch.chdir(tmp_path)

    def run(objects, *words):
        port, ended = free_port(), threading.Event()

        def sender():
            try:
                wanted = [0x0000] * len(objects)
                until(lambda: ended.is_set() or attempt(port, *objects) == wanted)
                until(lambda: ended.is_set() or not spooled(tmp_path))
            finally:
                ended.set()  # whatever becomes of it, the node must not wait for ever

        @contextmanager
        def until_settled():
            threading.Thread(target=sender, daemon=True).start()
            yield ended.is_set

        monkeypatch.setattr(module, "asked_to_stop", until_settled)
        fixed = ["--port", port, "--allow", "SENDER", "--spare-disk", 0, "--device", "cpu"]
        command = ["receive", "out", *fixed, "--model", "dp-pix:b=4", *words]
        try:
            return CliRunner().invoke(main, [*map(str, command)])
        finally:
            ended.set()  # nobody listens: nothing is sent any more

    return run


def test_a_method_that_cannot_be_is_refused_before_anything_is_said(serve):
    result = serve([], "--model", "k-same:k=3", "--text", "keep")
    assert result.exit_code == 2
    assert "objects come one by one" in result.output
    assert len(result.output.splitlines()) == 1


def test_all_released_is_0_and_says_so(serve, tmp_path):
    result = serve([made(0), made(1)])
    assert result.exit_code == 0, result.output
    assert "listening at 127.0.0.1" in result.stderr
    assert "NOT LOOKED FOR" in result.stderr
    assert result.stdout.startswith("ended: 2 received, 2 released\n")
    for said in (result.stderr.partition("listening")[0], result.stdout):
        assert "protection NOT SHOWN: epsilon 0.1" in said
        assert "text       NOT LOOKED FOR" in said
    assert len(released(tmp_path)) == 2


def test_quarantine_is_3_and_json_is_the_counts(serve):
    bad = made(0)
    bad.Modality = "MR"
    result = serve([bad], "--json")
    assert result.exit_code == 3
    counts = json.loads(result.stdout)
    assert (counts["received"], counts["released"], counts["quarantined"]) == (1, 0, 1)
    assert (counts["text"], counts["cleaned"]) == ("keep", 0)
    assert "no attacker was tried" in counts["evidence"]


def test_text_that_is_kept_as_asked_is_said_to_be_there(serve):
    """--text keep takes the warning of a missing OCR away, and no more."""
    result = serve([made(0)], "--text", "keep")
    assert "text       NOT LOOKED FOR" in result.stderr.partition("listening")[0]
    assert "text       NOT LOOKED FOR" in result.stdout


def test_canonical_and_sign_are_those_of_apply(serve, tmp_path):
    assert serve([made(0)], "--canonical", "32,dicom", "--sign").exit_code == 0
    assert (tmp_path / "out/manifest.sig").is_file()
    ask(main, "verify", "out", "--public-key", "out-private/secret.key.pub")


def test_another_method_for_the_same_release_is_refused(serve):
    assert serve([made(0)]).exit_code == 0
    fixed = ["--port", 0, "--allow", "SENDER", "--device", "cpu"]
    refused = ask(main, "receive", "out", *fixed, "--model", "dp-pix:b=8", code=2)
    assert "other options of the method" in refused.stderr


@pytest.mark.parametrize(
    ("node", "forward", "warned"),
    [
        ({}, {}, False),
        ({"host": "0.0.0.0"}, {}, True),
        ({}, {"to": "A@127.0.0.1:104"}, False),
        ({}, {"to": "A@[::1]:104"}, False),
        ({}, {"to": "A@archive:104"}, True),
        ({}, {"to": "http://localhost.example/studies"}, True),
        ({}, {"to": "A@archive:104", "ca": "ca.pem"}, False),
        ({}, {"to": "http://archive/studies"}, True),
        ({}, {"to": "https://archive/studies"}, False),
    ],
)
def test_what_goes_without_tls_is_said(node, forward, warned):
    words = service._words(options(forward=forward, **node), 104)
    assert ("without TLS" in words) is warned


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing option '--allow'"),
        (["--allow", "A" * 17], "--allow must be an AE title"),
        (["--allow", "A", "--port", 65536], "--port"),
        (["--allow", "A", "--model", "mosaic:g=3,m=3"], "collect them, and take `anonymize apply`"),
        (["--allow", "A", "--model", "identity"], "changes nothing"),
        (["--allow", "A", "--tls-cert", "x"], "belong together"),
        (["--allow", "A", "--timeout", "nan"], "nan is not a finite number"),
        (["--allow", "A", "--canonical", "64", "--forward-to", "A@b:1"], "--canonical SIZE,dicom"),
        (["--allow", "A", "--spool", "out/in"], "lie in one another"),
    ],
)
def test_wrong_usage_is_2_with_one_line(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    words = ["--port", 0, "--model", "dp-pix", *words]
    result = ask(main, "receive", "out", *words, "--device", "cpu", code=2)
    assert said in result.stderr
    assert len([line for line in result.stderr.splitlines() if line.startswith("Error")]) == 1
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "pynetdicom" else name)
    result = ask(main, "receive", tmp_path / "out", "--allow", "A", code=2)
    assert "pip install 'anonymize-cxr[receive]'" in result.stderr
