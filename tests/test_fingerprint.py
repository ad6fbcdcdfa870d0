"""What changes a fingerprint: every value, every option without a mark, every source."""

import functools
import importlib
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from anonymize import fingerprint as module
from anonymize.configuration import train_options
from anonymize.fingerprint import closure, fingerprint, sources
from anonymize.options import TrainOptions
from anonymize.section import Options

UNLIKE = (
    *(None, True, False, 0, 1, 0.5, "1", "", b"", b"1", (), [1], ["1"], [[1]], {}, {"a": 1}),
    *({"a": "1"}, {"b": 1}, {1}, np.zeros(2), np.zeros(2, np.int64), np.zeros((1, 2)), np.ones(2)),
    *(torch.zeros(2), torch.zeros(2, 1), torch.zeros(2, dtype=torch.uint8), Path("nowhere")),
)


def test_no_two_values_are_alike():
    assert len({fingerprint(value) for value in UNLIKE}) == len(UNLIKE)
    assert fingerprint("a", "bc") != fingerprint("ab", "c")
    assert fingerprint(["a"], "b") != fingerprint(["a", "b"])


def test_equal_values_are_alike():
    assert fingerprint((1, 2)) == fingerprint([1, 2])
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint(1) == fingerprint(1.0)
    turned = np.arange(6).reshape(2, 3).T
    assert fingerprint(turned) == fingerprint(np.ascontiguousarray(turned))


def test_a_path_means_what_lies_there(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_bytes(b"1")
    one, other = tmp_path / "one", tmp_path / "other"
    assert fingerprint(one) == fingerprint(other)
    (other / "weights").write_bytes(b"2")
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one / "weights") != fingerprint(other / "weights")


def test_what_has_no_lasting_text_is_refused():
    with pytest.raises(TypeError, match="no fingerprint of a object"):
        fingerprint({"a": object()})


# Options

NOTHING = {
    *("threads", "samples", "data.root", "data.cache", "data.workers"),
    "adversarial.course.pairs",
    *("evaluation.repeats", "evaluation.utility", "evaluation.utility_repeats"),
}
GAME = ("generator", "reconstruction", "adversarial")
READ = {f"evaluation.{name}" for name in ("resamplings", "utility_margin", "false_match_rate")}


def leaves(options, prefix=""):
    for name in type(options).model_fields:
        value = getattr(options, name)
        if isinstance(value, Options):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def changed(options, leaf):
    name, dot, below = leaf.partition(".")
    value = changed(getattr(options, name), below) if dot else "something else"
    return options.model_copy(update={name: value})


@pytest.mark.parametrize("method", ["prichexy-net", "privacy-net"])
def test_every_option_changes_the_fingerprint_or_says_that_it_changes_nothing(method):
    options = train_options(method)()
    found = list(leaves(options))
    assert len(found) > 80
    assert set(found) >= NOTHING
    before = fingerprint(options)
    for leaf in found:
        assert (fingerprint(changed(options, leaf)) == before) == (leaf in NOTHING), leaf


@pytest.mark.parametrize("method", ["prichexy-net", "privacy-net"])
def test_options_are_the_same_in_another_process(method):
    """Or its results are not found, and are made again."""
    options = train_options(method)()
    assert fingerprint(pickle.loads(pickle.dumps(options))) == fingerprint(options)


def test_what_is_made_without_an_option_does_not_depend_on_it():
    options = TrainOptions()
    for leaf in set(leaves(options)) - NOTHING:
        other, section = changed(options, leaf), leaf.partition(".")[0]
        differs = {
            product: fingerprint(other.that_matter(product))
            != fingerprint(options.that_matter(product))
            for product in ("reference", "model", "scores", "figures")
        }
        listed = leaf in ("data.test_pairs", "data.test_list")
        measured = section == "evaluation" or listed
        assert differs == {
            "reference": section not in GAME and not measured,
            "model": not measured,
            "scores": section not in GAME and not listed and leaf not in READ,
            "figures": section not in GAME,
        }, leaf


