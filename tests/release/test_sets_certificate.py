"""The public tables of a set release: one form, and nothing else fits."""

import hashlib
import json
import shutil

import pytest
from release_specimens import rows, table_of
from set_specimens import Case

from anonymize.errors import UsageError
from anonymize.release import verify
from anonymize.release.sets import certificate, page


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


def changed(out, change):
    """The certificate changed, and the page that belongs to it written anew, if it can be."""
    told = json.loads((out / "certificate.json").read_bytes())
    change(told)
    (out / "certificate.json").write_text(json.dumps(told, indent=2) + "\n")
    try:
        found = certificate.read((out / "certificate.json").read_bytes())
        (out / "certificate.md").write_bytes(page.written(found))
    except ValueError:
        pass


CHANGES = {
    "a patient": lambda t: t.update(patient="Zlatarov^Anna"),
    "a word in an option": lambda t: t["options"].update(by="Zlatarov Anna"),
    "a key among the options": lambda t: t["options"].update({"Zlatarov Anna": 1}),
    "a list in an option": lambda t: t["options"].update(k=[1]),
    "a promise": lambda t: t.update(not_promised=t["not_promised"][1:]),
    "a note": lambda t: t["not_promised"].append("Zlatarov Anna"),
    "a text for a number": lambda t: t.update(outputs=str(t["outputs"])),
    "a key that is missing": lambda t: t.pop("groups"),
    "more people": lambda t: t.update(people_per_output_min=9),
    "more groups that are alike": lambda t: t["in_common"].update(groups_alike=3),
    "more outputs that are alike": lambda t: t["in_common"].update(outputs_alike=99),
    "groups that are alike, of outputs that are not": lambda t: t["in_common"].update(
        outputs_alike=0, outputs_where_all_have_a_finding=0, most_often=None
    ),
    "more who have it than are alike": lambda t: t["in_common"].update(
        groups_alike=0, different_answers_min=2
    ),
    "a finding that nobody shares": lambda t: t["in_common"].update(
        groups_where_all_have_a_finding=0, outputs_where_all_have_a_finding=0
    ),
    "nothing in common": lambda t: t.update(in_common=None),
    "half a count": lambda t: t["in_common"].update(groups_alike=1.5),
    "a note on findings": lambda t: t["in_common"].update(note="Zlatarov"),
    "another version": lambda t: t.update(certificate=1),
    "no version yet": lambda t: t.update(certificate=4),
    "a bound and a reason for none": lambda t: t.update(no_bound=certificate.NO_BOUND),
    "neither a bound nor a reason": lambda t: t.update(guess_at_most=None),
    "keys of an older version": lambda t: t.update(groups_of_one_label_set=0.5),
    "more inputs": lambda t: t.update(inputs=t["inputs"] + 1),
    "more inputs, refused": lambda t: t.update(inputs=14, quarantined=t["quarantined"] + 2),
    "other outputs": lambda t: t.update(outputs=t["outputs"] + 1),
    "another method": lambda t: t.update(method="mosaic"),
    "another label": lambda t: t.update(labels=["Zlatarov"]),
    "a label twice": lambda t: t.update(labels=["Pneumonia", "Pneumonia"]),
    "a formula": lambda t: t.update(labels=["=cmd"]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_certificate_is_found(out, change):
    changed(out, change)
    assert not verify.verify(out).sound


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
