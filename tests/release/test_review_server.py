"""The page's server: who may ask, what is answered, and that numbers alone name pictures."""

import json
import os
from contextlib import contextmanager
from unittest.mock import Mock

import numpy as np
from archive_specimens import archive
from dicom_specimens import dx, file, with_pixels
from release_specimens import KINDS, SCENE16, InProcess, checked, png, scene, tree
from set_specimens import Case, chest
from starlette.testclient import TestClient

from anonymize.release.review import pictures, server, session
from anonymize.release.review.guard import HEADERS, Keys
from anonymize.release.review.pictures import view
from anonymize.release.workers.worker_pool import Limits

KEYS = Keys(8765)
ORIGIN = f"http://{KEYS.host}"
OURS = {"origin": ORIGIN, "x-review-token": KEYS.token}
FILES = {"a.png": KINDS["gray8.png"], "b.png": KINDS["gray16.png"], "c.png": KINDS["rgb.png"]}


@contextmanager
def reviewed(out, **more):
    """The session of a release, and a client that was given the token and the cookie."""
    with session.opened(out) as work, InProcess(2, Limits()) as pool:
        app = server.application(work, pool, KEYS, **more)
        client = TestClient(app, ORIGIN, headers=OURS)
        assert client.post("/session").status_code == 204
        yield work, client


def shown(answer):
    """The values of an answer, (H, W, C)."""
    assert answer.status_code == 200, answer.text
    told = json.loads(answer.headers["x-view"])
    values = np.frombuffer(answer.content, f"<u{told['bits'] // 8}")
    return values.reshape(told["height"], told["width"], told["channels"]), told


def test_pictures_are_what_the_files_hold_and_decisions_are_carried_out(release):
    whole = release(FILES)
    with reviewed(release.out) as (_, client):
        told = client.get("/api/release").json()
        assert [p["name"] for p in told["pictures"]] == ["a.png", "b.png", "c.png"]
        assert told["counts"] == {"accepted": 0, "quarantined": 0, "undecided": 3}
        values, head = shown(client.get("/api/pictures/1/inputs/0"))
        assert np.array_equal(values[..., 0], SCENE16)
        assert (head["low"], head["high"]) == (SCENE16.min(), SCENE16.max())
        assert not np.array_equal(shown(client.get("/api/pictures/1/output"))[0], values)
        assert shown(client.get("/api/pictures/2/inputs/0"))[0].shape == (*scene().shape, 3)
        details = client.get("/api/pictures/1").json()
        assert details["inputs"] == ["b.png"]
        assert details["boxes"] is None
        assert len(details["moved"]["right"]) == len(details["moved"]["down"])
        answer = client.post("/api/pictures/1/accept").json()
        assert answer["state"] == "accepted"
        answer = client.post("/api/pictures/2/quarantine").json()
        assert answer["counts"] == {"accepted": 1, "quarantined": 1, "undecided": 1}
        assert tree(release.out).keys() == whole.files.keys() - {"c.png"}
    assert checked(release.out).exit_code == 0


def test_what_was_not_shown_is_not_accepted(release):
    release(FILES, require_review=True)
    with reviewed(release.out) as (work, client):
        assert client.post("/api/pictures/0/accept").status_code == 409
        assert work.counts["undecided"] == 3
        client.get("/api/pictures/0/output")
        assert client.post("/api/pictures/0/accept").status_code == 200


OTHERS = [
    ({"host": "localhost:8765"}, "host"),
    ({"host": "evil.example:8765"}, "host"),
    ({"host": "127.0.0.1"}, "host"),
    ({"host": "127.0.0.1:8765.evil.example"}, "host"),
    ({"origin": "http://evil.example"}, "origin"),
    ({"origin": "http://127.0.0.1:80"}, "origin"),
    ({"origin": "null"}, "origin"),
    ({"origin": ""}, "origin"),
    ({"sec-fetch-site": "cross-site"}, "site"),
    ({"sec-fetch-site": "same-site"}, "site"),
    ({"x-review-token": ""}, "token"),
    ({"x-review-token": KEYS.cookie}, "token"),
    ({"x-review-token": "ü".encode()}, "token"),
    ({"cookie": ""}, "session"),
    ({"cookie": "review="}, "session"),
    ({"cookie": f"review={KEYS.token}"}, "session"),
]


def test_others_are_refused_and_nothing_is_done(release):
    release({"a.png": FILES["a.png"]})
    with reviewed(release.out) as (work, client):
        for headers, why in OTHERS:
            answer = client.post("/api/pictures/0/quarantine", headers=headers)
            assert (answer.status_code, why in answer.text) == (403, True), headers
            assert work.counts["undecided"] == 1, headers
            if why != "origin":
                for path in ("/api/release", "/api/pictures/0/output", "/api/pictures/0/inputs/0"):
                    assert client.get(path, headers=headers).status_code == 403, headers
            assert client.get("/api/release").status_code == 200


def test_without_the_token_there_is_no_cookie(release):
    release({"a.png": FILES["a.png"]})
    with reviewed(release.out) as (_, given):
        client = TestClient(given.app, ORIGIN)
        assert client.post("/session", headers={"origin": ORIGIN}).status_code == 403
        assert client.post("/session", headers={"x-review-token": KEYS.token}).status_code == 403
        assert client.get("/").status_code == 200
        assert KEYS.token not in client.get("/").text
        assert client.get("/api/release").status_code == 403
        cookie = client.post("/session", headers=OURS).headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert KEYS.token not in cookie


