"""What the committed table of speed says of its cases, and what each case writes of its origin."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
import reproduced
from click.testing import CliRunner
from matplotlib.figure import Figure

from tests.benchmarks import __main__ as bench
from tests.benchmarks import origin
from tests.benchmarks.speed import page, registry
from tests.benchmarks.speed.case import Case

SPEED = reproduced.RESULTS / "speed"
COMMITTED = json.loads((SPEED / "speed.json").read_text(encoding="utf-8"))
MADE = {
    "commit": "v1-2-gabc",
    "date": "2027-01-02",
    "versions": {"Pillow": "1", "imagecodecs": "2"},
}


def case(name, **more):
    return {"name": name, "unit": "images", "amount": 6, "rounds": 3, "seconds": 2.0, **more}


def grown(name, **more):
    steps = [{"times": t, "seconds": 1.0 * t, **more} for t in registry.TIMES]
    return case(name, growth=steps)


def told(*cases, known=()):
    return page.table({"machine": {"CPU": "x"}, "cases": cases}, {c.name: c for c in known})


def test_every_case_is_measured_or_listed_as_not_measured():
    done = {case["name"] for case in COMMITTED["cases"]}
    text = (reproduced.ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(page.NOT_MEASURED)]
    listed = [n for line in lines for n in line[len(page.NOT_MEASURED) : -1].split("; ")]
    assert sorted([*done, *listed]) == sorted(registry.CASES)


def test_the_committed_table_is_that_of_the_committed_figures():
    wanted = page.table(COMMITTED, registry.CASES)
    assert (SPEED / "speed.md").read_text(encoding="utf-8") == wanted
    assert "retrieval, all figures" in wanted
    (row,) = [line for line in wanted.splitlines() if "100,000 × 100,000" in line]
    assert row.startswith("| retrieval, all figures |")


def test_how_long_one_call_takes_is_told_in_seconds():
    text = told(case("a", amount=1, seconds=0.7), case("b"), case("c", plain_seconds=1.0, ratio=2))
    cells = [line.split(" | ")[2:4] for line in text.splitlines()[2:5]]
    assert cells == [["in 0.7 s", "–"], ["3", "–"], ["3", "6"]]


def test_where_a_release_is_as_fast_as_was_aimed_at_is_as_the_page_says():
    for one in COMMITTED["cases"]:
        name = one["name"]
        if name.startswith("apply") and "paper" not in name:
            expected = "workers 1" in name or ", OCR" in name
            assert (one["ratio"] >= 0.85) == expected, name


def test_memory_of_cases_that_do_not_say_their_commit_was_withdrawn():
    for one in COMMITTED["cases"]:
        steps = [one, *one.get("growth", ())]
        assert "made" in one or not any("mebibytes" in step for step in steps)


def test_memory_stands_where_it_was_measured():
    text = told(case("a", mebibytes=[7.4]), case("b"), grown("c"), grown("d", mebibytes=5.0))
    cells = {line.split(" | ")[0]: line for line in text.splitlines()}
    assert cells["| a"].endswith("| 7 MiB |")
    assert cells["| b"].endswith("| – |")
    assert cells["| c"].endswith("| 1.00 s | 4.00 s | 16.00 s | 96 images |")
    assert cells["| d"].endswith("| 16.00 s, 5 MiB | 96 images |")


def test_the_table_says_what_is_not_measured_and_of_which_commits_rows_are():
    known = [Case(name, "images", 1, lambda times: list) for name in "abc"]
    text = told(case("a", made=MADE), case("b"), known=known)
    assert f"{page.NOT_MEASURED}c.\n" in text
    assert "\n1 row: commit v1-2-gabc, 2027-01-02, Pillow 1, imagecodecs 2.\n" in text
    assert "\n1 row: commit, day and packages were not kept.\n" in text
    assert page.NOT_MEASURED not in told(case("a"))


@pytest.mark.parametrize(
    ("cases", "titles"),
    [
        ([grown("a"), grown("b")], ["time"]),
        ([grown("a"), grown("b", mebibytes=3.0)], ["time", "memory"]),
    ],
)
def test_a_panel_of_memory_is_drawn_where_there_is_some(tmp_path, monkeypatch, cases, titles):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *given, **more: drawn.append(self.axes))
    page.growth_picture({"cases": cases}, tmp_path / "growth.png")
    ((*panels,),) = drawn
    assert [axes.get_title(loc="left") for axes in panels] == titles
    assert [len(axes.lines) for axes in panels] == [3, 2][: len(titles)]  # and the proportion


def test_what_a_case_is_of_is_written_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "CASES", {"a": Case("a", "images", 6, lambda times: list)})
    monkeypatch.setattr(registry, "measured", lambda name, rounds, grow: case(name))
    said = CliRunner().invoke(bench.main, ["--out", str(tmp_path)])
    assert said.exit_code == 0, said.output
    assert {p.suffix for p in tmp_path.iterdir()} == {".json", ".md", ".png"}
    assert not (tmp_path / "growth.png").exists()  # nothing has grown yet
    (found,) = json.loads((tmp_path / "speed.json").read_text())["cases"]
    assert found["made"]["commit"]
    assert found["made"]["versions"]["Pillow"] == version("Pillow")
    assert found["made"]["date"][:2] == "20"


def test_where_there_is_no_checkout_no_commit_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(origin, "HERE", tmp_path)
    monkeypatch.setattr(origin, "PACKAGES", ("Pillow", "no-such-package"))
    found = origin.origin()
    assert (found["commit"], list(found["versions"])) == ("", ["Pillow"])


def test_what_is_committed_is_drawn_without_measuring(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "measured", None)
    said = CliRunner().invoke(bench.main, ["--out", str(tmp_path), "--draw"])
    assert (said.exit_code, "measure first" in said.output) == (2, True)
    kept = SPEED / "speed.json"
    (tmp_path / "speed.json").write_bytes(kept.read_bytes())
    said = CliRunner().invoke(bench.main, ["--out", str(tmp_path), "--draw"])
    assert said.exit_code == 0, said.output
    assert (tmp_path / "speed.md").read_bytes() == (SPEED / "speed.md").read_bytes()
    assert {p.name for p in tmp_path.glob("*.png")} == {"growth.png", "speed.png"}
    assert (tmp_path / "speed.json").read_bytes() == kept.read_bytes()


def test_the_projection_names_the_memory_of_the_million(monkeypatch):
    monkeypatch.syspath_prepend(str(reproduced.ROOT / "tests" / "benchmarks"))
    import bench_scale

    scale = reproduced.RESULTS / "scale"
    found = json.loads((scale / "scale.json").read_text(encoding="utf-8"))
    text = bench_scale.ten_million(found)
    assert (scale / "ten_million.md").read_text(encoding="utf-8") == text
    million = json.loads(Path(scale, "shards.json").read_text(encoding="utf-8"))
    shards = [one["memory_mib"] for one in million["shards"]]
    (row,) = [line for line in text.splitlines() if "memory" in line]
    figures = row.split(" | ")[1].removesuffix(" MiB |").split(" / ")
    wanted = [max(shards), million["merge"]["memory_mib"], million["verify"]["memory_mib"]]
    assert list(map(int, figures)) == wanted


def test_the_projection_takes_no_list_for_shorter_than_that_of_the_million():
    scale = reproduced.RESULTS / "scale"
    million = json.loads((scale / "shards.json").read_text(encoding="utf-8"))
    rows = [line.split(" | ") for line in (scale / "ten_million.md").read_text().splitlines()]
    found = {row[0][2:]: float(row[1].split()[0]) for row in rows if row[1].endswith("GB |")}
    for name, called in (("journal.jsonl", "journal"), ("manifest.csv", "manifest")):
        assert found[called] >= round(million[name] / million["files"] / 100, 1)