def test_a_list_of_pairs_counts_by_its_lines(tmp_path):
    listed = tmp_path / "pairs.txt"

    def now():
        return fingerprint(TrainOptions(data={"pair_list": listed}))

    listed.write_text("a\tb\t1.0\n")
    before = now()
    listed.write_text("a\tb\t0.0\n")
    assert now() != before


# Sources


def forget():
    """What was read of modules."""
    for read in (module._file, module._module, module._closure):
        read.cache_clear()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function that writes files of a package of somebody else's."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name, text):
        path = tmp_path / "foreign_package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        forget()
        importlib.invalidate_caches()

    write("__init__.py", "")
    write("attacker.py", ATTACKER)
    for name in ("near", "late", "beside", "idle"):
        write(f"{name}.py", "VALUE = 1\n")
    write("deep/__init__.py", "from ..beside import VALUE\n")
    yield write
    for name in [n for n in sys.modules if n.startswith("foreign_package")]:
        del sys.modules[name]
    forget()


ATTACKER = """
'''What it does.'''
import numpy as np
import foreign_package.near
from attacks.measuring import metrics

class Attacker:
    def score(self, probes, gallery):
        '''Scores.'''
        from .late import VALUE
        from foreign_package import deep
        return VALUE  # a number
"""


def test_the_closure_holds_imports_inside_functions_and_relative_ones(package):
    own, others = closure("foreign_package.attacker")
    theirs = {name for name in own if name.startswith("foreign_package")}
    assert theirs == {
        *("foreign_package", "foreign_package.attacker", "foreign_package.near"),
        *("foreign_package.late", "foreign_package.deep", "foreign_package.beside"),
    }
    assert "attacks.measuring.metrics" in own
    assert "numpy" in others
    assert not others & set(sys.stdlib_module_names)


@pytest.mark.parametrize("name", ["attacker", "near", "late", "beside", "deep/__init__"])
def test_a_change_of_what_a_foreign_class_uses_is_seen(package, name):
    from foreign_package.attacker import Attacker

    before = sources(Attacker)
    package(f"{name}.py", f"{ATTACKER if name == 'attacker' else ''}\nVALUE = 2\n")
    assert sources(Attacker) != before


def test_what_it_does_not_use_and_what_is_said_of_it_are_not_seen(package):
    before = sources("foreign_package.attacker")
    package("idle.py", "VALUE = 2\n")
    package("attacker.py", ATTACKER.replace("What it does", "What").replace("a number", "one"))
    assert sources("foreign_package.attacker") == before


def test_what_is_for_type_checkers_alone_is_not_followed(package):
    package(
        "typed.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import near\n"
    )
    assert "foreign_package.near" not in closure("foreign_package.typed")[0]
    either = "if TYPE_CHECKING:\n    from . import near\nelse:\n    from . import late\n"
    package("typed.py", f"from typing import TYPE_CHECKING\n{either}")
    assert "foreign_package.late" in closure("foreign_package.typed")[0]


def test_what_is_left_out_by_name_is_not_followed(package):
    given = "foreign_package.attacker", "foreign_package.deep"
    assert "foreign_package.beside" not in closure(given[0], without=given[1:])[0]
    before = sources(given[0], without=given[1:])
    package("beside.py", "VALUE = 2\n")
    assert sources(given[0], without=given[1:]) == before
    package("near.py", "VALUE = 2\n")
    assert sources(given[0], without=given[1:]) != before


@pytest.mark.parametrize("options", [{}, {"libraries": False}])
def test_another_version_of_a_library_is_another_program_unless_none_counts(monkeypatch, options):
    before = sources("attacks.measuring.metrics", **options)
    original = module._version
    monkeypatch.setattr(module, "_version", lambda name: f"{original(name)}.1")
    assert (sources("attacks.measuring.metrics", **options) == before) is bool(options)


def test_roots_may_be_modules_names_classes_and_functions():
    one = sources("anonymize.section")
    assert one == sources(importlib.import_module("anonymize.section")) == sources(Options)
    assert sources(functools.partial(Options.that_matter)) == one
