"""`attacks verify`, `retrieve` and `link`: one attacker, used by itself."""

import json
import shutil
import stat

import numpy as np
import pytest
from overlapping import read_table
from PIL import Image

from anonymize.folder_lock import locked


def files_of(world, name):
    """Patient → files of a folder."""
    found = {}
    for (folder, file), patient in world.owner.items():
        if folder == name:
            found.setdefault(patient, []).append(world.folder / name / file)
    return found


@pytest.fixture(scope="module")
def pair(world):
    """An image of each folder."""
    return [next(iter(files_of(world, name).values()))[0] for name in "AB"]


# verify


def probability(world, first, second, *more):
    return json.loads(world.ask("verify", first, second, "--json", *more).stdout)


@pytest.mark.whole
def test_one_person_is_more_probable_than_two(world):
    a, b = files_of(world, "A"), files_of(world, "B")
    shared = sorted(set(a) & set(b))[:4]
    same, other = (
        [
            probability(world, a[p][0], b[q][0])["probability"]
            for p, q in zip(shared, others, strict=True)
        ]
        for others in (shared, shared[1:] + shared[:1])
    )
    assert np.mean(same) > np.mean(other) + 0.1


def test_the_prior_moves_the_probability_and_not_the_ratio_nor_does_the_order(world, pair):
    even, rare = (probability(world, *pair, "--prior", prior) for prior in (0.5, 0.001))
    assert even["log10_likelihood_ratio"] == rare["log10_likelihood_ratio"]
    ratio = 10 ** even["log10_likelihood_ratio"]
    assert even["probability"] == pytest.approx(ratio / (1 + ratio))
    assert rare["probability"] == pytest.approx(ratio / (999 + ratio))
    auc = even["attacker"]["figures"]["auc"]
    assert auc["ci95"][0] <= auc["mean"] <= auc["ci95"][1]
    assert probability(world, *pair[::-1])["score"] == pytest.approx(even["score"], abs=1e-6)


def test_the_same_pixels_are_the_same_person(world, pair, tmp_path):
    with Image.open(pair[0]) as image:
        image.save(tmp_path / "copy.png", compress_level=0)
    assert probability(world, pair[0], tmp_path / "copy.png")["identical"] == "pixels"
    result = world.ask("verify", pair[0], tmp_path / "copy.png")
    assert "the pixels of both images are identical" in result.output
    assert "probability that both show the same person: 1 (prior 0.5)" in result.output
    assert "AUC 0." in result.output


def test_an_attacker_that_knows_the_method_is_another_one(world, pair):
    """What released the images is part of what it is calibrated for."""
    slopes = [
        probability(world, *pair, *method)["attacker"]["slope"]
        for method in ((), ("--method", "gaussian-blur:sigma=0.1"))
    ]
    assert slopes[0] != slopes[1]
    assert len(list(world.out.glob("attacker-*/attacker.json"))) == 2


