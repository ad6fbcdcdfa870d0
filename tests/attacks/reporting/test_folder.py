"""The folder of an evaluation: which files it gets, with and without the paper's."""

import pytest
import torch
from changing import altered
from test_results import made_up

from attacks.evaluation.checks.checks import run_checks
from attacks.evaluation.evaluate import Evaluation
from attacks.reporting.folder import write_evaluation
from attacks.results import Method, Results, Source

ALWAYS = {
    *("results.json", "table.csv", "table.md", "attackers.md"),
    *("tradeoff.png", "tradeoff.svg", "tradeoff.pdf", "report.html", "report-public.html"),
}
PAPER = {"table1.md", "table1.csv", "figure2.png"}
PICTURES = {"examples.png", "pictures.npz"}
IMAGES = {"figure3.png", "differences.png"}


REAL = Source(name="covid19", images=455, patients=270)


def written(results, folder, images=None, published=False):
    checked = altered(results, checks=run_checks(results))
    names = write_evaluation(Evaluation(checked, images or {}), folder, published=published)
    assert sorted(names) == sorted(path.name for path in folder.iterdir())
    assert Results.read(folder / "results.json") == checked
    return set(names)


def pictures():
    return {title: torch.rand(1, 1, 16, 16) for title in made_up().titles()}


@pytest.mark.usefixtures("undrawn")
def test_without_the_paper(tmp_path):
    assert written(made_up(), tmp_path / "a" / "b", images=pictures()) == ALWAYS | PICTURES
    assert written(made_up(), tmp_path / "c") == ALWAYS


@pytest.mark.whole
def test_with_the_paper(tmp_path):
    found = written(made_up(source=REAL), tmp_path, images=pictures(), published=True)
    assert found == ALWAYS | PAPER | IMAGES | PICTURES
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Packhäuser et al., MICCAI 2023, Table 1" in page
    private = {path.name for path in tmp_path.iterdir() if not path.stat().st_mode & 0o077}
    assert private == IMAGES | PICTURES | {"report.html"}


FLOOR = {"training-free": made_up().real.privacy["training-free"]}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("methods", "missing"),
    [
        (made_up().methods, set()),
        ([altered(made_up().real, privacy=FLOOR)], {"figure2.png"}),
        ([Method(name="identity")], {"figure2.png"}),
    ],
)
def test_what_was_not_measured_is_not_drawn(tmp_path, methods, missing):
    found = written(made_up(methods=tuple(methods)), tmp_path, published=True)
    assert found == ALWAYS | PAPER - missing
