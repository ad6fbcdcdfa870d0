"""The noise's stream: keyed, bound to the image, and never told."""

import hashlib
import json
import struct

import numpy as np
import pytest
import torch
from method_table import KEY, written
from scipy.stats import kstest, laplace

import anonymize
from anonymize.errors import UsageError
from anonymize.image_noise import ImageNoise

IMAGE = torch.rand(16, 24, generator=torch.manual_seed(0))
NOISE = ImageNoise(KEY, {"method": "a", "b": 2})


def test_the_stream_is_what_was_written_down():
    """Whoever changes it makes every keyed release unrepeatable."""
    pixels = struct.pack("<4f", 0.0, 0.25, 0.5, 1.0)
    parts = b"anonymize noise, version 1", KEY, b'{"b": 2, "method": "a"}', b"[2, 2]", pixels
    absorbed = b"".join(struct.pack(">Q", len(p)) + p for p in parts)
    expected = struct.unpack("<3Q", hashlib.shake_256(absorbed).digest(24))
    image = torch.tensor([[0.0, 0.25], [0.5, 1.0]])
    assert tuple(NOISE.words(image, 3)) == expected
    assert tuple(NOISE.words(image.double(), 2)) == expected[:2]
    assert tuple(NOISE.words(image * torch.tensor([[-1], [1]]), 3)) != expected


def test_minus_zero_is_zero():
    zero = torch.zeros(2, 2)
    assert np.array_equal(NOISE.words(-zero, 4), NOISE.words(zero, 4))


def other_images():
    changed = IMAGE.clone()
    changed[7, 3] = torch.nextafter(changed[7, 3], torch.tensor(2.0))
    return changed, IMAGE.view(24, 16), IMAGE.T, IMAGE.flip(0), IMAGE[:-1]


@pytest.mark.parametrize("number", range(5))
def test_another_image_has_other_noise(number):
    words = NOISE.words(IMAGE, 64)
    assert np.array_equal(words, NOISE.words(IMAGE.clone(), 64))
    assert not (words == NOISE.words(other_images()[number], 64)).any()


@pytest.mark.parametrize(
    "other",
    [
        ImageNoise(KEY[::-1], {"method": "a", "b": 2}),
        ImageNoise(KEY + b"\0", {"method": "a", "b": 2}),
        ImageNoise(KEY, {"method": "a", "b": 4}),
        ImageNoise(KEY, {"method": "c", "b": 2}),
    ],
)
def test_another_key_method_or_option_has_other_noise(other):
    assert not (NOISE.words(IMAGE, 64) == other.words(IMAGE, 64)).any()


def test_without_a_secret_it_is_new_for_each_object_and_lasts():
    one, other = anonymize.load("dp-pix:b=4"), anonymize.load("dp-pix:b=4")
    image = IMAGE[None, None]
    assert torch.equal(one(image), one(image))
    assert not torch.equal(one(image), other(image))
    assert torch.equal(one.keyed(KEY)(image), other.keyed(KEY)(image))


def test_a_key_of_its_own_stays():
    seeded = anonymize.load("dp-pix:b=4,seed=1")
    assert seeded.keyed(KEY) is seeded


def test_distributions():
    n = 200_000
    uniform = NOISE.uniform(IMAGE, (n,)).numpy()
    assert kstest(uniform, "uniform", (-1, 2)).pvalue > 0.01
    double = NOISE.laplace(IMAGE, (2, n // 2)).numpy()
    assert double.shape == (2, n // 2)
    assert kstest(double.ravel(), laplace.cdf).pvalue > 0.01
    bits = np.unpackbits(NOISE.words(IMAGE, n).view(np.uint8)).reshape(n, 64)
    assert abs(bits.mean(0) - 0.5).max() < 5 * 0.5 / n**0.5


def test_the_rarest_words_give_finite_noise():
    class Extreme(ImageNoise):
        def words(self, image, count):
            return np.array([0, 1, 2**64 - 1, 2**64 - 2], np.uint64)

    found = Extreme(KEY, {}).laplace(IMAGE, (4,))
    assert found.tolist() == [-53 * np.log(2), 53 * np.log(2), 0, 0]
    assert Extreme(KEY, {}).uniform(IMAGE, (4,)).abs().max() <= 1


def test_options_tell_neither_the_key_nor_where_it_is(tmp_path):
    file = written(tmp_path / "secret.key")
    model = anonymize.load(f"dp-pix:key_file={file}")
    other = anonymize.load(f"dp-pix:key_file={written(tmp_path / 'b', KEY[::-1])}")
    assert not model.noise_is_known
    assert len(model.options["key_id"]) == 16
    assert model.options != other.options
    assert not torch.equal(model(IMAGE[None, None]), other(IMAGE[None, None]))
    told = json.dumps(model.options)
    for secret in (str(tmp_path), "secret.key", KEY.hex(), hashlib.sha256(KEY).hexdigest()[:16]):
        assert secret not in told


def test_home_is_where_the_tilde_points(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    written(tmp_path / "secret.key")
    assert "key_id" in anonymize.load("dp-pix:key_file=~/secret.key").options


def test_key_files_that_are_not_safe_are_refused(tmp_path):
    def refused(file, message):
        with pytest.raises(UsageError, match=message) as error:
            anonymize.load(f"dp-pix:key_file={file}")
        assert str(tmp_path) not in str(error.value)
        assert "key_file of dp-pix" in str(error.value)

    refused(tmp_path / "none", "does not exist; make one: .umask 077; head -c 32 /dev/urandom")
    assert not (tmp_path / "none").exists()
    file = written(tmp_path / "open")
    file.chmod(0o640)
    refused(file, "nobody but you may read or write; chmod 600")
