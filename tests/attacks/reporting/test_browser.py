"""The report in headless Chromium, as people open it: widths, keyboard, pictures, paper."""

import base64

import browsing
import pytest
from changing import altered
from hostile_names import hostile_results
from pictured import full, pictured

from attacks.evaluation.evaluate import Evaluation
from attacks.evaluation.policies.demands import Line, Verdict
from attacks.reporting.compare import write_comparison
from attacks.reporting.report import Beside, write_report
from attacks.reporting.side_by_side import Side, differences

WIDTHS = (360, 768, 1440, 1920)
TALL = "return Math.max(...[...document.querySelectorAll('.row')].map((r) => r.clientHeight))"
SIDEWAYS = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """One browser for all tests."""
    with browsing.chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def look(browser, path, *, width=1440, dark=False, media="screen"):
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    still = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"media": media, "features": [scheme, still]}
    )
    shape = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    browser.get(path.as_uri())


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    verdict = Verdict("public", full().titles()[1], (Line("auc", "fail", "no"),))
    beside = Beside([verdict], digest="0" * 64)
    write_report(pictured(), folder / "report.html", beside)
    return folder / "report.html"


@pytest.fixture(scope="module")
def opened(chromium, report):
    look(chromium, report)
    return chromium


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
def test_no_width_scrolls_sideways_and_nothing_is_complained_of(chromium, report, width, dark):
    look(chromium, report, width=width, dark=dark)
    chromium.execute_script("document.querySelectorAll('details').forEach((d) => d.open = true)")
    assert chromium.execute_script(SIDEWAYS) <= 0
    assert chromium.get_log("browser") == []
    background = "return getComputedStyle(document.body).backgroundColor"
    assert (chromium.execute_script(background) == "rgb(255, 255, 255)") != dark


def test_every_figure_is_drawn_inside_its_frame(opened):
    drawn = opened.execute_script("""
        return [...document.querySelectorAll("svg.plot, .lane > svg[role=group]")].map((plot) => {
          const frame = plot.getBoundingClientRect();
          const marks = [...plot.querySelectorAll(".glyph")].map((g) => g.getBoundingClientRect());
          const within = (m) => m.left > frame.left - 12 && m.right < frame.right + 12
            && m.top > frame.top - 12 && m.bottom < frame.bottom + 12;
          const inside = marks.filter((m) => m.width > 4 && within(m));
          return [marks.length, inside.length];
        });""")
    assert len(drawn) > 10
    assert opened.execute_script(TALL) < 120  # a strip is no taller than its marks need
    assert all(marks and marks == inside for marks, inside in drawn)


def test_every_picture_can_be_decoded_and_is_used(opened):
    sizes = opened.execute_async_script("""
        const done = arguments[0];
        const all = [...document.querySelectorAll("defs image")];
        Promise.all(all.map(async (one) => {
          const picture = new Image();
          picture.src = one.getAttribute("href");
          await picture.decode();
          const used = document.querySelector(`use[href="#${one.id}"]`);
          return used ? picture.naturalWidth : 0;
        })).then(done);""")
    assert len(sizes) > 20
    assert set(sizes) == {24}


def test_links_resolve(opened):
    lost = opened.execute_script("""
        return [...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href"))
          .filter((h) => !h.startsWith("#") || !document.getElementById(h.slice(1)));""")
    assert lost == []


def test_a_method_is_off_in_all_figures_and_on_again(opened):
    visible = """return [...document.querySelectorAll('[data-m="2"]')]
        .filter((e) => getComputedStyle(e).display !== "none").length"""
    before = opened.execute_script(visible)
    box = opened.find_element("css selector", "input[data-method='2']")
    opened.execute_script("arguments[0].click()", box)
    assert opened.execute_script(visible) == 0 < before
    others = "return document.querySelectorAll('input[data-method=\"2\"]:checked').length"
    assert opened.execute_script(others) == 0
    opened.execute_script("arguments[0].click()", box)
    assert opened.execute_script(visible) == before


def test_the_keyboard_goes_from_mark_to_mark_and_is_told_each(opened):
    first = opened.find_element("css selector", "#tradeoff g.point[tabindex='0']")
    opened.execute_script("arguments[0].focus()", first)
    tip = opened.find_element("css selector", ".tip")
    told = tip.text
    assert told.splitlines()[0] == "real images"
    first.send_keys("\ue014")  # arrow right
    focused = opened.switch_to.active_element
    assert focused.get_attribute("aria-label").split("; ")[0] == tip.text.splitlines()[0]
    assert tip.text != told
    outline = opened.execute_script(
        "return getComputedStyle(document.activeElement.querySelector('.glyph')).strokeWidth"
    )
    assert outline == "2.6px"


