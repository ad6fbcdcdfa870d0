"""Killed between the phases or while it publishes: the same call ends as if undisturbed."""

import pytest
import set_killing
from killing import printed
from release_specimens import fill, png, tree
from set_specimens import BENT, SPECS, Case, folder, gray

from anonymize.errors import UsageError
from anonymize.release import verify

BEFORE = ("reading", "all-read", "mixed", "settling", "settled")  # any output


RELEASES = (
    pytest.param((SPECS[0], 8), id="means"),
    pytest.param((BENT, 24), id="mosaics", marks=pytest.mark.whole),
)


@pytest.fixture(scope="module", params=RELEASES)
def killed(request, tmp_path_factory):
    """A case whose releases were killed, and the tree of one that was not."""
    spec, people = request.param
    case = Case(tmp_path_factory.mktemp("killed"), spec, folder(people)).begin()
    points = [*set_killing.POINTS, "settled+", "publishing+"]
    done = printed(set_killing, str(case.base), spec, str(people), *points)
    assert done.split() == points
    case.apply("undisturbed")
    return case, tree(case.base / "undisturbed")


def named(folder):
    """What has a name under OUT."""
    return {name: data for name, data in tree(folder).items() if ".anonymize-" not in name}


@pytest.mark.parametrize("point", set_killing.POINTS)
def test_killed_anywhere_it_goes_on(killed, point):
    case, whole = killed
    there = named(case.base / point)
    assert there.items() <= whole.items()
    assert not there if point in BEFORE else point == "journalled" or there
    private = case.base / f"{point}-private"
    if (private / "spool").exists():
        assert {p.stat().st_mode & 0o777 for p in (private / "spool").iterdir()} == {0o600}
    summary = case.apply(point)
    assert summary.anonymized + summary.already_done == len(case.files)
    assert tree(case.base / point) == whole
    assert not (private / "spool").exists()
    assert verify.verify(case.base / point).sound


def test_before_the_first_output_inputs_may_change_and_not_afterwards(killed):
    case, whole = killed
    fill(case.source, {"more.png": png(gray(99), 8, 0)})
    try:
        with pytest.raises(UsageError, match="second release of the same people"):
            case.apply("publishing+")
        assert named(case.base / "publishing+").items() <= whole.items()
        assert case.apply("settled+").inputs == len(case.files) + 1
        assert verify.verify(case.base / "settled+").sound
    finally:
        (case.source / "more.png").unlink()
