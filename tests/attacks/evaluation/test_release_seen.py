"""What is seen of a release's own files."""

import pytest
from release_specimens import KINDS, command, fill

from anonymize.errors import UsageError
from attacks.evaluation.policies.release_seen import ReleaseSeen


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seen")
    fill(folder / "in", {"one.png": KINDS["gray8.png"]})
    asked = (folder / "in", folder / "out", "--text", "keep", "--workers", "1")
    command(*asked, model="random-warp:mu=0.02", code=0)
    return folder / "out"


def test_a_sound_release_then_a_changed_one(release):
    seen = ReleaseSeen.of(release)
    assert seen.sound
    assert (seen.files, seen.method, seen.searched) == (1, "random-warp", 0)
    assert seen.min_jacobian is not None
    with (release / "one.png").open("ab") as file:
        file.write(b"x")
    changed = ReleaseSeen.of(release)
    assert not changed.sound
    assert changed.findings == {"changed": 1}
    assert "1 × changed" in changed.in_words()


def test_no_release(tmp_path):
    with pytest.raises(UsageError, match=r"manifest\.csv"):
        ReleaseSeen.of(tmp_path)
