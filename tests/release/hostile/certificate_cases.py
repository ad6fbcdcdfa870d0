"""Certificates and metadata that somebody changed, with the pages and tables that follow."""

import json
import tempfile
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import set_specimens
from corpus import Case, apply, each, without_processes
from release_specimens import fill, png, scene, tree
from tampered import agreeing, passed

from anonymize.release.metadata import written
from anonymize.release.metadata.table import TableOptions
from anonymize.release.places import CERTIFICATE, PAGE
from anonymize.release.sets import certificate, page

# Certificates


@cache
def together(spec="mosaic:g=2,m=2"):
    """{path: bytes} of a release of a method that puts people together."""
    with tempfile.TemporaryDirectory() as name, without_processes():
        set_specimens.Case(Path(name), spec).begin().apply()
        return tree(Path(name, "out"))


means = partial(together, "k-same:k=3")


def told(folder, *, change):
    """A certificate of mosaics with other values, or one of means that ``change`` changed, and the
    page that belongs to it, where there can be one."""
    files = dict(means() if callable(change) else together())
    content = json.loads(files[CERTIFICATE])
    if callable(change):
        change(content)
    else:
        content |= change
    files[CERTIFICATE] = (json.dumps(content, indent=2) + "\n").encode()
    with suppress(ValueError):
        files[PAGE] = page.written(certificate.read(files[CERTIFICATE]))
    return passed(folder, files)


def common(**change):
    """What all people of mosaics have in common, changed; as it is there is nothing to find."""
    return {
        "in_common": {
            "groups_where_all_have_a_finding": 1,
            "outputs_where_all_have_a_finding": 2,
            "most_often": "Pneumonia",
            "groups_alike": 2,
            "outputs_alike": 4,
            "different_answers_min": 1,
            **change,
        }
    }


def within(**change):
    """A change of what people have in common."""
    return lambda told: told["in_common"].update(change)


CERTIFICATES = {
    "another size": {"size": 33},
    "another format": {"format": "dicom"},
    "one output more": {"outputs": 5},
    "fewer outputs": {"outputs": 3},
    "a date as a count of groups": common(groups_alike=19700302),
    "a name as a shared finding": common(most_often="Zlatarov"),
    "people who are alike, of different answers": common(different_answers_min=2),
    "a date as a bound": {"guess_at_most": 0.19700302},
    "digits in what is shown": {"largest_share_of_an_image": 0.47110812},
    "a third of a person": {"people_per_output_median": 4.3},
    "a text in an option": {"options": {"by": "Zlatarov Anna"}},
    "a key of digits": {"options": {"x19700302": 1}},
    "a note": {"note": "Zlatarov"},
    "a label that nobody sees": {"labels": ["Pneumonia\ufe01\ufe02"]},
    "a key among the options": lambda t: t["options"].update({"Zlatarov Anna": 1}),
    "a list in an option": lambda t: t["options"].update(k=[1]),
    "a promise less": lambda t: t.update(not_promised=t["not_promised"][1:]),
    "a note on what is not promised": lambda t: t["not_promised"].append("Zlatarov Anna"),
    "a text for a number": lambda t: t.update(outputs=str(t["outputs"])),
    "a key that is missing": lambda t: t.pop("groups"),
    "more people": lambda t: t.update(people_per_output_min=9),
    "more groups that are alike": within(groups_alike=3),
    "more outputs that are alike": within(outputs_alike=99),
    "groups that are alike, of outputs that are not": within(
        outputs_alike=0, outputs_where_all_have_a_finding=0, most_often=None
    ),
    "more who have it than are alike": within(groups_alike=0, different_answers_min=2),
    "a finding that nobody shares": within(
        groups_where_all_have_a_finding=0, outputs_where_all_have_a_finding=0
    ),
    "nothing in common": lambda t: t.update(in_common=None),
    "half a count": within(groups_alike=1.5),
    "a note on findings": within(note="Zlatarov"),
    "another version": lambda t: t.update(certificate=1),
    "no version yet": lambda t: t.update(certificate=4),
    "a bound and a reason for none": lambda t: t.update(no_bound=certificate.NO_BOUND),
    "neither a bound nor a reason": lambda t: t.update(guess_at_most=None),
    "keys of an older version": lambda t: t.update(groups_of_one_label_set=0.5),
    "more inputs": lambda t: t.update(inputs=t["inputs"] + 1),
    "more inputs, refused": lambda t: t.update(inputs=14, quarantined=t["quarantined"] + 2),
    "another method": lambda t: t.update(method="mosaic"),
    "another label": lambda t: t.update(labels=["Zlatarov"]),
    "a label twice": lambda t: t.update(labels=["Pneumonia", "Pneumonia"]),
    "a formula": lambda t: t.update(labels=["=cmd"]),
}

