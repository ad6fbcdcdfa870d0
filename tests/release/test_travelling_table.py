"""A table of findings and facts that travels with a release: what it may say, and that it stays
whole."""

import hashlib
from fractions import Fraction

import dicom_specimens as dicom
import pytest
from hypothesis import given
from hypothesis import strategies as st
from release_specimens import KINDS, Wave, checked, command, fill, png, rows, scene, table_of, tree
from review_killing import decide
from set_specimens import Case, chest

from anonymize.commands.apply_report import describe
from anonymize.errors import DataError, UsageError
from anonymize.release import pipeline, verify
from anonymize.release.dicom.pseudonyms import Pseudonyms
from anonymize.release.machines import merge
from anonymize.release.machines.shards import Shard
from anonymize.release.metadata import columns, written
from anonymize.release.metadata.columns import value, written_name
from anonymize.release.metadata.table import TableOptions
from anonymize.release.options import ReleaseOptions
from anonymize.release.uniform import Uniform

PICTURE = KINDS["gray8.png"]
FILES = {f"ward/{n}.png": png(scene() // (n + 1), 8, 0) for n in range(4)}
WANTED = "patient_id,Patient Age,sex,View Position,Finding Labels,Edema"
TABLE = f"""path,{WANTED},Name,born
ward/0.png,P1,093Y,F,AP Supine,Effusion|Cardiomegaly,1,Doe^Jane,19300101
1.png,P1,12.9,female,PA,No Finding,0,Doe^Jane,19300101
ward/2.png,P2,011M,M,,,-1,=cmd(),
ward/3.png,P3,12,M,PA,No Finding,,,
gone.png,P4,44,M,PA,No Finding,,,
"""
CELLS = {
    "ward/0.png": ["90", "F", "AP", "Cardiomegaly|Effusion", "1"],
    "ward/1.png": ["12", "F", "PA", "No Finding", "0"],
    "ward/2.png": ["0", "M", "", "", "-1"],
}


@pytest.fixture
def asked(tmp_path, key):
    """``asked(table)`` → the options of a release with it."""

    def options(table=TABLE, wanted=WANTED, **others):
        fill(tmp_path, {"table.csv": table.encode()})
        return {
            "table": TableOptions(tmp_path / "table.csv", tuple(wanted.split(","))),
            "names": "hashed",
            "key_file": key,
            **others,
        }

    return options


def told(files):
    return rows(files[written.PATH])


def test_named_columns_travel_under_released_names_and_nothing_else(release, asked):
    damaged = {**FILES, "ward/3.png": b"\x89PNG\r\n\x1a\n damaged", "ward/without.png": PICTURE}
    result = release(damaged, **asked())
    outputs = {r["input"]: r["output"] for r in rows((release.private / "map.csv").read_bytes())}
    found = {row.pop("output"): row for row in told(result.files)}
    pseudonym = Pseudonyms(dicom.SECRET).patient
    who = {"ward/0.png": "P1", "ward/1.png": "P1", "ward/2.png": "P2"}
    names = ("patient_id", "age", "sex", "view", "labels", "Edema")
    assert found == {
        outputs[path]: dict(zip(names, [pseudonym(who[path]), *cells], strict=True))
        for path, cells in CELLS.items()
    }
    whole = b"".join(result.files.values())
    assert not [word for word in (b"Doe", b"1930", b"cmd", b"P1,", b"ward") if word in whole]
    summary = result.summary.metadata
    assert (summary.rows, summary.left_out, summary.written, summary.without_row) == (5, 2, 3, 1)
    [listed] = rows(result.files["labels/manifest.csv"])
    assert listed["sha256"] == hashlib.sha256(result.files[written.PATH]).hexdigest()
    assert (listed["kind"], listed["labels"]) == ("metadata", "3")
    report = verify.verify(release.out)
    assert report.sound
    assert report.groups == summary.groups == written.Groups("patient", 2, 1, 2)


@pytest.mark.parametrize("other", [{"workers": 3}, {"batch_size": 2}])
def test_the_same_bytes_however_many_work_on_it(release, asked, tmp_path, other):
    whole = release(FILES, **asked()).files
    assert release.to(tmp_path / "other", **asked(**other)) == whole


def test_a_release_that_was_stopped_goes_on_with_its_table_and_no_other(release, asked, tmp_path):
    whole = release(FILES, **asked()).files
    out = tmp_path / "stopped"

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    options = ReleaseOptions(**asked())
    with pytest.raises(KeyboardInterrupt):
        pipeline.apply(release.source, out, Wave(), options, progress=stop)
    assert written.PATH not in tree(out)
    with pytest.raises(UsageError, match="another --table or other --columns"):
        release.to(out, **asked(TABLE.replace("12.9", "13")))
    with pytest.raises(UsageError, match="another --table or other --columns"):
        release.to(out, **asked(wanted="sex"))
    assert release.to(out, **asked()) == whole


CHESTS = {f"{name}.dcm": chest(n, f"MRN{n}4711") for n, name in enumerate("abc", 1)}


def test_a_table_by_patient_finds_whom_headers_name(release, asked):
    table = "PatientID,age,Pneumonia\nMRN14711,70,1\nmrn24711 ,33,0\nMRN94711,50,0\n"
    result = release(CHESTS, **asked(table, "PatientID,age,Pneumonia"))
    found = {row["patient_id"]: (row["age"], row["Pneumonia"]) for row in told(result.files)}
    heads = [dicom.opened(data) for path, data in result.files.items() if path.endswith(".dcm")]
    assert found.keys() < {head.PatientID for head in heads}
    assert sorted(found.values()) == [("33", "0"), ("70", "1")]
    summary = result.summary.metadata
    assert (summary.rows, summary.left_out, summary.without_row) == (3, 1, 1)
    assert verify.verify(release.out).sound


CALLED = {
    "Meier_Anna_1970.png": "Meier Anna",
    "ward/anna-meier.png": "Meier^Anna",
    "x4711b/1.png": "X-4711-B",
    "scan 20043377.png": "20043377",
    "Müller/1.png": "Mueller, Ilse",
}


@pytest.mark.parametrize("path", CALLED)
@pytest.mark.parametrize("by", ["path", "patient"])
def test_a_path_that_calls_a_patient_of_the_table_is_not_kept(release, asked, tmp_path, path, by):
    files, who = {path: FILES["ward/0.png"], "b.png": FILES["ward/1.png"]}, CALLED[path]
    table = f'patient_id,age\n"{who}",33\nP2,40\n'
    if by == "path":
        table = f'path,patient_id,age\n{path},"{who}",33\nb.png,P2,40\n'
    told = asked(table, "age", names=None)
    result = release(files, **told)
    assert {k for k in result.files if k.endswith(".png")} == {"b.png"}
    refused = rows((release.private / "quarantine.csv").read_bytes())
    assert {row["input"]: row["reason"] for row in refused} == {path: "identifying-name"}
    planned = pipeline.plan(release.source, tmp_path / "new", Wave(), ReleaseOptions(**told))
    assert {p.input: p.reason for p in planned if p.reason} == {path: "identifying-name"}
    assert path in release.to(tmp_path / "kept", **told | {"names": "keep"})
    hashed = release.to(tmp_path / "hashed", **told | {"names": "hashed"})
    assert sum(k.endswith(".png") for k in hashed) == 2  # no path is in there


HEADS = (
    "path,patient_id,Last Name,First Name,Date of Birth,MRN,Address,age\n",
    "path,patient_id,Nazwisko,Imię,Data urodzenia,PESEL,Address,age\n",
    "path,patient_id,氏名,名前,生年月日,患者番号,Address,age\n",
)


@pytest.mark.parametrize("head", HEADS)
def test_all_that_a_table_calls_people_is_searched_for_in_paths(release, asked, head):
    files = ["Meier/1.png", "w/Anna_2.png", "w/24-12-1948.png", "X4711/3.png", "Hauptstr/4.png"]
    who = "P1,Meier,Anna,24.12.1948,X-4711,Hauptstr. 5,70\n"
    table = head + "".join(f"{path},{who}" for path in files)
    done = release(dict.fromkeys(files, PICTURE), **asked(table, "age", names=None))
    assert done.quarantine == dict.fromkeys(files[:4], "identifying-name")


def test_a_row_of_another_patient_than_the_header_s_is_quarantined(release, asked):
    table = "path,patient_id,age\na.dcm,MRN24711,70\nb.dcm,MRN24711,33\n"
    result = release(CHESTS, **asked(table, "age"))
    assert result.quarantine == {"a.dcm": "labels"}
    assert [row["age"] for row in told(result.files)] == ["33"]


@pytest.mark.parametrize("uniform", [None, Uniform(32, "png")], ids=["dicom", "png"])
def test_a_value_that_is_the_patient_s_name_is_quarantined(release, asked, uniform):
    table = "path,labels\na.dcm,Mass\nb.dcm,Mass\n"
    named = dicom.file(dicom.changed(PatientName="Mass^Ann"))
    result = release({**CHESTS, "a.dcm": named}, **asked(table, "labels"), uniform=uniform)
    assert result.quarantine == {"a.dcm": "labels"}
    assert len(told(result.files)) == 1


WRONG = {
    "age,Jane": "years from 0",
    "age,121": "years from 0",
    "age,-1": "years from 0",
    "age,19300101": "years from 0",
    "sex,Jane": "F, M, O",
    "view,Doe": "PA, AP",
    "labels,Doe": "names of findings",
    "labels,=Mass": "names of findings",
    "labels,Mass 4711": "names of findings",
    "Edema,2": "of one finding",
    "Edema,yes": "of one finding",
    "Edema,19300101": "of one finding",
}


@pytest.mark.parametrize("cell", WRONG)
def test_one_cell_that_may_not_leave_stops_all_and_is_not_quoted(release, asked, cell):
    name, text = cell.split(",")
    table = f"path,{name}\nward/0.png,\nward/1.png,{text}\n"
    with pytest.raises(DataError, match=WRONG[cell]) as found:
        release(FILES, **asked(table, name))
    assert f"row 3: column '{name}'" in str(found.value)
    assert text not in str(found.value).replace("1, 0, -1 or nothing", "")
    assert not release.out.exists()
    assert not release.private.exists()


TABLES = {
    "path,age\nward/0.png,1\n0.png,1\n": "a second row of one file",
    "path,age\nward/0.png,1,2\n": "other cells than the header",
    "path,age\n,1\n": "not named",
    "path,age\nelsewhere.png,1\n": "names no file of IN",
    "path,age\nother/0.png,1\n": "names no file of IN",  # of another patient
    "age\n1\n": "a column that names the file",
    "path,Edema\n0.png,1\n": "must have the column 'age', once",
    "path,age,age\n0.png,1,1\n": "must have the column 'age', once",
    "patient_id,age\nP1,1\nP1,2\n": "two rows of one patient",
    "patient_id,Patient ID,age\nP1,P1,2\n": "several columns of patients",
    "": "no CSV file",
    'path,age\n"0.png,1\n': "no CSV file",
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_is_not_understood_is_refused(release, asked, table):
    with pytest.raises((DataError, UsageError), match=TABLES[table]):
        release(FILES, **asked(table, "age"))
    assert not release.out.exists()


@pytest.mark.parametrize(
    "name",
    [
        *("note", "Study Date", "Patient Name", "MRN", "=Mass", "Mass\n", "<b>", "Mass" * 3000, ""),
        *("PatientBirthDate", "Mass 12345", "\u202emass", "output"),
    ],
)
def test_a_column_whose_name_is_of_no_finding_is_refused_in_one_line(asked, name):
    with pytest.raises(UsageError, match="cannot be released") as found:
        asked(wanted=name)
    assert str(found.value).isprintable()
    assert len(str(found.value)) < 400


def test_one_option_without_the_other_and_places_are_refused(release, asked, tmp_path):
    with pytest.raises(UsageError, match="--table needs --columns"):
        TableOptions(tmp_path / "table.csv")
    with pytest.raises(UsageError, match="--table needs --columns"):
        TableOptions(None, ("age",))
    with pytest.raises(UsageError, match="twice, or two for the same"):
        asked(wanted="age,Patient Age")
    with pytest.raises(UsageError, match="--table does not exist"):
        release(FILES, table=TableOptions(tmp_path / "none.csv", ("age",)))
    fill(release.out, {"t.csv": b"path,age\n"})
    with pytest.raises(UsageError, match="must not lie in OUT"):
        release(FILES, table=TableOptions(release.out / "t.csv", ("age",)))


def test_an_output_never_lies_among_the_labels(release, asked):
    with pytest.raises(UsageError, match="IN holds a folder or file labels"):
        release({"labels/0.png": PICTURE}, **asked("path,age\n0.png,1\n", "age", names="keep"))


def test_methods_of_several_people_have_no_place_for_it(asked, tmp_path):
    case = Case(tmp_path)
    with pytest.raises(UsageError, match="--table cannot be released with"):
        case.apply(table=asked()["table"])


def test_a_row_leaves_with_its_file(release, asked):
    result = release(FILES, **asked())
    whole, [first, *others] = result.files, told(result.files)
    decide(release.out, first["output"], "quarantined")
    assert told(tree(release.out)) == others
    assert verify.verify(release.out).sound
    decide(release.out, first["output"], "accepted")
    assert tree(release.out) == whole


def test_nothing_of_it_leaves_before_everything_was_looked_at(release, asked):
    result = release(FILES, **asked(require_review=True))
    assert result.files == {}
    assert result.summary.metadata.written == 0
    assert "when every picture was looked at" in describe(result.summary, 0)


def test_merged_shards_have_the_table_of_one_machine(release, asked, tmp_path):
    whole = release(FILES, **asked())
    shards = [tmp_path / "shards" / str(number) for number in (1, 2)]
    for number, out in enumerate(shards, 1):
        release.to(out, **asked(shard=Shard(number, 2)))
    merge.merge(shards, tmp_path / "merged")
    assert tree(tmp_path / "merged") == whole.files


CHANGES = {
    "another column": lambda t: t.replace(b"Edema", b"Jane"),
    "free text": lambda t: t.replace(b",PA,", b",Jane,"),
    "an old age": lambda t: t.replace(b",90,", b",93,"),
    "a name for a pseudonym": lambda t: t.replace(t.split(b"\n")[1].split(b",")[1], b"Jane"),
    "no such image": lambda t: t.replace(t.split(b"\n")[1][:6], b"abcdef", 1),
    "a row twice": lambda t: t + t.split(b"\n")[1] + b"\n",
    "other order": lambda t: b"\n".join([t.split(b"\n")[0], *sorted(t.split(b"\n")[1:-1])[::-1]]),
    "a formula": lambda t: t.replace(b",F,", b",=F,"),
    "ragged": lambda t: t.replace(b",F,", b",F,,", 1),
    "bytes": lambda t: t + b"\xff\x00",
}


def test_verify_finds_what_no_release_writes(release, asked):
    files = release(FILES, **asked()).files
    [row] = rows(files["labels/manifest.csv"])
    for what, change in CHANGES.items():
        changed = change(files[written.PATH])
        assert changed != files[written.PATH], what
        (release.out / written.PATH).write_bytes(changed)
        row["sha256"] = hashlib.sha256(changed).hexdigest()
        (release.out / "labels/manifest.csv").write_bytes(table_of([row]))
        report = verify.verify(release.out)
        assert [finding.flaw for finding in report.findings] == [verify.Flaw.UNFIT], what
        assert "Jane" not in str(report.findings), what


@given(st.integers(0, 999), st.sampled_from("YMWD"))
def test_an_age_is_in_whole_years_and_old_ones_are_one(number, unit):
    years = number / {"Y": 1, "M": 12, "W": Fraction(36525, 700), "D": Fraction(36525, 100)}[unit]
    text = f"{number:03}{unit}"
    if years < 121:
        assert value("age", text) == str(min(int(years), 90))
        return
    with pytest.raises(ValueError, match="years"):
        value("age", text)


@given(st.text(), st.sampled_from(["age", "sex", "view", "labels", "Edema"]))
def test_what_is_written_is_what_verify_allows_and_no_formula(text, column):
    try:
        made = value(column, text)
    except (KeyError, ValueError):
        return
    assert columns.is_written(column, made)
    assert made in ("", "-1") or made[0].isalnum()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2"])), min_size=1))
def test_groups_by_counting_pairs(people):
    """A second way: who shares a row's facts, one by one."""
    table = [[f"{n}.png", who, fact] for n, (who, fact) in enumerate(people)]
    found = written.groups(("output", "patient_id", "age"), table)
    sizes = [len({w for w, f in people if f == fact}) for _, fact in people]
    alone = {w for (w, _), size in zip(people, sizes, strict=True) if size == 1}
    total = len({who for who, _ in people})
    assert found == written.Groups("patient", total, min(sizes), len(alone))


def test_known_findings_have_names():
    from anonymize.data.labels import CHESTXRAY14
    from anonymize.data.sources.chexpert import LABELS

    for name in (*CHESTXRAY14, *LABELS, "COVID-19", "No Finding"):
        assert written_name(name) == name


def test_the_command(release, tmp_path):
    fill(tmp_path, {"t.csv": b"path,age\n0.png,70\n1.png,70\n"})
    fill(release.source, FILES)
    given = (release.source, release.out, "--table", tmp_path / "t.csv")
    found = command(*given, "--columns", "age", code=0)
    assert "2 rows of --table written" in found.output
    assert "the smallest group that all columns make has 2 files" in found.output
    looked = checked(release.out, code=0)
    assert "the smallest group that all columns make has 2 files" in looked.output
    assert "--table needs --columns" in command(*given, code=2).output
