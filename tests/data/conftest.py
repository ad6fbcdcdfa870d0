"""A small folder of images, as a table."""

import pytest
from cache_trees import folder_table, make_folder


@pytest.fixture
def few(tmp_path):
    return folder_table(make_folder(tmp_path / "set", 9))
