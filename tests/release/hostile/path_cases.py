"""Paths that tell the patient of the DICOM file that lies there."""

import os
from functools import partial

from archive_specimens import archive
from corpus import Case, apply
from dicom_specimens import changed, file
from release_specimens import pillow, scene

# Paths of a patient with this name, id and birth date.
PATIENTS = {
    patient: paths.split()
    for patient, paths in {
        ("Smith^John", "12345", "19700203"): """
            SmithJ JSmith smith_john JohnSmith smithjohn SMITH-J xsmithx Smiths S_m_i_t_h S.M.I.T.H
            htimS John.S P12345 p0012345 12-345 ID_0000012345a 54321 born03021970 02031970
            1970-02-03 19700203 700203 030270 3.2.1970 3-Feb-1970 Feb031970 JS1970 js70 sj_1970
            1970js J.S.70 19701970-JS1970 Sm1th J0hn 5mith xr_5M1TH_2 J0HN5 3_fevr_1970
            %53mith \u0661\u0662\u0663\u0664\u0665""",
        ("Müller^Jörg", "MRN-88-0012", "19480102"): """
            Mueller Muller MULLER MuellerJ Müller mu\u0308ller joerg Jorg jmueller48 MRN880012
            880012 mrn_88_0012 88-0012 M%C3%BCller M\u00c3\u00bcller M_ller Mller M\udcfcller
            2gen1948 2-stycznia-1948""",
        ("Weiß^Zoë", "A77-10442", "19991231"): "Weiss weis_zoe WEISS zoeweiss A7710442 7710442",
        ("Østergård^Søren", "X9Q33871", "19551105"): "Oestergaard Ostergard ostergaard oster1",
        ("Иванов^Пётр", "70011", "19610417"): "ivanov Iwanow petr_ivanov Иванов PIvanov Pyotr",
        ("Щербаков^Юлия", "70012", "19610418"): "Shcherbakov Schtscherbakow julija shcherba",
        ("Παπαδόπουλος^Γιώργος", "70013", "19610419"): "papadopoulos Giorgos",
        ("Lee^Anna", "60031", "19830607"): "Lee LeeA alee ALee1983 LeeAnna annalee",
        ("Ng^Wei", "60032", "19830608"): "NgW ng_wei WeiNg",
        ("Yamada^Tarou=山田^太郎", "60033", "19830609"): "yamada 山田 Tarou.Y 山田太郎",
        ("محمد^علي", "60034", "19830610"): "mohamed ali_mohammed",
        ("Kim^Min Jun", "60035", "19860806"): "kmj86 MJK1986 k_j_86 6aout1986 6ago1986 06ago86",
        # Names that mean something in radiology, and short ids as they are.
        ("Spine^Rose", "0042", "19470312"): "Spine spine_1 RoseSpine 0042 x00-42 case0042",
        ("Fuji^Lung", "123", "19470312"): "Fuji Fuji-Lung lungfuji v123 1-2-3",
        ("O'Hip^Li", "A71", "19470312"): "ohip O-Hip Li a71 xr_A71",
    }.items()
}


def named(patient):
    """A DICOM file of a patient (name, id, birth date)."""
    name, number, birth = patient
    made = changed(SpecificCharacterSet="ISO_IR 192", PatientName=name, PatientID=number)
    made.PatientBirthDate = birth
    return file(made)


def told(folder, *, path, patient):
    outcome = apply(folder, {f"{path}/1.dcm": named(patient)})
    return outcome.holds(os.fsencode(path))


def misdeclared(name, *, kind=b"PN", number="70091", **header):
    """A DICOM file whose name (bytes) has this representation, and no character set."""
    blank = "X" * (len(name) + len(name) % 2)
    made = changed(PatientName=blank, PatientID=number, **header)
    del made.SpecificCharacterSet
    data = file(made).replace(blank.encode(), name.ljust(len(blank)))
    at = data.index(b"\x10\0\x10\0PN") + 4
    size = data[at + 2 : at + 4]
    long = kind in (b"UN", b"OB", b"UT")
    return data[:at] + kind + (b"\0\0" + size + b"\0\0" if long else size) + data[at + 4 :]