def test_its_own_figures_are_those_of_matched_impostors_too(world, pair, tmp_path):
    """Where all images have one finding, everybody is matched."""
    known = tmp_path / "known"
    shutil.copytree(world.folder / "known", known)
    head, *lines = (known / "list.csv").read_text().splitlines()
    told = [f"{head},labels", *(f"{line},Mass" for line in lines)]
    (known / "list.csv").write_text("\n".join(told))
    words = ("verify", *pair, "--root", known, "--out", tmp_path / "out")
    learnt = json.loads(world.ask(*words, "--json").stdout)["attacker"]
    matched, every = learnt["matched"], learnt["figures"]
    assert matched["auc"]["mean"] == pytest.approx(every["auc"]["mean"], abs=1e-4)
    assert matched["precision_at_1"] == pytest.approx(every["precision_at_1"]["mean"])
    patients = learnt["patients"]["test"]
    assert matched["genuine_pairs"] == patients * 4 * 3
    assert matched["impostor_pairs"] == 4 * 4 * patients * (patients - 1)
    said = world.ask(*words).output
    assert "against matched impostors (the same findings), AUC 0." in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("verify A B", "A must be one image, got"),
        ("verify A/none.png B", "A must be an image, a folder or source:root"),
        ("verify A B --prior 1", "a prior must lie between 0 and 1"),
        ("verify A B --attacker metadata", "it needs more than two images"),
        ("verify A B --attacker ensemble", "it needs more than two images"),
        ("verify A B --attacker identical", "it needs more than two images"),
        ("verify A B --attacker training-free:lazy", "is for `attacks evaluate` only"),
        ("retrieve A --gallery B --prior 0", "--prior must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    world, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(world.folder)
    result = world.ask(*arguments.split(), "--out", tmp_path / "out", code=2)
    assert message in result.output.strip().splitlines()[-1]
    assert not (tmp_path / "out").exists()


# retrieve


def test_a_probe_finds_its_patient_in_the_gallery(world):
    probes = [files[0] for _, files in sorted(files_of(world, "A").items())[:5]]
    result = world.ask("retrieve", *probes, "--gallery", world.b, "--top", 3)
    out = world.out
    lines = read_table(out / "retrieve.csv")
    assert [line["rank"] for line in lines] == ["1", "2", "3"] * 5
    assert [line["probe"] for line in lines[::3]] == [probe.name for probe in probes]
    for start in range(0, 15, 3):
        said = [float(line["probability"]) for line in lines[start : start + 3]]
        assert said == sorted(said, reverse=True)
    for name in ("retrieve.csv", "retrieve.json", "retrieve.png"):
        assert stat.S_IMODE((out / name).stat().st_mode) == 0o600
    assert not [file for _, file in world.owner if file in result.output]
    kept = json.loads((out / "retrieve.json").read_text())
    assert [line["gallery"] for line in kept["ranking"]] == [line["gallery"] for line in lines]
    with Image.open(out / "retrieve.png") as sheet:
        assert min(sheet.size) > 300


# link


@pytest.fixture
def gallery(world, tmp_path):
    """The images of B as a data set that says whom they show."""
    shutil.copytree(world.b, tmp_path / "real")
    lines = [f"{file},{patient}" for (name, file), patient in world.owner.items() if name == "B"]
    (tmp_path / "real" / "list.csv").write_text("\n".join(["path,patient_id", *lines]))
    return tmp_path / "real"


@pytest.mark.usefixtures("undrawn")
def test_released_files_of_the_same_names_are_measured_as_evaluate_does(world, gallery, tmp_path):
    released = tmp_path / "released"
    released.mkdir()
    for file in sorted(gallery.glob("*.png")):
        with Image.open(file) as image:
            image.convert("L").point(lambda level: 0.9 * level).save(released / file.name)
    out = tmp_path / "out"
    result = world.ask("link", released, f"folder:{gallery}", "--json", "--out", out)
    found = json.loads(result.stdout)
    assert found["figures"]["auc"]["mean"] > 0.7
    assert found["figures"]["precision_at_1"]["mean"] > 0.3
    assert found["originals_ranked_first"] > 0.95
    lines = read_table(out / "link.csv")
    assert {line["same_patient"] for line in lines} == {"yes", "no"}
    own = [line for line in lines if line["probe"] == line["gallery"]]
    assert own
    assert all(line["same_patient"] == "yes" for line in own)


@pytest.mark.usefixtures("undrawn")
def test_the_figures_are_those_of_a_score_matrix(world, gallery, tmp_path):
    """Patients known on both sides: the streamed figures against the listed scores."""
    csv = (gallery / "list.csv").read_text().splitlines()[1:]
    given, out = f"folder:{gallery}", tmp_path / "out"
    result = world.ask("link", given, given, "--top", 1000, "--json", "--out", out)
    figures = json.loads(result.stdout)["figures"]
    lines = read_table(out / "link.csv")
    patient = dict(line.split(",") for line in csv)
    genuine, impostors = [], []
    for line in lines:
        if line["probe"] != line["gallery"]:
            same = patient[line["probe"]] == patient[line["gallery"]]
            (genuine if same else impostors).append(float(line["score"]))
    wins = np.array(genuine)[:, None] - np.array(impostors)
    auc = (wins > 0).mean() + 0.5 * (wins == 0).mean()
    assert figures["auc"]["mean"] == pytest.approx(auc, abs=1e-3)


def with_findings(gallery):
    """The same data set with a finding of every image, by its number."""
    head, *lines = (gallery / "list.csv").read_text().splitlines()
    finding = {line: ("Mass", "Nodule")[n % 3 > 0] for n, line in enumerate(lines)}
    told = [f"{head},labels", *(f"{line},{found}" for line, found in finding.items())]
    (gallery / "list.csv").write_text("\n".join(told))
    return {line.partition(",")[0]: found for line, found in finding.items()}


@pytest.mark.usefixtures("undrawn")
def test_the_first_figures_are_those_of_pairs_of_the_same_findings(world, gallery, tmp_path):
    """Against the listed scores; a reader of the terminal sees which figure is which."""
    finding, given = with_findings(gallery), f"folder:{gallery}"
    words = ("link", given, given, "--top", 1000, "--out", tmp_path / "out")
    found = json.loads(world.ask(*words, "--json").stdout)
    lines = read_table(tmp_path / "out" / "link.csv")
    won = {"yes": [], "no": []}
    for line in lines:
        one, other = line["probe"], line["gallery"]
        if one != other and finding[one] == finding[other]:
            won[line["same_patient"]].append(float(line["score"]))
    wins = np.array(won["yes"])[:, None] - np.array(won["no"])
    auc = (wins > 0).mean() + 0.5 * (wins == 0).mean()
    matched, every = found["matched"], found["figures"]["auc"]["mean"]
    assert matched["auc"]["mean"] == pytest.approx(auc, abs=1e-6)
    assert (matched["genuine_pairs"], matched["impostor_pairs"]) == tuple(map(len, won.values()))
    assert found["matched_by"] == ["findings"]
    said = world.ask(*words).output
    first = f"patients, matched impostors: the same findings: AUC {auc:.3f} ("
    assert said.index(first) < said.index(f"patients, all impostors: AUC {every:.3f} (")


@pytest.mark.usefixtures("undrawn")
def test_where_nothing_is_known_to_match_by_link_says_so(world, gallery, tmp_path):
    given = f"folder:{gallery}"
    said = world.ask("link", given, given, "--out", tmp_path / "out").output
    unknown = "not measured: no findings, sex, age or view is known"
    assert f"patients, matched impostors: {unknown}" in said
    assert f"against matched impostors {unknown}" in said  # of the attacker itself
    assert "patients, all impostors: AUC 0." in said
    assert "nan" not in said


@pytest.mark.usefixtures("undrawn")
def test_without_known_patients_there_are_no_figures_but_a_ranking(world):
    result = world.ask("link", world.a, world.b)
    assert "no figures: no patient of RELEASED is known to be in REAL" in result.output
    assert read_table(world.out / "link.csv")[0]["same_patient"] == ""


# OUT


@pytest.mark.usefixtures("undrawn")
def test_results_are_overwritten_by_the_same_question_alone(world):
    def link(*more, code=2):
        said = world.ask("link", world.a, world.b, *more, code=code)
        return said.output.strip().splitlines()[-1]

    link(code=0)
    link(code=0)
    before = (world.out / "link.json").read_bytes()
    other = link("--set", "data.size=16")
    assert "holds results of something else (data.size); choose another --out" in other
    assert link("--top", 3).endswith("remove link.json there")
    assert (world.out / "link.json").read_bytes() == before
    (world.out / "link.json").unlink()
    link("--top", 3, code=0)
    (world.out / "link.of.json").unlink()
    assert "nothing says of what" in link("--top", 3)
    (world.out / "link.json").unlink()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (("retrieve", "A/one.png", "--gallery", "B"), "PROBE"),
        (("link", "B", "A"), "REAL"),
        (("overlap", "A", "B"), "A"),
    ],
)
def test_nor_are_they_overwritten_by_those_of_other_images_of_the_same_names(
    world, tmp_path, words, changed
):
    for name in "AB":
        (tmp_path / name).mkdir()
        for file in [path for paths in files_of(world, name).values() for path in paths][:9]:
            shutil.copy(file, tmp_path / name)
    first, other = sorted((tmp_path / "A").iterdir())[:2]
    first.rename(first.with_name("one.png"))
    paths = [tmp_path / word if word[0] in "AB" else word for word in words]
    world.ask(*paths, "--out", tmp_path / "out")
    shutil.copy(other, first.with_name("one.png"))
    said = world.ask(*paths, "--out", tmp_path / "out", code=2).output
    assert f"holds results of something else ({changed}); choose another --out" in said


def test_two_at_once_do_not_share_a_folder(world):
    world.out.mkdir(exist_ok=True)
    with locked(world.out):
        for command in ("verify", "link", "overlap"):
            result = world.ask(command, world.a, world.b, code=2)
            assert "another process works in" in result.output.strip().splitlines()[-1]
