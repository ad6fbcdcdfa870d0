"""Whom a released file shows, and with which images it is compared."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import attacks
from anonymize.errors import UsageError
from anonymize.fingerprint import sha256_file
from anonymize.options import DataOptions
from attacks.linkage.album import open_album
from attacks.linkage.linking import by_names
from attacks.linkage.release_attack import people_apart
from attacks.linkage.release_run import Case
from attacks.linkage.whose import rows_named, whose, with_patients
from attacks.measuring.metrics import genuine_pairs, impostor_pairs


def album(a_release, name):
    """The images of a folder of the a_release."""
    options = DataOptions(size=32, cache=a_release[0] / "cache", workers=1)
    return open_album(str(a_release[0] / name), options, argument=name)


def test_owners_with_and_without_the_originals(a_release):
    folder, _ = a_release
    real, count = with_patients(album(a_release, "real"), folder / "patients.csv")
    assert count == len(real) == 30
    released = album(a_release, "out")
    assert len(released) == 30
    subject = whose(released, real, folder / "out-private")
    assert (real.names[subject.original] == released.names).all()
    same = real.patients[subject.original][:, None] == real.patients
    own = subject.original[:, None] == np.arange(30)
    np.testing.assert_array_equal(genuine_pairs(*subject.with_originals()), same)
    np.testing.assert_array_equal(impostor_pairs(*subject.with_originals()), ~same)
    np.testing.assert_array_equal(genuine_pairs(*subject.without_originals()), same & ~own)
    probes, gallery = (owners.matching for owners in subject.without_originals())
    ages = real.table.frame["age"].to_numpy()
    near = abs(ages[subject.original][:, None] - ages) <= 2
    findings = real.table.frame["Mass"].to_numpy()
    alike = near & (findings[subject.original][:, None] == findings) & ~same
    np.testing.assert_array_equal(impostor_pairs(probes, gallery), alike)


def test_names_are_found_by_their_last_part_where_it_is_alone(a_release):
    """On both sides: one image is not two of the paths."""
    real = album(a_release, "real")
    names = ["deep/01.png", "moved/03.png", "00.png", "none.png", ""]
    rows = rows_named(real, [*names, "moved/01.png", "here/05.png", "there/05.png"])
    assert real.names[rows[:3]].tolist() == ["deep/01.png", "deep/03.png", "00.png"]
    assert rows[3:].tolist() == [-1] * 5


def test_a_table_of_more_folders_than_are_here_names_nobody_by_another_patients_file(
    a_release, tmp_path
):
    real = album(a_release, "real")
    rows = ["deep/01.png,own", "other/01.png,another", "one/02.png,one", "two/02.png,two"]
    (tmp_path / "who.csv").write_text("\n".join(["path,patient_id", *rows]))
    told, count = with_patients(real, tmp_path / "who.csv")
    assert count == 1
    assert told.patients[told.names == "deep/01.png"].tolist() == ["own"]
    assert told.identified.sum() == 1


def test_files_of_one_name_are_one_image_but_for_other_patients(a_release):
    """Part of a tree in which names without folders are there twice."""
    given = album(a_release, "real")
    frame = given.table.frame.assign(image_id=[f"{i % 2}/{i // 2}.png" for i in range(30)])
    real = replace(given, table=given.table.with_frame(frame.assign(identified=True)))
    released = replace(given, table=given.table.with_frame(frame[::2]))
    assert by_names(released, real).original.tolist() == [*range(0, 30, 2)]
    others = frame[::2].assign(identified=True, patient_id=["p", *frame["patient_id"][2::2]])
    known = replace(given, table=given.table.with_frame(others))
    assert by_names(known, real).original.tolist() == [-1, *range(2, 30, 2)]


@pytest.mark.parametrize("named", [".", "../out", "../out/"])
def test_the_private_folder_lies_beside_the_release_however_that_is_named(
    a_release, monkeypatch, named
):
    monkeypatch.chdir(a_release[0] / "out")
    assert Case.of("real", Path(named), None, None).private == a_release[0] / "out-private"


@pytest.mark.parametrize("inside", ["out", "out/deep", "real"])
@pytest.mark.parametrize("call", ["link", "release"])
def test_python_keeps_no_private_files_among_those_that_are_attacked(a_release, call, inside):
    folder = a_release[0]
    real, released = folder / "real", folder / "out"
    given = (released, real) if call == "link" else (real, released)
    argument = "real" if inside == "real" else "released"
    with pytest.raises(UsageError, match=f"^out must not lie in {argument}: "):
        getattr(attacks, call)(*given, out=folder / inside)


@pytest.fixture
def of_three(a_release, tmp_path):
    """Outputs made of three files each; of the last one's, one is gone and one was changed."""
    folder, _ = a_release
    real, _ = with_patients(album(a_release, "real"), folder / "patients.csv")
    released = album(a_release, "out")
    made_of = (np.arange(30)[:, None] + [0, 7, 15]) % 30
    lines = ["input,input_sha256,output,output_sha256,note"]
    for output, rows in zip(released.names, made_of, strict=True):
        for name in real.names[rows]:
            digest = sha256_file(folder / "real" / name)
            lines.append(f"{name},{digest},{output},,")
    lines[-1] = f"gone.png,{'0' * 64},{released.names[-1]},,"
    lines[-2] = f"{real.names[made_of[-1, 1]]},{'0' * 64},{released.names[-1]},,"
    (tmp_path / "map.csv").write_text("\n".join(lines) + "\n")
    made_of[-1, 1:] = -1
    return whose(released, real, tmp_path), made_of


def test_an_output_of_several_people_shows_each_of_them(of_three):
    subject, made_of = of_three
    np.testing.assert_array_equal(subject.made_of, made_of)
    np.testing.assert_array_equal(subject.original, made_of[:, 0])
    patients = subject.real.patients
    there = made_of >= 0
    shown = there[..., None] & (patients[made_of][..., None] == patients)  # (P, C, G)
    same = shown.any(axis=1)
    own = (there[..., None] & (made_of[..., None] == np.arange(30))).any(axis=1)
    np.testing.assert_array_equal(genuine_pairs(*subject.with_originals()), same)
    np.testing.assert_array_equal(impostor_pairs(*subject.with_originals()), ~same)
    np.testing.assert_array_equal(genuine_pairs(*subject.without_originals()), same & ~own)
    np.testing.assert_array_equal(impostor_pairs(*subject.without_originals()), ~same)
    said = subject.named(0)
    assert said["original"] == " | ".join(subject.real.names[made_of[0]])
    assert said["patient"] == " | ".join(patients[made_of[0]])
    assert subject.named(29)["original"] == subject.real.names[made_of[29, 0]]


def test_outputs_that_share_people_are_no_trials_of_their_own(of_three):
    subject, _ = of_three
    probes, _ = subject.with_originals()
    assert people_apart(probes) == 15 // 3
    assert people_apart(replace(probes, contributors=None)) == 15
