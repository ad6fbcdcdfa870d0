"""The report: one file that says what was found, escapes what it is given and loads nothing."""

import re
import stat
from html.parser import HTMLParser

import pytest
from changing import altered
from markupsafe import escape
from pictured import checked, full, pictured
from test_results import attack, first_version, made_up, matched, method

from attacks.evaluation.evaluate import Evaluation
from attacks.evaluation.policies.demands import Line, Verdict
from attacks.reporting.readings import explained
from attacks.reporting.report import Beside, is_private, write_report
from attacks.reporting.words import FEW, FOUND, MISLED, OPEN, headline, summary
from attacks.results import Check, Method, Source

VOID = ("meta", "img", "input", "link", "br")


@pytest.fixture
def page(tmp_path):
    def write(given, beside=None, **options):
        evaluation = given if isinstance(given, Evaluation) else Evaluation(given)
        write_report(evaluation, tmp_path / "report.html", beside, **options)
        return (tmp_path / "report.html").read_text(encoding="utf-8")

    return write


class Outline(HTMLParser):
    """Headings in order with their levels, open elements, ids, and every address."""

    def __init__(self):
        super().__init__()
        self.headings, self.levels, self.open, self.addresses = [], [], [], []
        self.ids, self.unscoped, self.inside = [], 0, False

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.addresses += [v for k, v in attributes if k in ("src", "href", "srcset", "data")]
        self.ids += [given["id"]] if "id" in given else []
        self.unscoped += tag == "th" and "scope" not in given
        if tag not in VOID:
            self.open.append(tag)
        self.inside = tag == "h2"
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.inside = False

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_data(self, data):
        if self.inside:
            self.headings.append(data)


def outline(text):
    parser = Outline()
    parser.feed(text)
    assert parser.open == []
    return parser


def test_everything_that_there_is_stands_in_its_order(page):
    text = page(pictured())
    assert outline(text).headings == [
        "Verdict",
        "What was released, and how",
        "Threat model, in plain words",
        "Privacy against utility",
        "How many are found at few false matches",
        "How many patients the first guess finds",
        "Who is found",
        "Every attacker",
        "What a classifier still reads, by finding",
        "Floors: what links without looking for a patient",
        "The same patients, by every method",
        "Whom attackers take them for",
        "What the strongest attacker finds, misses and mistakes",
        "All figures",
        "Checks",
        "How the figures were measured",
        "Provenance",
        "Signature",
    ]
    assert "0.843 ± 0.008\n(0.813–0.873)" in text
    assert "2026-01-02T03:04:05+00:00" in text
    assert "attacks evaluate --method identity" in text


def test_headings_descend_by_one_and_every_header_of_a_table_has_a_scope(page):
    found = outline(page(pictured()))
    assert found.levels[0] == 1
    assert all(b <= a + 1 for a, b in zip(found.levels, found.levels[1:], strict=False))
    assert found.unscoped == 0


def test_links_resolve_and_ids_are_unique(page):
    found = outline(page(pictured()))
    inner = [a[1:] for a in found.addresses if a.startswith("#")]
    assert len(inner) > 20
    assert set(inner) <= set(found.ids)
    assert len(set(found.ids)) == len(found.ids)


def test_failed_checks_stand_in_the_verdict(page):
    results = checked(methods=made_up().methods[1:])
    text = page(results)
    asked = sum(not check.informative for check in results.checks)
    assert f"1 of {asked} checks failed" in text
    assert text.index("identity was not evaluated") < text.index("What was released")
    bad, words = headline(results)
    assert bad
    assert "do not repeat a figure" in words


def test_rules_that_were_set_come_first(page):
    verdicts = (
        Verdict("public", "a", (Line("auc at most 0.6", "fail", "it is `0.77`"),)),
        Verdict("public", "b", (Line("utility at least 0.8", "pass", "it is"),)),
        Verdict("public", "c", (Line("population of 1,000", "cannot be certified", "few"),)),
    )
    text = page(checked(), Beside(verdicts=verdicts))
    assert text.index("auc at most 0.6") < text.index("Method by method")
    assert "it is <code>0.77</code>" in text
    assert headline(checked(), verdicts)[1].startswith(
        "1 of 3 verdicts of the policy: fail. 1 of 3 verdicts: cannot be certified."
    )
    assert "The policy" not in page(checked())


def test_a_kept_rule_makes_no_good_news():
    kept = Verdict("public", "a", (Line("auc at most 0.6", "pass", "it is"),))
    assert headline(checked(), [kept])[0]


def test_populations_are_drawn_where_there_are_any(page):
    title = made_up().titles()[1]
    text = page(full())
    assert "In populations of other sizes" in text
    assert f"{title}; 100 people: 90.0% found" in text
    assert f"{title}; 10,000 people: 40.0% found, extrapolated" in text
    assert "In populations of other sizes" not in page(checked())


def test_nothing_is_loaded_from_elsewhere(page):
    text = page(pictured())
    addresses = outline(text).addresses
    assert all(a.startswith(("data:image/png;base64,", "#")) for a in addresses)
    assert not re.search(r"https?://|@import|url\(|<link", text)
    assert "default-src 'none'" in text
    assert text.count("<script") == 1


def test_one_with_people_is_private_and_its_public_variant_shows_none(page, tmp_path):
    text = page(pictured())
    assert "Not for the public" in text
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) == 0o600
    (tmp_path / "report.html").unlink()
    text = page(pictured(), public=True)
    assert "data:image" not in text
    assert "Not for the public" not in text
    assert "attacks evaluate --method" not in text  # it names folders
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) & 0o044