PETROV, ZHANG = "Петровский^Яков", "张^伟明"
UID = "1.2.826.0.1.3680043.8.498.77373450091"
# Headers that say something else than they should, and paths that tell all the same.
MISDECLARED = {
    **{f"a name as {kind}": (b"Kowalczyk^Ewa", {"kind": kind.encode()}, "Kowalczyk")
       for kind in ("UN", "LO", "CS", "OB", "UT", "AE")},
    "UTF-8 without saying so": (PETROV.encode(), {}, "Петровский"),
    "UTF-8 without saying so, in Latin": (PETROV.encode(), {}, "petrovskij"),
    "Chinese UTF-8 without saying so": (ZHANG.encode(), {}, "张伟明"),
    **{f"{codec} without saying so": (PETROV.encode(codec), {}, path)
       for codec in ("cp1251", "koi8_r", "cp866") for path in ("Petrovskij", "Петровский")},
    **{f"{codec}, path {path}": (name.encode(codec), {}, path)
       for codec, name, path in (
           ("gbk", ZHANG, "Zhang_Weiming"), ("shift_jis", "山田^太郎", "Yamada"),
           ("euc_kr", "김^민준", "kim"), ("cp1253", "Παπαδόπουλος", "papado"),
           ("iso2022_jp", "山田^太郎", "Yamada"), ("cp1255", "כהן^דוד", "cohen"))},
    "a phone number": (b"Doe^Max", {"PatientTelephoneNumbers": "+49 30 47110815"}, "4711 0815"),
    "its own UID, in other words": (b"Doe^Max", {"SOPInstanceUID": UID}, UID.replace(".", "_")),
    "its own UID": (b"Doe^Max", {"SOPInstanceUID": UID}, UID),
}  # fmt: skip
# Names of files in other bytes than UTF-8, and what a ZIP makes of them.
BYTES = {codec: PETROV.split("^")[0].encode(codec) for codec in ("cp1251", "koi8_r", "cp866")} | {
    "gbk": "张伟明".encode("gbk"),
    "latin-1": "Müller".encode("latin-1"),
}


def misread(folder, *, name, header, path):
    outcome = apply(folder, {f"{path}/1.dcm": misdeclared(name, **header)})
    return next(iter(outcome.images), None)


def in_bytes(folder, *, path, archived):
    who = next(n for n in (PETROV, "张^伟明", "Müller^Jörg") if _spells(path, n))
    data = named((who, "70092", "19610420"))
    name = f"{path.decode('cp437')}.dcm" if archived else os.fsdecode(path + b".dcm")
    files = {"all.zip": archive([(name, data)])} if archived else {name: data}
    return next(iter(apply(folder, files).images), None)


def _spells(path, name):
    return path in {
        text.encode(codec, "ignore")
        for text in (name.split("^")[0], name.replace("^", ""))
        for codec in BYTES
    }


CASES = [
    *(
        Case(
            "path, header that says it wrongly",
            words,
            partial(misread, name=name, header=header, path=path),
            fast=k % 3 == 0,
        )
        for k, (words, (name, header, path)) in enumerate(MISDECLARED.items())
    ),
    *(
        Case(
            "path in other bytes than UTF-8",
            f"{codec}{', in an archive' * archived}",
            partial(in_bytes, path=path, archived=archived),
        )
        for codec, path in BYTES.items()
        for archived in (False, True)
    ),
]
CASES += [
    Case(
        "path, by default",
        f"{path} of {patient[1]}",
        partial(told, path=path, patient=patient),
        fast=k % 5 == 0,
    )
    for k, (path, patient) in enumerate(
        (path, patient) for patient, paths in PATIENTS.items() for path in paths
    )
]


def beside(folder, *, kind):
    """Files in a folder whose name tells who one of them shows; or all in an archive."""
    doe, other = (
        named(("Kowalski^Jan", "70077", "19620204")),
        named(("Doe^Max", "70078", "19620205")),
    )
    within = {"a.dcm": doe, "b.dcm": other, "c.png": pillow(scene(), "PNG"), "deep/d.dcm": other}
    files = {f"Kowalski_Jan/{name}": data for name, data in within.items()}
    if kind == "archive":
        files = {"all.zip": archive(files.items())}
    return apply(folder, files | {"z.dcm": other}).holds(b"owalski")


CASES += [
    Case("path, by default", f"folder that one file tells of, {kind}", partial(beside, kind=kind))
    for kind in ("folder", "archive")
]