def test_every_answer_forbids_to_keep_embed_and_guess(release):
    release({"a.png": FILES["a.png"]})
    with reviewed(release.out) as (_, client):
        bad = client.get("/", headers={"host": "evil.example"})
        paths = ["/", "/review.js", "/api/release", "/api/pictures/0/output", "/api/nothing"]
        for answer in (bad, *map(client.get, paths)):
            assert HEADERS.items() <= dict(answer.headers).items()
            assert "access-control-allow-origin" not in answer.headers


NOTHING = (
    *("/api/pictures/1", "/api/pictures/-1", "/api/pictures/x/output", "/api/pictures/0/other"),
    *("/api/pictures/0/inputs/1", "/api/pictures/99999999999999999999/output"),
    *("/api/pictures/..%2f..%2fetc%2fpasswd", "/%2e%2e/secret.key", "/page/review.js"),
    *("/../journal.jsonl", "/review.js/..%2f..", "/openapi.json"),
)


def test_other_paths_are_nothing(release):
    release({"a.png": FILES["a.png"]})
    with reviewed(release.out) as (work, client):
        for path in NOTHING:
            assert client.get(path).status_code in (404, 405), path
            assert client.post(path).status_code in (404, 405), path
        assert work.counts["undecided"] == 1


def test_inputs_that_are_gone_or_changed_are_not_shown(release):
    release(FILES)
    (release.source / "a.png").unlink()
    (release.source / "b.png").write_bytes(KINDS["rgb.png"])
    (release.out / "c.png").write_bytes(KINDS["gray8.png"])
    with reviewed(release.out) as (work, client):
        for path in ("0/inputs/0", "1/inputs/0", "2/output"):
            answer = client.get(f"/api/pictures/{path}")
            assert answer.status_code == 409
            assert " " in answer.json()["problem"]
        release.out.joinpath("b.png").unlink()
        assert "is not there" in client.get("/api/pictures/1/output").json()["problem"]
        assert client.get("/api/pictures/0/output").status_code == 200
        assert client.post("/api/pictures/2/accept").status_code == 409
        assert work.counts["undecided"] == 3


def test_inputs_in_archives_and_of_several_people(release, tmp_path):
    release({"x.zip": archive([("ward/b.png", FILES["b.png"])])})
    with reviewed(release.out) as (_, client):
        values, _ = shown(client.get("/api/pictures/0/inputs/0"))
        assert np.array_equal(values[..., 0], SCENE16)
    case = Case(tmp_path / "set")
    case.base.mkdir()
    case.begin().apply()
    with reviewed(tmp_path / "set/out") as (_, client):
        paths = client.get("/api/pictures/0").json()["inputs"]
        assert len(set(paths)) >= 3
        for number, path in enumerate(paths):
            values, _ = shown(client.get(f"/api/pictures/0/inputs/{number}"))
            assert np.array_equal(values[..., 0], view(path, case.files[path][0]).values[..., 0])


def test_a_disk_that_is_full_is_said_and_the_same_decision_goes_on(release, monkeypatch):
    release(FILES, require_review=True)
    with reviewed(release.out) as (_, client):
        client.get("/api/pictures/0/output")
        with monkeypatch.context() as patch:
            full = Mock(side_effect=OSError(28, "No space left on device"))
            patch.setattr("anonymize.whole_file.create", full)
            answer = client.post("/api/pictures/0/accept")
        assert answer.status_code == 507
        assert "No space" in answer.json()["problem"]
        assert tree(release.out) == {}
        assert client.post("/api/pictures/0/accept").status_code == 200
        assert tree(release.out).keys() == {"a.png"}


def test_the_reviewer_ends_it(release):
    ended = []
    release(FILES)
    with reviewed(release.out, end=lambda: ended.append(True)) as (_, client):
        assert client.post("/api/end").status_code == 204
    assert ended == [True]


def test_a_view_is_shrunk_to_what_is_shown_and_says_so(monkeypatch):
    monkeypatch.setattr(pictures, "MOST_PIXELS", 600)
    values = scene(size=(41, 52))
    made = view("a.png", png(values, 8, 0))
    assert made.shrunk == 2
    means = values[:40].reshape(20, 2, 26, 2).mean((1, 3))
    assert np.abs(made.values[..., 0] - means).max() <= 0.5


def test_dicom_is_shown_through_its_first_window():
    made = with_pixels(dx(), scene(4095, dtype=np.uint16), bits=12)
    for keyword in ("VOILUTSequence", "WindowCenter", "WindowWidth", "VOILUTFunction"):
        if keyword in made:
            del made[keyword]
    made.WindowCenter, made.WindowWidth = 1500, 1000
    told = view("a.dcm", file(made))
    assert abs(told.low - 1000) < 20
    assert abs(told.high - 2000) < 20
    assert view("b.dcm", chest(1, "P")).values.dtype == np.uint16


def test_inks_become_colours():
    cmyk = view("a.jpg", KINDS["cmyk.jpg"])
    assert cmyk.values.shape[2] == 3
    assert abs(int(cmyk.values.mean()) - int(scene(255, 3).mean())) < 25


def test_names_of_any_bytes_are_listed(release):
    release({os.fsdecode(b'\xff"<b>.png'): FILES["a.png"]})
    with reviewed(release.out) as (_, client):
        assert client.get("/api/release").json()["pictures"][0]["name"] == '\ufffd"<b>.png'
        assert client.get("/api/pictures/0").json()["inputs"] == ['\ufffd"<b>.png']
