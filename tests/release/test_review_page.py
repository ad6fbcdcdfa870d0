"""The page in Chromium: keys, what is shown, and that no request leaves the machine."""

import json
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from browsing import chromium
from release_specimens import (
    KINDS,
    InProcess,
    Wave,
    checked,
    fill,
    png,
    quarantine,
    rows,
    scene,
    tree,
)
from set_specimens import chest
from waited import until

from anonymize.release import pipeline
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.options import ReleaseOptions
from anonymize.release.review import session
from anonymize.release.review.server import serve
from anonymize.release.workers.worker_pool import Limits

SECONDS = 120  # that a busy machine may take for anything
# Whether the picture is drawn: neither button is enabled before.
READY = "!document.getElementById('accept').disabled && document.getElementById('counts').innerText"
# The shade in the middle of a canvas.
MIDDLE = """(id) => {
  const canvas = document.getElementById(id);
  const [x, y] = [canvas.width / 2, canvas.height / 2];
  return canvas.getContext("2d").getImageData(x, y, 1, 1).data[0];
}"""
LEVEL = """
const slider = document.getElementById("level");
slider.value = arguments[0];
slider.dispatchEvent(new Event("input"));
"""


class Page:
    """The page of a release, as its reviewer has it."""

    def __init__(self, driver):
        self.driver = driver

    def until(self, expression):
        """Waits for JavaScript to be true."""
        return until(lambda: self.driver.execute_script(f"return {expression}"), SECONDS)

    def press(self, key):
        self.driver.find_element("tag name", "body").send_keys(key)

    def text(self, id):
        return self.driver.find_element("id", id).text

    def decide(self, key, looked_at):
        """Presses a key, and waits until that many were looked at and the next one is shown."""
        self.press(key)
        self.until(f"document.getElementById('counts').innerText.startsWith('{looked_at} of')")
        self.until(READY)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


def opened(driver, address):
    """The page at an address, when its first picture is shown."""
    driver.get("about:blank")
    driver.get(address)
    page = Page(driver)
    page.until(READY)
    return page


@contextmanager
def command(out, driver):
    """`anonymize review` of ``out`` as a process, and its page."""
    words = [sys.executable, "-m", "anonymize", "review", str(out), "--workers", "1"]
    process = subprocess.Popen(words, stdout=-1, stderr=-1, text=True)
    try:
        line = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/#\S+", line)
        assert address, line + process.stderr.read()
        yield process, opened(driver, address[0])
    finally:
        process.kill()
        process.communicate()


@contextmanager
def serving(out, driver):
    """The same in this process, which ends when the reviewer says so."""
    addresses = queue.Queue()
    with (
        session.opened(out) as work,
        InProcess(2, Limits()) as pool,
        socket.create_server(("127.0.0.1", 0)) as channel,
    ):
        given = {"ready": addresses.put, "grace": 1}
        thread = threading.Thread(target=serve, args=(work, pool, channel), kwargs=given)
        thread.start()
        page = opened(driver, addresses.get(timeout=SECONDS))
        yield page
        page.driver.execute_script("document.getElementById('end').click()")
        thread.join(SECONDS)
        assert not thread.is_alive()


def asked(driver):
    """The addresses that were asked for since the last call, chromium's own pages left out."""
    events = [json.loads(e["message"])["message"] for e in driver.get_log("performance")]
    sent = [e["params"]["request"]["url"] for e in events if e["method"].endswith("BeSent")]
    return [url for url in sent if not url.startswith(("chrome", "data:", "about:"))]


