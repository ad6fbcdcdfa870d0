"""The public tables of a set release: one form, and nothing else fits."""

import hashlib
import json
import shutil

import pytest
from release_specimens import rows, table_of
from set_specimens import Case

from anonymize.errors import UsageError
from anonymize.release import verify


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    case = Case(tmp_path_factory.mktemp("sets")).begin()
    case.apply()
    assert verify.verify(case.base / "out").sound
    return case.base / "out"


@pytest.fixture
def out(made, tmp_path):
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def test_a_release_with_a_certificate_of_another_version_is_refused_in_one_line(tmp_path):
    case = Case(tmp_path).begin()
    case.apply()
    file, kept = tmp_path / "out" / "certificate.json", tmp_path / "out-private" / "set.json"
    before = file.read_bytes()
    file.write_bytes(before.replace(b'"certificate": 3', b'"certificate": 2'))
    state = kept.read_text()
    digests = (hashlib.sha256(data).hexdigest() for data in (before, file.read_bytes()))
    kept.write_text(state.replace(*digests))
    assert kept.read_text() != state
    with pytest.raises(UsageError, match="is of another version; choose another OUT") as error:
        case.apply()
    assert "\n" not in str(error.value)


def test_where_no_bound_is_promised_json_and_page_say_so_and_why(tmp_path):
    case = Case(tmp_path, "mosaic:g=2,m=2").begin()
    case.apply()
    out = case.base / "out"
    assert verify.verify(out).sound
    told = json.loads((out / "certificate.json").read_bytes())
    assert told["guess_at_most"] is None
    assert told["no_bound"].startswith("No bound on P@1")
    assert "patches are the person's own pixels" in told["no_bound"]
    said = (out / "certificate.md").read_text()
    assert f"- {told['no_bound']}\n" in said[said.index("## What is not promised") :]
    assert "right at most | no bound is promised |" in said
    changes = {"none": {"no_bound": None}, "a note": {"no_bound": "Zlatarov Anna"}}
    older = {key: value for key, value in told.items() if key != "no_bound"}
    for content in (*(told | change for change in changes.values()), older):
        (out / "certificate.json").write_text(json.dumps(content, indent=2) + "\n")
        assert not verify.verify(out).sound


def test_a_bound_needs_no_reason(out):
    told = json.loads((out / "certificate.json").read_bytes())
    assert told["no_bound"] is None
    assert "No bound on P@1" not in (out / "certificate.md").read_text()


@pytest.mark.parametrize("name", ["certificate.json", "certificate.md", "labels.csv"])
def test_every_byte_and_file_counts(out, name):
    data = (out / name).read_bytes()
    for other in (data + b" ", data + b"\n", b"", data[:-1], b"\xff" + data):
        (out / name).write_bytes(other)
        assert not verify.verify(out).sound, other[-20:]
    (out / name).unlink()
    assert not verify.verify(out).sound


@pytest.mark.parametrize("value", ["1.5", "-0.1", "nan", "0.50", "Zlatarov", "1e-1"])
def test_a_mean_is_a_mean(out, value):
    table = rows((out / "labels.csv").read_bytes())
    table[0]["Pneumonia"] = value
    (out / "labels.csv").write_bytes(table_of(table))
    report = verify.verify(out)
    assert [(f.flaw.value, f.table, f.row) for f in report.findings] == [
        ("manifest", "labels.csv", 1)
    ]


def test_an_output_more_is_found(out):
    table = rows((out / "manifest.csv").read_bytes())
    data = (out / table[0]["output"]).read_bytes()
    (out / "z.png").write_bytes(data)
    table.append({**table[0], "output": "z.png", "sha256": hashlib.sha256(data).hexdigest()})
    (out / "manifest.csv").write_bytes(table_of(table))
    assert "manifest" in verify.verify(out).counts


def test_no_certificate_makes_tables_strangers(out):
    (out / "certificate.json").unlink()
    counts = verify.verify(out).counts
    assert counts["manifest"] == 1  # its counts do not add up