def test_the_slider_shows_layer_after_layer(opened):
    shown = """return [...document.querySelectorAll("#examples .method")].at(-2)
        .querySelectorAll(".layer")[2].style.opacity"""
    assert opened.execute_script(shown) == "0"
    stop = opened.find_element("css selector", "#examples .stops button[data-stop='2']")
    opened.execute_script("arguments[0].click()", stop)
    assert opened.execute_script(shown) == "1"
    slider = opened.find_element("css selector", "#examples .slider input")
    assert slider.get_attribute("aria-valuetext") == "difference"


def test_a_picture_opens_large_and_closes_by_escape(opened):
    cell = opened.find_element("css selector", "#examples button.cell")
    small = cell.size["width"]
    opened.execute_script("arguments[0].click()", cell)
    dialog = opened.find_element("css selector", "dialog.large")
    large = dialog.find_element("css selector", ".shown svg")
    assert large.size["width"] > 2 * small
    dialog.send_keys("\ue00c")
    assert not dialog.is_displayed()


def test_paper_has_the_tables_and_no_controls(chromium, report):
    look(chromium, report, width=1047, media="print")  # A4 across, in CSS pixels
    chromium.execute_script("dispatchEvent(new Event('beforeprint'))")  # which unfolds
    names = chromium.find_elements("css selector", "tbody th")
    wide = [name.size["width"] for name in names if name.is_displayed()]
    assert len(wide) > 5
    assert min(wide) > 60  # a column of one letter after another is nobody's name
    controls = chromium.find_element("css selector", ".controls")
    assert not controls.is_displayed()
    shown = chromium.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    data = base64.b64decode(shown["data"])
    assert data.startswith(b"%PDF")
    assert data.count(b"/Type /Page\n") + data.count(b"/Type /Page ") >= 4


def test_without_its_script_figures_and_pictures_are_there(chromium, report, tmp_path):
    text = report.read_text(encoding="utf-8")
    bare = tmp_path / "bare.html"
    bare.write_text(text[: text.index("<script>")] + "</body></html>", encoding="utf-8")
    look(chromium, bare)
    assert chromium.find_element("css selector", "#tradeoff .glyph").is_displayed()
    assert chromium.find_element("css selector", "#examples .layer").is_displayed()
    opacity = "return getComputedStyle(document.querySelectorAll('#examples .layer')[1]).opacity"
    assert chromium.execute_script(opacity) == "1"


@pytest.mark.parametrize("width", [360, 1440])
def test_hostile_names_run_nothing_and_break_no_page(chromium, tmp_path, width):
    evaluation = Evaluation(full(hostile_results()))
    write_report(evaluation, tmp_path / "report.html")
    look(chromium, tmp_path / "report.html", width=width)
    chromium.execute_script("document.querySelectorAll('details').forEach((d) => d.open = true)")
    assert chromium.get_log("browser") == []
    assert chromium.execute_script("return window.hacked") is None
    assert chromium.execute_script(SIDEWAYS) <= 0
    assert chromium.execute_script("return document.querySelectorAll('script').length") == 1


def test_the_policy_stops_a_script_that_got_in(chromium, report, tmp_path):
    text = report.read_text(encoding="utf-8")
    (tmp_path / "in.html").write_text(
        text.replace("<main", "<script>window.hacked = 1</script><main"), encoding="utf-8"
    )
    look(chromium, tmp_path / "in.html")
    assert chromium.execute_script("return window.hacked") is None
    chromium.get_log("browser")  # complains of it, rightly


@pytest.mark.parametrize("width", [360, 1440])
def test_a_comparison(chromium, tmp_path, width):
    results = altered(full(), seed=0)
    sides = [Side(name, Evaluation(results)) for name in ("a", "b")]
    write_comparison(sides, differences(sides), tmp_path)
    look(chromium, tmp_path / "comparison.html", width=width)
    assert chromium.get_log("browser") == []
    assert chromium.execute_script(SIDEWAYS) <= 0
    assert len(chromium.find_elements("css selector", "svg.plot")) == 2