def test_drawn_images_are_called_drawn_and_are_of_nobody(page):
    drawn = altered(full(), source=Source(name="phantom", images=9, patients=3))
    assert not is_private(pictured(drawn))
    assert "are drawn, not taken of people" in page(pictured(drawn))
    assert "data:image" in page(pictured(drawn), public=True)
    other = checked(source=Source(name="covid19", images=455, patients=270))
    assert "are drawn" not in page(other)


def test_what_was_not_released_is_said(page):
    assert "not released</text>" in page(pictured())


def test_a_picture_is_there_once(page):
    text = page(pictured())
    assert len(set(re.findall(r"data:image/png;base64,[^\"]+", text))) == text.count("data:image")


def test_what_comes_from_outside_is_escaped(page):
    source = Source(name="<script>alert(1)</script>", images=1, patients=1)
    evil = method("<b>evil</b>", {"mu": "<i>"}, 0.8, 0.7, 0.8, 0.8)
    text = page(checked(source=source, methods=(evil,), command="attacks --root '<u>'"))
    assert not re.search(r"<(script>alert|b>evil|i>|u>)", text)
    assert "&lt;script&gt;" in text
    assert "&lt;b&gt;evil&lt;/b&gt;" in text


def test_a_finding_is_no_reason_for_mistrust(page):
    flat = method("dp-pix", {"b": 8, "epsilon": 0.1}, 0.6, 0.55, 0.84, 0.84, ssim=0.4)
    results = checked(methods=(*made_up().methods[:3], flat))
    text = page(results)
    asked = sum(not check.informative for check in results.checks)
    assert "does not hold" in text
    assert f"All {asked} " in text


def test_almost_empty_results(page):
    text = page(made_up(methods=(Method(name="identity"),), command=""))
    assert outline(text).headings == [
        "Verdict",
        "What was released, and how",
        "Threat model, in plain words",
        "All figures",
        "Checks",
        "How the figures were measured",
        "Provenance",
        "Signature",
    ]
    assert "No release was attacked" in text
    assert "not recorded" in text


def test_the_summary_names_the_strongest_attacker_and_the_real_images():
    found = {one.title: one for one in summary(made_up())}
    assert "real images" not in found
    one = found["dp-pix b=8, ε=0.1"]
    words = " ".join(one.sentences)
    assert (one.outcome, one.right) == (FOUND, 77)
    assert "strongest attacker (verification) picks the right one in 77 of 100" in words
    assert "on the real images it is 90; guessing gives 50" in words
    assert "names 39% of the patients" in words
    assert "mean AUC of 0.695 (real images: 0.846)" in words
    assert "reaches 0.804" in words
    assert "includes guessing" not in words


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "0%"), (0.001, "less than 1%"), (0.25, "25%"), (0.999, "more than 99%"), (1.0, "100%")],
)
def test_a_few_are_not_nobody(share, said):
    first, second, *_ = made_up().methods
    name, attack = second.strongest
    second = altered(second, privacy={name: altered(attack, r_s=share)})
    (one,) = summary(made_up(methods=(first, second)))
    assert f"it names {said} of the patients" in " ".join(one.sentences)


def test_the_summary_speaks_of_people_who_are_alike():
    found = {one.title: " ".join(one.sentences) for one in summary(matched(made_up()))}
    words = found["dp-pix b=8, ε=0.1"]
    assert "two patients who are alike in what the images show" in words
    assert "picks the right one in 67 of 100 cases; on the real images it is 80" in words
    assert "Where the two patients may be any: 77 of 100" in words


@pytest.mark.parametrize(
    ("auc", "half", "outcome", "said"),
    [
        (0.51, 0.03, OPEN, "found nothing. A stronger one may"),
        (0.7, 0.25, FEW, "from guessing to 95: too few patients"),
        (0.56, 0.03, FOUND, "picks the right one in 56"),
        (0.4, 0.03, MISLED, "picks the right one in 40"),
    ],
)
def test_no_outcome_is_praise(auc, half, outcome, said):
    lone = Method(name="dp-pix", privacy={"a": attack(auc, half=half)})
    results = made_up(methods=(lone,))
    (one,) = summary(results)
    assert one.outcome == outcome
    assert said in " ".join(one.sentences)
    assert ("too few patients" in headline(results)[1]) == (outcome == FEW)
    assert ("found nobody for sure" in headline(results)[1]) == (outcome != FOUND)


@pytest.mark.parametrize("change", [lambda r: r, matched, first_version])
def test_the_report_says_which_reading_it_is(page, change):
    results = change(checked())
    assert page(results).count(str(escape(explained(results)))) == 2


def test_unreadable_utility_is_said(page):
    one = method("dp-pix", {"b": 8}, 0.8, 0.7, 0.8, 0.8)
    unread = altered(one, utility={"readable": False})
    text = page(made_up(methods=(made_up().methods[0], unread)))
    assert "Do not read them" in text
    assert ">readable</th>" in text


def test_the_same_results_give_the_same_report(page):
    assert page(pictured()) == page(pictured())


def test_commands_in_a_message_are_code_and_nothing_else_is(page):
    check = Check(name="a", passed=False, message="Run `attacks check <b>` & `look`; a ` alone.")
    text = page(altered(made_up(), checks=(check,)))
    shown = "Run <code>attacks check &lt;b&gt;</code> &amp; <code>look</code>; a ` alone."
    assert shown in text
