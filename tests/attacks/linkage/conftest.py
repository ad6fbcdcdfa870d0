"""Two folders of small images that share patients; a folder and its release; attackers taught
on others."""

from types import SimpleNamespace

import pytest
from asked import ask
from identities import image_set
from overlapping import collections, taught_on
from PIL import Image

from anonymize.anonymizer import load
from anonymize.data.image_files import resize
from anonymize.release.options import ReleaseOptions
from anonymize.release.pipeline import apply
from attacks.cli import main


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Folders A and B, whose files are whose, the attacker's arguments and folder, and ``ask``: a
    command with these arguments, which must end with the status ``code``."""
    folder = tmp_path_factory.mktemp("alone")
    owner = collections(folder)
    attacker = [*taught_on(folder), "--attacker", "training-free", "--out", folder / "out"]

    def told(command, *arguments, code=0):
        return ask(main, command, *attacker, *arguments, code=code)

    return SimpleNamespace(
        folder=folder, a=folder / "A", b=folder / "B", out=folder / "out", owner=owner, ask=told
    )


@pytest.fixture(scope="session")
def a_release(tmp_path_factory):
    """Real files of 15 patients, two each, their release, and the arguments of attackers."""
    folder = tmp_path_factory.mktemp("release")
    real = folder / "real"
    (real / "deep").mkdir(parents=True)
    drawn = image_set(15, each=2, seed=7)
    lines = ["path,patient_id,labels,sex,age,view"]
    for row, (pixels, patient) in enumerate(zip(drawn.images, drawn.owners.patient, strict=True)):
        name = f"{'deep/' * (row % 2)}{row:02d}.png"
        Image.fromarray(resize(pixels[0].numpy(), 96)).save(real / name)
        finding = "Nodule" if patient % 2 else "Mass"
        lines.append(f"{name},p{patient},{finding},{'FM'[patient % 2]},{40 + row // 4},PA")
    (folder / "patients.csv").write_text("\n".join(lines))
    apply(real, folder / "out", load("gaussian-blur:sigma=0.02"), ReleaseOptions())
    return folder, taught_on(folder)


@pytest.fixture
def undrawn(monkeypatch):
    """Without the sheet of images, which takes longer than all the rest."""
    for sheet in ("ranking_sheet", "overlap_sheet"):
        monkeypatch.setattr(f"attacks.reporting.pictures.match_sheet.{sheet}", lambda found: b"")
