"""YAML of strangers."""

import pytest
import yaml

from anonymize import yaml_text
from anonymize.configuration import load_options, parse_setting
from anonymize.errors import UsageError

LEVELS = range(1, 12)
ALIASES = "a0: &a0 [1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in LEVELS
)
MERGED = "a0: &a0 {k: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in LEVELS
)
HOSTILE = {
    "aliases of aliases": ALIASES,
    "merged again and again": MERGED,
    "itself": "a: &a [*a]",
    "nested without end": "a: " + "[" * 5000,
    "a 13th month": "a: 2026-13-01",
    "an endless number": "a: " + "9" * 5000,
    "no number": "a: 0b_",
    "an object": "a: !!python/object/apply:os.system [true]",
    "no YAML": "a: [",
    "two": "a: 1\n---\nb: 2",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_cannot_be_values_is_refused(text, tmp_path):
    with pytest.raises(yaml.YAMLError):
        yaml_text.read(text)
    config = tmp_path / "options.yaml"
    config.write_text(text)
    with pytest.raises(UsageError, match="is not YAML"):
        load_options(config)
    with pytest.raises(UsageError, match="is not YAML"):
        parse_setting(f"data.size={text.removeprefix('a: ')}")


def test_values_are_those_of_yaml():
    text = "a: &a {b: [1, 2.5, yes], c: null}\nd: {<<: *a, e: 2026-01-31}\nf: *a"
    assert yaml_text.read(text) == yaml.safe_load(text)
    assert yaml_text.read("") is None
