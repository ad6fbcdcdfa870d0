"""What everybody of a group has: counted over people and each finding, and never too little."""

import json
from itertools import product

import numpy as np
import pytest
from release_specimens import command, fill, png, rows
from set_specimens import SIZE, Case, gray

from anonymize.release import verify
from anonymize.release.sets.in_common import in_common

NAN = float("nan")


def counted(targets, patients, groups, outputs=None):
    """The figures of a release; the outputs of its groups are these themselves where not given."""
    targets = np.array(targets, np.float32).reshape(len(patients), -1)
    labels = [f"finding {number}" for number in range(targets.shape[1])]
    parts = [[np.array(part) for part in some] for some in (groups, outputs or groups)]
    return in_common(*parts, np.array(patients), targets, labels)


def test_a_finding_of_everybody_is_seen_whatever_else_differs():
    """Every two have other labels, so no two sets of them are the same."""
    others = list(product((0, 1), repeat=2))
    found = counted([(*labels, 1) for labels in others], range(4), [[0, 1, 2, 3]])
    assert found.groups_where_all_have_a_finding == found.groups_alike == 1
    assert (found.most_often, found.different_answers_min) == ("finding 2", 1)


def test_people_are_counted_and_not_images():
    """Each of two has the finding in one of two images, so either output shows one who is ill."""
    found = counted([1, 0, 0, 1], [0, 0, 1, 1], [[0, 1, 2, 3]], [[0, 2], [1, 3]])
    assert found.groups_where_all_have_a_finding == 1
    assert found.outputs_where_all_have_a_finding == found.outputs_alike == 2


def test_an_image_that_went_nowhere_says_nothing():
    found = counted([0, 1, 0], [0, 0, 1], [[0, 2]])
    assert (found.groups_where_all_have_a_finding, found.groups_alike) == (0, 1)
    assert found.most_often is None


def test_to_have_it_not_is_known_too():
    """Where nobody is normal, all are ill."""
    found = counted([(0, 1, 0), (0, 0, 1)], [0, 1], [[0, 1]])
    assert (found.groups_where_all_have_a_finding, found.groups_alike) == (0, 1)
    assert found.different_answers_min == 1


def test_of_whom_it_is_not_known_he_hides_nobody():
    found = counted([1, 1, NAN], [0, 1, 2], [[0, 1, 2]])
    assert found.groups_where_all_have_a_finding == 1
    unknown = counted([NAN, NAN], [0, 1], [[0, 1]])
    assert (unknown.groups_alike, unknown.different_answers_min) == (0, None)


def test_an_output_may_tell_what_its_group_does_not():
    """As mosaics do, whose groups are all patients of one kind."""
    found = counted([1, 1, 0, 0, 0, 1], range(6), [[*range(6)]], [[0, 1], [2, 3], [4, 5]])
    assert (found.groups_alike, found.different_answers_min) == (0, 2)
    assert (found.outputs_where_all_have_a_finding, found.outputs_alike) == (1, 2)


def test_the_finding_of_the_most_outputs_is_named():
    targets = [(1, 1), (1, 1), (0, 1), (0, 1)]
    assert counted(targets, range(4), [[0, 1], [2, 3]]).most_often == "finding 1"


FINDINGS = ("Effusion", "Mass", "Nodule")


@pytest.fixture
def ill(tmp_path):
    """Twelve people of two films each, all with Effusion, most of different labels beside it."""
    lines, files = ["path,patient_id," + ",".join(FINDINGS)], {}
    for patient, film in product(range(12), range(2)):
        path = f"{patient}_{film}.png"
        files[path] = (png(gray(10 * patient + film), 8, 0), f"P{patient}", 1)
        lines.append(f"{path},P{patient},1,{(patient + film) % 2},{patient // 3 % 2}")
    fill(tmp_path, {"who.csv": "\n".join(lines).encode() + b"\n"})
    return Case(tmp_path, files=files).begin()


@pytest.mark.parametrize("spec", ["k-same:k=3,codes=2", "mosaic:g=2,m=2,codes=2"])
def test_where_all_are_ill_the_certificate_and_apply_say_so(ill, spec):
    out = ill.base / "out"
    options = ["--canonical", f"{SIZE}", "--patients", ill.base / "who.csv", "--text", "keep"]
    done = command(ill.source, out, *options, model=spec)
    assert done.exit_code in (0, 3), done.output
    told = json.loads((out / "certificate.json").read_bytes())
    groups, outputs = told["groups"], told["outputs"]
    assert {row["Effusion"] for row in rows((out / "labels.csv").read_bytes())} == {"1"}
    common = told["in_common"]
    assert common["groups_where_all_have_a_finding"] == common["groups_alike"] == groups
    assert common["outputs_where_all_have_a_finding"] == common["outputs_alike"] == outputs
    said = f"of {groups} groups and {outputs} of {outputs} outputs all people have one and the same"
    assert f"{said} finding, most often Effusion: whoever is found there has it" in done.stdout
    page = (out / "certificate.md").read_text()
    assert f"{said} finding, most often `Effusion`" in page
    assert "1 different answer or more" in page
    assert verify.verify(out).sound
