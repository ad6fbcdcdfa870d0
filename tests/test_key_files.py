"""Secrets in files."""

import base64
import errno
import io
import os
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from anonymize.errors import UsageError
from anonymize.key_files import SECRET_BYTES, key_id, made_secret, read_secret, without_key_files

SECRET = bytes(range(SECRET_BYTES))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(SECRET)
    path.chmod(0o600)
    return path


def test_the_whole_file_is_the_secret(file):
    assert read_secret(file, "--key", private=True) == SECRET
    file.write_bytes(SECRET + b"\n")
    assert read_secret(file, "--key", private=True) == SECRET + b"\n"


def test_none_where_there_is_no_file(tmp_path):
    assert read_secret(tmp_path / "no", "--key", private=True) is None
    assert not (tmp_path / "no").exists()


def failing(number):
    return Mock(side_effect=OSError(number, os.strerror(number)))


@pytest.mark.parametrize("name", ["fdopen", "fsync"])
def test_a_secret_is_made_whole_or_not_at_all(tmp_path, monkeypatch, name):
    path = tmp_path / "key"
    with monkeypatch.context() as patch:
        patch.setattr(os, name, failing(errno.ENOSPC))
        with pytest.raises(OSError, match="No space left"):
            made_secret(path, "--key")
    assert not list(tmp_path.iterdir())
    secret = made_secret(path, "--key")
    assert read_secret(path, "--key", private=True) == secret
    assert [*tmp_path.iterdir()] == [path]


def test_of_two_who_make_a_secret_both_have_the_first(tmp_path, monkeypatch):
    path, link = tmp_path / "key", os.link
    first = []

    def beaten(source, target):
        with monkeypatch.context() as patch:
            patch.setattr(os, "link", link)
            first.append(made_secret(path, "--key"))
        link(source, target)

    monkeypatch.setattr(os, "link", beaten)
    assert [made_secret(path, "--key")] == first
    assert [*tmp_path.iterdir()] == [path]


def test_a_secret_is_made_where_there_are_no_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", failing(errno.EPERM))
    secret = made_secret(tmp_path / "key", "--key")
    assert made_secret(tmp_path / "key", "--key") == secret


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o604, 0o602, 0o666])
def test_others_may_neither_read_nor_write_a_private_file(file, mode):
    file.chmod(mode)
    with pytest.raises(UsageError, match="--key must be a file that nobody but you"):
        read_secret(file, "--key", private=True)
    assert read_secret(file, "--key", private=False) == SECRET


def test_permissions_are_those_of_the_file_behind_a_link(file, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(file)
    assert read_secret(link, "--key", private=True) == SECRET
    file.chmod(0o644)
    with pytest.raises(UsageError, match="nobody but you"):
        read_secret(link, "--key", private=True)


def test_what_is_no_key_is_refused(file, tmp_path):
    file.write_bytes(SECRET[:-1])
    with pytest.raises(UsageError, match="--key must hold at least 32 bytes, got 31"):
        read_secret(file, "--key", private=True)
    with pytest.raises(UsageError, match="--key cannot be read"):
        read_secret(tmp_path, "--key", private=True)
    os.mkfifo(tmp_path / "fifo", 0o600)
    with pytest.raises(UsageError, match="regular file"):
        read_secret(tmp_path / "fifo", "--key", private=True)


def written(name):
    """What users rightly have, and what they have by mistake."""
    shown = io.BytesIO()
    image = Image.fromarray(np.arange(400, dtype=np.uint8).reshape(20, 20) % 251)
    image.save(shown, "JPEG" if name == "JPEG" else name)
    return shown.getvalue()


RIGHTLY = [
    *(os.urandom(SECRET_BYTES) for _ in range(20)),
    *(start + bytes(range(30)) for start in (b"BM", b"PK", b"\x1f\x8b")),  # random, by chance
    os.urandom(SECRET_BYTES).hex().encode() + b"\n",
    base64.b64encode(os.urandom(SECRET_BYTES)) + b"\n",
    b"correct horse battery staple, and some more\n",
    os.urandom(4096),
]


def test_what_users_rightly_have_is_a_key(file):
    for secret in RIGHTLY:
        file.write_bytes(secret)
        assert read_secret(file, "--key", private=True) == secret


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        *((written(name), "a picture, document") for name in ("PNG", "JPEG", "TIFF", "GIF", "BMP")),
        (bytes(128) + b"DICM" + bytes(range(200)), "a picture, document"),
        (b"%PDF-1.7 " + bytes(range(200)), "a picture, document"),
        (b"PK\x03\x04" + bytes(range(200)), "a picture, document"),
        (b"<?xml version='1.0'?><svg/>" + bytes(range(200)), "a picture, document"),
        (os.urandom(4097), "larger than 4,096 bytes"),
        (bytes(SECRET_BYTES), "fewer than 8 different bytes"),
        (b"password" * 8, "fewer than 8 different bytes"),
    ],
)
def test_what_others_have_or_guess_is_no_key(file, secret, why):
    file.write_bytes(secret)
    with pytest.raises(UsageError, match=f"--key must be a secret, and is .*{why}.*/dev/urandom"):
        read_secret(file, "--key", private=False)
    assert read_secret(file, "--token", private=True, least=1) == secret


def test_the_id_tells_keys_apart_and_nothing_else():
    ids = {key_id(bytes([n]) * SECRET_BYTES) for n in range(50)}
    assert len(ids) == 50
    assert all(len(i) == 16 and int(i, 16) >= 0 for i in ids)
    assert key_id(SECRET) == key_id(bytes(SECRET))


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("dp-pix:b=8,key_file=/home/me/my secret.key", "dp-pix:b=8,key_file=…"),
        ("dp-pix:key_file=k,b=8", "dp-pix:key_file=…,b=8"),
        ("--method=dp-pix: key_file = k,b=8", "--method=dp-pix: key_file =…,b=8"),
        ("dp-pix:b=8,seed=1", "dp-pix:b=8,seed=1"),
    ],
)
def test_a_command_is_shown_without_the_path(argument, shown):
    assert without_key_files(argument) == shown
