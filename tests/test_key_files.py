"""Secrets in files."""

import os

import pytest

from anonymize.errors import UsageError
from anonymize.key_files import SECRET_BYTES, key_id, read_secret, without_key_files

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
