"""The public tables of a set release: one form, and nothing else fits."""

import hashlib
import json
import shutil

import pytest
from release_specimens import rows, table_of
from set_specimens import Case

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
    "a share above 1": lambda t: t.update(groups_of_one_label_set=1.5),
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
