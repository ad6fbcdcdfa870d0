"""What is seen of a release's own files."""

import numpy as np
import pytest
from asked import ask
from PIL import Image

from anonymize.cli import main
from anonymize.errors import UsageError
from attacks.evaluation.policies.release_seen import ReleaseSeen


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seen")
    (folder / "in").mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (48, 48), np.uint8)
    Image.fromarray(pixels).save(folder / "in" / "one.png")
    method = ("--model", "random-warp:mu=0.01", "--text", "keep", "--workers", "1")
    ask(main, "apply", folder / "in", folder / "out", *method, "--device", "cpu")
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