def reviewed(out, driver, reject):
    """Accepts all but ``reject``, killed on the way; the addresses that were asked for."""
    driver.get_log("browser")
    count = len(tree(out.with_name(f"{out.name}-private") / "waiting"))
    with command(out, driver) as (process, page):
        for number in range(1, count // 2):
            page.decide("q" if page.text("name") == reject else "a", number)
        addresses = asked(driver)
        assert not driver.get_log("browser")
        killed = driver.current_url.partition("#")[0]
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert checked(out).exit_code == 2
    with serving(out, driver) as page:
        assert page.text("counts").startswith(f"{count // 2 - 1} of {count} looked at")
        for number in range(count // 2, count + 1):
            page.decide("q" if page.text("name") == reject else "a", number)
        assert page.text("counts") == f"{count} of {count} looked at, 1 in quarantine"
        addresses += asked(driver)
        # The page may have been loading from the one that was killed.
        assert not [e for e in driver.get_log("browser") if killed not in e["message"]]
    return addresses


def stays_here(addresses):
    """No request leaves the machine, and none tells more than it must."""
    assert {re.match(r"http://127\.0\.0\.1:\d+/", url) is not None for url in addresses} == {True}
    assert all("#" not in url or url.endswith("/") for url in addresses)


@pytest.mark.whole
def test_a_release_is_gone_through_killed_and_gone_on_with(tmp_path, driver):
    fill(tmp_path / "in", {f"{n}.png": png(scene(size=(60 + n, 80)), 8, 0) for n in range(6)})
    out = tmp_path / "out"
    pipeline.apply(tmp_path / "in", out, Wave(), ReleaseOptions(require_review=True))
    addresses = reviewed(out, driver, "4.png")
    assert len(addresses) > 20
    stays_here(addresses)
    assert tree(out).keys() == {*(f"{n}.png" for n in range(6) if n != 4), "manifest.csv"}
    assert quarantine(tmp_path / "out-private") == {"4.png": "review"}
    assert checked(out).exit_code == 0


def test_keys_and_views(tmp_path, driver):
    from selenium.webdriver.common.keys import Keys

    dark, bright = png(scene() // 8, 8, 0), png(255 - scene() // 8, 8, 0)
    fill(tmp_path / "in", {"a.png": dark, "b.png": bright, "c.dcm": chest(3, "P1")})
    fill(tmp_path / "in", {"d.png": KINDS["gray16.png"]})
    out = tmp_path / "out"
    pipeline.apply(tmp_path / "in", out, Wave(), ReleaseOptions())
    asked(driver)
    with serving(out, driver) as page:
        assert page.text("place") == "1 of 4"
        assert driver.current_url.endswith("/")  # the token has left the address
        assert driver.title == "Review"
        page.until(f"({MIDDLE})('output') > 0")
        shade = driver.execute_script(f"return ({MIDDLE})('output')")
        driver.execute_script(LEVEL, 20)
        page.until(f"({MIDDLE})('output') > {shade + 20}")
        page.press("r")
        page.until(f"({MIDDLE})('output') === {shade}")
        assert not page.driver.find_element("id", "source").is_displayed()
        page.press("n")
        assert page.text("source") == "input: a.png"
        page.press(Keys.ARROW_RIGHT)
        page.until("document.getElementById('name').innerText === 'b.png'")
        page.until(READY)
        page.press(" ")
        assert "blinked" in page.text("blinking")
        page.press(" ")
        assert page.text("blinking") == ""
        page.press("?")
        assert page.driver.find_element("id", "help").is_displayed()
        page.press("q")  # decides nothing while the keys are read
        page.press(Keys.ESCAPE)
        assert page.text("counts") == "0 of 4 looked at"
        page.decide("q", 1)
        assert page.text("name") == "c.dcm"
        assert "SSIM" in page.text("told")
        page.press(Keys.ARROW_LEFT)
        page.until("document.getElementById('state').innerText === 'in quarantine'")
        page.until(READY)
        page.decide("a", 1)  # somebody thought better of it
        assert page.text("counts") == "1 of 4 looked at"
        whole = (out / "d.png").read_bytes()
        (out / "d.png").write_bytes(dark)  # what cannot be shown cannot be accepted
        page.driver.execute_script("location.reload()")
        for name in ("a.png", "b.png", "c.dcm"):
            page.until(f"document.getElementById('name').innerText === '{name}'")
            page.until(READY)
            page.press(Keys.ARROW_RIGHT)
        page.until("!document.getElementById('message').hidden")
        page.press("a")
        assert not page.driver.find_element("id", "accept").is_enabled()
        assert page.driver.find_element("id", "quarantine").is_enabled()
        (out / "d.png").write_bytes(whole)
        addresses = asked(driver)
    assert len(addresses) > 20
    stays_here(addresses)
    assert len(rows((out / "manifest.csv").read_bytes())) == 4
    assert checked(out).exit_code == 0


@pytest.mark.slow
def test_originals(shared, tmp_path, driver, ocr):
    originals = shared / "data" / "originals"
    if not originals.is_dir():
        pytest.skip(f"needs the untouched radiographs at {originals}")
    fill(tmp_path / "in", {path.name: path.read_bytes() for path in originals.iterdir()})
    out = tmp_path / "out"
    options = ReleaseOptions(require_review=True, sign=True, text=TextOptions("remove"))
    pipeline.apply(tmp_path / "in", out, Wave(0.02), options)
    names = sorted(Path(name).name for name in tree(tmp_path / "out-private" / "waiting"))
    assert len(names) == 18
    reviewed(out, driver, names[11])
    assert tree(out).keys() == {*names, "manifest.csv", "manifest.sig"} - {names[11]}
    assert quarantine(tmp_path / "out-private") == {names[11]: "review"}
    key = tmp_path / "out-private" / "secret.key.pub"
    assert checked(out, "--public-key", key).exit_code == 0
