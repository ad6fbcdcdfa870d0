"""Names that a spreadsheet runs, or that nobody can see as they are: in no table of a release."""

import io

import pytest
from release_specimens import KINDS, command, fill, rows, tree

from anonymize.csv_cells import undone
from anonymize.release import verify
from anonymize.release.records.csv_bytes import csv_bytes
from anonymize.release.records.manifests import ManifestError, images
from anonymize.release.records.tables import MANIFEST_COLUMNS
from attacks.linkage.whose import _map

PNG = KINDS["gray8.png"]
FORMULAS = ("=cmd|calc.png", "@x.png", "+a.png", "-a/b.png", "'=a.png")
HIDDEN = ("a\nb.png", "a\rb.png", "a\x1b[31mb.png", "x\u202egpj.png", "f\n/a.png")


@pytest.fixture
def run(release):
    """``run(names, *words)``: the command's result on files of these names, and one more."""

    def run(names, *words, code):
        fill(release.source, dict.fromkeys((*names, "plain.png"), PNG))
        return command(release.source, release.out, *words, code=code)

    return run


@pytest.mark.parametrize("names", [FORMULAS, HIDDEN])
def test_they_are_quarantined_where_names_are_kept(run, release, names):
    assert "use --names hashed" in run(names, "--names", "keep", code=3).stdout
    assert set(tree(release.out)) == {"plain.png", "manifest.csv"}
    listed = rows((release.private / "quarantine.csv").read_bytes())
    assert {undone(row["input"]): row["reason"] for row in listed} == dict.fromkeys(
        names, "name-collision"
    )
    assert not [row for row in listed if row["input"].startswith(tuple("=@+-"))]


@pytest.mark.parametrize("names", [FORMULAS, HIDDEN])
def test_they_are_released_under_hashed_names(run, release, names):
    run(names, "--names", "hashed", code=0)
    mapped = rows((release.private / "map.csv").read_bytes())
    assert {undone(row["input"]) for row in mapped} == {*names, "plain.png"}
    assert not [row for row in mapped if row["input"].startswith(tuple("=@+-"))]
    known = [path for inputs in _map(release.private).values() for path, _ in inputs]
    assert sorted(known) == sorted({*names, "plain.png"})
    assert verify.verify(release.out).sound


def test_no_manifest_may_name_them(run, release):
    run((), code=0)
    cells = [*rows((release.out / "manifest.csv").read_bytes())[0].values()]
    assert list(images(io.BytesIO(csv_bytes(MANIFEST_COLUMNS, [cells]))))
    for name in (*FORMULAS, *HIDDEN):
        table = io.BytesIO(csv_bytes(MANIFEST_COLUMNS, [[name, *cells[1:]]]))
        with pytest.raises(ManifestError, match=r"no release writes|not as a release writes"):
            list(images(table))
