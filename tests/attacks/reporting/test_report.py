"""The report: one file that says what was found, escapes what it is given and loads nothing."""

import re
from html.parser import HTMLParser

import pytest
from changing import altered
from markupsafe import escape
from PIL import Image
from test_results import attack, first_version, made_up, matched, method

from attacks.evaluation.checks import run_checks
from attacks.reporting.readings import explained
from attacks.reporting.report import Picture, summary, write_report
from attacks.results import Check, Method, Source


@pytest.fixture
def page(tmp_path):
    def write(results, **pictures):
        write_report(results, tmp_path / "report.html", **pictures)
        return (tmp_path / "report.html").read_text(encoding="utf-8")

    return write


@pytest.fixture
def picture(tmp_path):
    """Two pictures, for the report's options."""
    Image.new("L", (4, 4)).save(tmp_path / "picture.png")
    shown = [
        Picture("picture.png", title, "a picture", "what it shows")
        for title in ("Privacy against utility", "Examples")
    ]
    return {"folder": tmp_path, "pictures": shown}


def checked(**changes):
    results = made_up(**changes)
    return altered(results, checks=run_checks(results))


def asked(results):
    """How many checks say whether to trust the results."""
    return sum(not check.informative for check in results.checks)


class Outline(HTMLParser):
    """Headings in order, open elements, and every address."""

    def __init__(self):
        super().__init__()
        self.headings, self.open, self.addresses, self.inside = [], [], [], False

    def handle_starttag(self, tag, attributes):
        self.addresses += [v for k, v in attributes if k in ("src", "href", "srcset", "data")]
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.inside = tag == "h2"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.headings.append(data)


def outline(text):
    parser = Outline()
    parser.feed(text)
    assert parser.open == []
    return parser


def test_sound_results(page, picture):
    text = page(checked(), **picture)
    found = outline(text)
    assert found.headings == [
        "In plain words",
        "Privacy against utility",
        "Overview",
        "Findings",
        "Examples",
        "Every attack",
        "Utility",
        "Utility by finding",
        "What happened to the images",
        "Passed checks",
        "How the figures were measured",
        "Threat model and limits",
        "How this report was made",
    ]
    assert f"All {asked(checked())} checks passed" in text
    assert "0.843 ± 0.008\n(0.813–0.873)" in text
    assert "(ddof 0: divided by their number)" in text
    assert "attacks evaluate --method identity" in text


def test_failed_checks_stand_above_everything_else(page):
    results = checked(methods=made_up().methods[1:])
    text = page(results)
    assert outline(text).headings[0] == "Failed checks"
    assert f"1 of {asked(results)} checks failed" in text
    assert text.index("identity was not evaluated") < text.index("In plain words")


def test_nothing_is_loaded_from_elsewhere(page, picture):
    text = page(checked(), **picture)
    addresses = outline(text).addresses
    assert len(addresses) == 2
    assert all(a.startswith("data:image/png;base64,") for a in addresses)
    assert not re.search(r"https?://|@import|url\(|<script|<link", text)


def test_what_comes_from_outside_is_escaped(page):
    source = Source(name="<script>alert(1)</script>", images=1, patients=1)
    evil = method("<b>evil</b>", {"mu": "<i>"}, 0.8, 0.7, 0.8, 0.8)
    text = page(checked(source=source, methods=(evil,), command="attacks --root '<u>'"))
    assert not re.search(r"<(script|b>evil|i>|u>)", text)
    assert "&lt;script&gt;" in text
    assert "&lt;b&gt;evil&lt;/b&gt;" in text


def test_without_pictures_their_sections_are_left_out(page):
    headings = outline(page(checked())).headings
    assert not {"Privacy against utility", "Examples"} & set(headings)


def test_what_is_counted_once_is_singular(page):
    one = method("identity", {}, 0.9, 0.8, 0.8, 0.8)
    lone = altered(one, privacy={"training-free": one.privacy["training-free"]})
    assert "<b>1</b> method<" in page(checked(methods=(lone,)))
    assert "<b>1</b> attacker<" in page(checked(methods=(lone,)))
    assert "<b>2</b> attackers<" in page(checked())


def test_a_finding_is_no_reason_for_mistrust(page):
    text = page(checked(methods=made_up().methods[:4]))
    assert "checks passed" in text
    flat = method("dp-pix", {"b": 8, "epsilon": 0.1}, 0.6, 0.55, 0.84, 0.84, ssim=0.4)
    results = checked(methods=(*made_up().methods[:3], flat))
    text = page(results)
    assert "does not hold" in text
    assert f"All {asked(results)} checks passed" in text


def test_almost_empty_results(page):
    text = page(made_up(methods=(Method(name="identity"),), command=""))
    assert outline(text).headings == [
        "Overview",
        "What happened to the images",
        "How the figures were measured",
        "Threat model and limits",
    ]


def test_drawn_images_are_called_drawn(page):
    assert "are drawn, not taken of people" in page(checked())
    other = checked(source=Source(name="covid19", images=455, patients=270))
    assert "are drawn" not in page(other)


def test_the_summary_names_the_strongest_attacker_and_the_real_images():
    found = dict(summary(made_up()))
    assert "real images" not in found
    words = " ".join(found["dp-pix b=8, ε=0.1"])
    assert "strongest attacker (verification) picks the right one in 77 of 100" in words
    assert "on the real images it is 90; guessing gives 50" in words
    assert "names 39% of the patients" in words
    assert "mean AUC of 0.695 (real images: 0.846)" in words
    assert "reaches 0.804" in words
    assert "includes guessing" not in words


def test_the_summary_speaks_of_people_who_are_alike():
    words = " ".join(dict(summary(matched(made_up())))["dp-pix b=8, ε=0.1"])
    assert "two patients who are alike in what the images show" in words
    assert "picks the right one in 67 of 100 cases; on the real images it is 80" in words
    assert "Where the two patients may be any: 77 of 100" in words


@pytest.mark.parametrize("change", [lambda r: r, matched, first_version])
def test_the_report_says_which_reading_it_is(page, change):
    results = change(checked())
    assert page(results).count(escape(explained(results))) == 2


def test_unreadable_utility_is_said(page):
    one = method("dp-pix", {"b": 8}, 0.8, 0.7, 0.8, 0.8)
    unread = altered(one, utility={"readable": False})
    text = page(made_up(methods=(made_up().methods[0], unread)))
    assert "Do not read them" in text
    assert "<th>readable</th>" in text


def test_an_attack_at_chance_is_not_called_private():
    lone = Method(name="dp-pix", privacy={"verification": attack(0.51)})
    assert "found nothing. A stronger one may" in " ".join(summary(made_up(methods=(lone,)))[0][1])


def test_the_same_results_give_the_same_report(page, picture):
    assert page(checked(), **picture) == page(checked(), **picture)


def test_commands_in_a_message_are_code_and_nothing_else_is(page):
    check = Check(name="a", passed=False, message="Run `attacks check <b>` & `look`; a ` alone.")
    text = page(altered(made_up(), checks=(check,)))
    shown = "Run <code>attacks check &lt;b&gt;</code> &amp; <code>look</code>; a ` alone."
    assert shown in text