# Metadata

TABLE = b"""path,age,sex,view,labels,Edema,patient_id
0.png,93,F,AP,Effusion|Cardiomegaly,1,P1
1.png,12,F,PA,No Finding,0,P1
2.png,11,M,,,-1,P2
"""
COLUMNS = ("age", "sex", "view", "labels", "Edema", "patient_id")


@cache
def described():
    """{path: bytes} of a release with metadata."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder, {"t.csv": TABLE})
        table = TableOptions(folder / "t.csv", COLUMNS)
        files = {f"{n}.png": png(scene() // (n + 1), 8, 0) for n in range(3)}
        return apply(folder, files, names="keep", table=table).files


def metadata(folder, *, change):
    files = dict(described())
    data = change(files[written.PATH])
    assert data != files[written.PATH]
    return passed(folder, agreeing({**files, written.PATH: data}))


def put(old, new):
    return lambda data: data.replace(old.encode(), new.encode())


def pseudonym(make):
    """Another pseudonym of the first patient."""

    def change(data):
        old = data.splitlines()[1].rpartition(b",")[2]
        return data.replace(old, make(old))

    return change


METADATA = {
    "an age above 90": put(",90,", ",91,"),
    "zeros before an age": put(",12,", ",012,"),
    "an age with months": put(",12,", ",12.5,"),
    "a name as a finding": put("Edema", "Zlatarov"),
    "a date as a finding": put("Edema", "19700302"),
    "a finding that nobody sees whole": put("Edema", "Edema\ufe01\ufe02"),
    "a finding to another degree": put(",-1,", ",-2,"),
    "findings in another order": put("Cardiomegaly|Effusion", "Effusion|Cardiomegaly"),
    "a finding twice": put("Cardiomegaly|Effusion", "Effusion|Effusion"),
    "a name among the findings": put("No Finding", "Zlatarov Anna"),
    "a name as a pseudonym": pseudonym(lambda old: b"ZLATAROVANNA".ljust(len(old), b"A")),
    "a pseudonym in small letters": pseudonym(bytes.lower),
    "a name as a view": put(",AP,", ",Zlatarov,"),
    "a name as a sex": put(",F,", ",Anna,"),
    "quotes": put("Edema", '"Edema"'),
    "other ends of lines": put("\n", "\r\n"),
    "a row twice": lambda data: data + data.splitlines(keepends=True)[-1],
    "a blank": put(",AP,", ", AP,"),
}


def untouched(folder, *, make):
    """What nobody changed is sound, or the cases above say nothing."""
    assert common().items() <= json.loads(together()[CERTIFICATE]).items()
    return None if passed(folder, make()) else "a release that fails its own verify"


CASES = [
    *each("tampered certificate", told, CERTIFICATES, "change"),
    *each("tampered metadata", metadata, METADATA, "change"),
    Case("tampered certificate", "not at all", partial(untouched, make=together)),
    Case("tampered certificate", "not at all, of means", partial(untouched, make=means)),
    Case("tampered metadata", "not at all", partial(untouched, make=described)),
]
