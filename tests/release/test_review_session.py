"""What a person decides about a release is what OUT, its tables and the next `apply` say."""

import hashlib
import json
from unittest.mock import Mock

import numpy as np
import pytest
import review_killing
import torch
from dicom_specimens import dx
from killing import printed
from label_specimens import box_of, coco, ellipse, picture, png_mask
from release_specimens import KINDS, Wave, checked, fill, quarantine, rows, tree
from review_killing import decide
from set_specimens import Case, chest

from anonymize import flow
from anonymize.errors import UsageError
from anonymize.release import movement, verify
from anonymize.release.labels.options import LabelOptions
from anonymize.release.reasons import Refused
from anonymize.release.review import session
from anonymize.release.storage import StorageError, exclusive

FILES = {name: KINDS[name] for name in ("gray8.png", "gray16.png", "rgb.png")}
ALL = sorted(FILES)
ELLIPSE, OTHER = ellipse(), ellipse(axes=(14, 10))


def waiting(release):
    folder = release.private / "waiting"
    return sorted(tree(folder)) if folder.is_dir() else []


def outputs(out):
    """The rows of the manifest of a release that is sound."""
    assert verify.verify(out).sound
    return [row["output"] for row in rows((out / "manifest.csv").read_bytes())]


def test_quarantine_takes_a_picture_out_and_acceptance_brings_it_back(release):
    whole = release(FILES).files
    decide(release.out, "gray16.png", "quarantined")
    assert outputs(release.out) == ["gray8.png", "rgb.png"]
    assert tree(release.out).keys() == {"gray8.png", "rgb.png", "manifest.csv"}
    assert quarantine(release.private) == {"gray16.png": "review"}
    counts = rows((release.out / "manifest.csv").read_bytes())[0]
    assert [counts[f"release_{k}"] for k in ("inputs", "ok", "quarantined")] == ["3", "2", "1"]
    assert waiting(release) == ["gray16.png"]
    decide(release.out, "gray16.png", "accepted")
    assert tree(release.out) == whole
    assert not waiting(release)


def test_apply_does_not_release_again_what_was_sent_to_quarantine(release):
    release(FILES)
    decide(release.out, "rgb.png", "quarantined")
    after = tree(release.out)
    again = release()
    assert again.files == after
    assert again.summary.reasons == {"review": 1}
    assert (again.summary.already_done, again.summary.quarantined) == (2, 1)
    more = release({"renamed/copy.png": FILES["rgb.png"], "other.png": KINDS["rgba.png"]})
    assert set(outputs(release.out)) == {"gray8.png", "gray16.png", "other.png"}
    assert more.quarantine == {"rgb.png": "review", "renamed/copy.png": "review"}
    decide(release.out, "rgb.png", "accepted")
    assert release().summary.complete  # the copy, too
    assert verify.verify(release.out).sound


def test_the_same_file_at_another_path_goes_with_it_unless_somebody_accepted_it(release):
    copies = {f"{name}.png": FILES["rgb.png"] for name in ("kept", "not-looked-at", "rejected")}
    release(copies)
    decide(release.out, "kept.png", "accepted")
    decide(release.out, "rejected.png", "quarantined")
    held = dict.fromkeys(("not-looked-at.png", "rejected.png"), "review")
    assert release().quarantine == held
    assert outputs(release.out) == ["kept.png"]
    decide(release.out, "rejected.png", "accepted")
    assert release().summary.complete


def test_a_rejected_file_stays_out_when_another_takes_its_place(release):
    release(FILES)
    decide(release.out, "rgb.png", "quarantined")
    (release.source / "rgb.png").rename(release.source / "moved.png")
    held = {"moved.png": "review"}
    assert release({"rgb.png": KINDS["rgba.png"]}).quarantine == held
    assert release().quarantine == held
    (release.source / "moved.png").rename(release.source / "rgb.png")
    assert release().quarantine == {"rgb.png": "review"}
    assert outputs(release.out) == ["gray16.png", "gray8.png"]


def test_what_was_waiting_is_not_lost_when_it_is_taken_from_the_folder(release):
    release(FILES)
    decide(release.out, "rgb.png", "quarantined")
    (release.private / "waiting/rgb.png").unlink()
    with pytest.raises(Refused):
        decide(release.out, "rgb.png", "accepted")
    assert release().quarantine == {"rgb.png": "review"}
    (release.source / "rgb.png").unlink()
    release()
    release({"rgb.png": FILES["rgb.png"]})
    assert outputs(release.out) == ["gray16.png", "gray8.png"]


def test_nothing_is_in_out_before_somebody_accepted_it(release):
    first = release(FILES, require_review=True)
    assert first.files == {}
    assert first.quarantine == dict.fromkeys(FILES, "unreviewed")
    assert first.summary.reasons == {"unreviewed": 3}
    assert checked(release.out).exit_code == 2
    assert release(require_review=True).summary.reasons == {"unreviewed": 3}
    decide(release.out, "gray8.png", "accepted")
    assert tree(release.out).keys() == {"gray8.png"}
    decide(release.out, "rgb.png", "quarantined")
    assert checked(release.out).exit_code == 2  # one more was not looked at
    again = release(require_review=True)
    assert again.files.keys() == {"gray8.png"}
    assert again.summary.reasons == {"unreviewed": 1, "review": 1}
    decide(release.out, "gray16.png", "accepted")
    assert outputs(release.out) == ["gray16.png", "gray8.png"]
    assert waiting(release) == ["rgb.png"]


def test_a_reviewed_release_is_the_same_as_one_without_the_rejected_input(release, tmp_path):
    done = release(FILES, require_review=True)
    for name in done.quarantine:
        decide(release.out, name, "quarantined" if name == "rgb.png" else "accepted")
    reviewed = tree(release.out)
    (release.source / "rgb.png").unlink()
    other = release.to(tmp_path / "other")
    reviewed.pop("manifest.csv")
    other.pop("manifest.csv")
    assert reviewed == other


def test_a_changed_input_is_looked_at_again(release):
    release(FILES, require_review=True)
    for name in FILES:
        decide(release.out, name, "accepted")
    whole = tree(release.out)
    changed = release({"gray8.png": KINDS["gray4.png"]}, require_review=True)
    assert changed.files.keys() == {"gray16.png", "rgb.png"}
    assert changed.summary.reasons == {"unreviewed": 1}
    decide(release.out, "gray8.png", "accepted")
    assert outputs(release.out) == ALL
    assert tree(release.out)["gray8.png"] != whole["gray8.png"]


def test_no_folder_is_left_whose_name_may_tell(release):
    release({"ward/DOE/a.png": FILES["gray8.png"], "b.png": FILES["rgb.png"]})
    decide(release.out, "ward/DOE/a.png", "quarantined")
    assert [path.name for path in release.out.iterdir() if path.is_dir()] == []
    assert outputs(release.out) == ["b.png"]
    decide(release.out, "ward/DOE/a.png", "accepted")
    assert outputs(release.out) == ["b.png", "ward/DOE/a.png"]


def test_a_journal_that_could_not_be_written_goes_on_with_a_whole_line(release, monkeypatch):
    release(FILES)
    with session.opened(release.out) as work:
        with monkeypatch.context() as patch:
            full = Mock(side_effect=OSError(28, "No space left on device"))
            patch.setattr("anonymize.release.records.journal.os.fsync", full)
            with pytest.raises(StorageError, match="No space"):
                work.decide(0, "quarantined")
        assert work.counts["undecided"] == 3
        work.decide(1, "quarantined")
    assert quarantine(release.private) == {"gray8.png": "review"}
    assert release().summary.reasons == {"review": 1}


def test_another_call_with_or_without_review_is_refused(release):
    release(FILES, require_review=True)
    with pytest.raises(UsageError, match="or without --require-review"):
        release()


def test_signatures_hold_as_long_as_the_key_is_there(release, tmp_path):
    key = tmp_path / "key"
    release(FILES, sign=True, names="hashed", key_file=key)
    public = tmp_path / "key.pub"
    name = outputs(release.out)[0]
    decide(release.out, name, "quarantined")
    assert verify.verify(release.out, public_key=public).sound
    key.rename(tmp_path / "away")
    with session.opened(release.out) as work:
        assert work.unsigned
    decide(release.out, name, "accepted")
    assert not verify.verify(release.out, public_key=public).sound
    (tmp_path / "away").rename(key)
    with session.opened(release.out) as work:  # what was not done is made up for
        assert not work.unsigned
    assert verify.verify(release.out, public_key=public).sound


def test_signed_when_all_was_looked_at(release, tmp_path):
    options = {"names": "hashed", "key_file": tmp_path / "key", "require_review": True}
    release(FILES, sign=True, **options)
    release(**options)  # what was to be signed stays so
    for name in waiting(release):
        decide(release.out, name, "accepted")
    assert verify.verify(release.out, public_key=tmp_path / "key.pub").sound


def test_labels_go_with_their_image(release, tmp_path):
    images = {"a.png": picture(ELLIPSE), "c.png": picture(OTHER)}
    rejected = (1, {"bbox": [3, 3, 9, 9], "category_id": 3})
    kinds = [{"id": 3, "name": "mass"}, {"id": 5, "name": "nodule"}]
    kept = {"bbox": box_of(ELLIPSE), "category_id": 5}
    labels = {
        "a_mask.png": png_mask(ELLIPSE),
        "boxes.json": coco(["c.png", "a.png"], [rejected, (2, kept)], categories=kinds),
        "t.csv": b"path,x_min,y_min,x_max,y_max,label\na.png,1,2,9,9,A\nc.png,3,4,9,8,B\n",
    }
    fill(tmp_path / "labels", labels)
    given = LabelOptions((tmp_path / "labels",))
    assert release(images, labels=given, require_review=True).files == {}
    decide(release.out, "c.png", "quarantined")
    decide(release.out, "a.png", "accepted")
    assert outputs(release.out) == ["a.png"]
    decide(release.out, "c.png", "accepted")
    whole = tree(release.out)
    decide(release.out, "c.png", "quarantined")
    reviewed = tree(release.out)
    assert whole.keys() == reviewed.keys() | {"c.png"}
    held = {r["image"]: r["outcome"] for r in rows((release.private / "labels.csv").read_bytes())}
    assert held == {"a.png": "released", "c.png": "quarantined"}
    # The same as a release that never saw the other image.
    (release.source / "c.png").unlink()
    fewer = {
        "boxes.json": coco(["a.png"], [(1, kept)], categories=kinds),
        "t.csv": labels["t.csv"].replace(b"c.png,3,4,9,8,B\n", b""),
    }
    fill(tmp_path / "labels", fewer)
    other = release.to(tmp_path / "other", labels=given)
    reviewed.pop("manifest.csv")
    other.pop("manifest.csv")
    assert reviewed == other
    decide(release.out, "a.png", "quarantined")
    assert waiting(release) == ["a.png", "c.png", "labels/labels/a_mask.png"]


def test_outputs_of_several_people(tmp_path):
    case = Case(tmp_path).begin()
    first = case.apply(require_review=True)
    out = tmp_path / "out"
    assert first.reasons["unreviewed"] == first.quarantined
    assert tree(out) == {}
    assert case.apply(require_review=True).reasons == first.reasons
    with session.opened(out) as work:
        names = [entry.output for entry in work.entries]
        members = [len(work.inputs(number)) for number in range(len(work))]
    assert min(members) >= 3
    assert all(name in names for name in tree(case.base / "out-private/waiting"))
    for name in names:
        decide(out, name, "quarantined" if name == names[0] else "accepted")
    assert outputs(out) == names[1:]
    told = json.loads((out / "certificate.json").read_bytes())
    assert told["outputs"] == len(names) - 1
    shown = {r["input"] for r in rows((tmp_path / "out-private/map.csv").read_bytes())}
    assert told["released"] == len(shown)
    reviewed = tree(out)
    again = case.apply(require_review=True)
    assert tree(out) == reviewed
    assert (again.already_done, again.anonymized) == (len(shown), 0)
    decide(out, names[0], "accepted")
    whole = tmp_path / "whole"
    case.apply("whole")
    assert tree(out) == tree(whole)


def test_dicom(release):
    files = {"a.dcm": chest(3, "P1"), "b.png": KINDS["gray8.png"]}
    release(files, names="hashed", require_review=True)
    for name in waiting(release):
        decide(release.out, name, "accepted")
    assert len(outputs(release.out)) == 2


def test_what_was_changed_under_out_cannot_be_accepted(release):
    release(FILES)
    (release.out / "rgb.png").write_bytes(FILES["rgb.png"])  # the very input
    with pytest.raises(Refused):
        decide(release.out, "rgb.png", "accepted")
    decide(release.out, "rgb.png", "quarantined")
    assert outputs(release.out) == ["gray16.png", "gray8.png"]
    assert not waiting(release)


def test_identifying_folders_are_withdrawn_from_what_waits_too(release):
    folder = str(dx().PatientName.family_name)
    files = {f"{folder}/a.png": KINDS["gray8.png"], "b.png": KINDS["rgb.png"]}
    release(files, require_review=True)
    decide(release.out, f"{folder}/a.png", "quarantined")
    release({f"{folder}/scan.dcm": chest(3, "P1")}, require_review=True)
    assert waiting(release) == ["b.png"]
    with session.opened(release.out) as work:
        assert [entry.output for entry in work.entries] == ["b.png"]


def test_progress_is_kept_and_one_reviewer_at_a_time(release):
    release(FILES)
    decide(release.out, "rgb.png", "accepted")
    with session.opened(release.out) as work:
        assert work.counts == {"accepted": 1, "quarantined": 0, "undecided": 2}
        with pytest.raises(UsageError, match="or `review` works on this OUT"):
            release()
        with pytest.raises(UsageError, match="works on this OUT"), session.opened(release.out):
            pass
    release()
    with session.opened(release.out) as work:
        assert work.counts["accepted"] == 1


def test_what_is_no_release_is_refused(release, tmp_path):
    for out, said in ((tmp_path / "none", "OUT is no folder"), (tmp_path, "no journal")):
        with pytest.raises(UsageError, match=said), session.opened(out):
            pass
    release(FILES)
    (release.private / "facts.bin").write_bytes(b"[1]\nx")
    with pytest.raises(UsageError, match="run the same command again"), session.opened(release.out):
        pass
    release()
    with session.opened(release.out):
        pass
    with exclusive(release.out), pytest.raises(UsageError, match="wait until"):
        decide(release.out, "rgb.png", "accepted")


KILLED = {
    "accepted, the last": ("rgb.png", "accepted", {"require_review": True}),
    "quarantined, the last": ("rgb.png", "quarantined", {"require_review": True}),
    "quarantined, of a release": ("rgb.png", "quarantined", {"sign": True}),
}


@pytest.mark.whole
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[] if "sign" in KILLED[case][2] else pytest.mark.slow)
        for case in KILLED
    ],
)
def test_killed_at_any_moment_it_goes_on(release, tmp_path, case):
    name, verdict, options = KILLED[case]
    release(FILES, **options)
    if "require_review" in options:
        decide(release.out, "gray8.png", "accepted")
        decide(release.out, "gray16.png", "accepted")
    done = printed(review_killing, str(tmp_path), name, verdict)
    found = [json.loads(line) for line in done.splitlines()]
    assert len(found) > 10
    end = sorted(FILES) if verdict == "accepted" else ["gray16.png", "gray8.png"]
    for killed in found:
        assert killed["end"] == end
        state = killed["decided"][name]
        if "require_review" in options:  # not there, or accepted
            assert name not in killed["there"] or state == "accepted"
            assert killed["between"] == (None if state == "undecided" else end)
        else:
            assert state == verdict or killed["between"] == sorted(FILES)
        # Whoever looks at OUT alone takes nothing for a release that holds what was rejected.
        before = sorted(FILES) if "sign" in options and state == "undecided" else None
        assert killed["released"] in (None, end, before)
        if state == "quarantined":
            assert killed["released"] is None or name not in killed["released"]
    assert [killed["decided"][name] for killed in (found[0], found[-1])] == ["undecided", verdict]


def test_the_journal_says_who_decided_when_and_holds_the_places_of_text(release):
    release(FILES)
    decide(release.out, "rgb.png", "accepted")
    entries = [json.loads(line) for line in (release.private / "journal.jsonl").open()][1:]
    last = {entry["input"]: entry for entry in entries}
    assert last["rgb.png"]["reviewed"].endswith("+00:00")
    assert not last["gray8.png"]["reviewed"]
    assert (
        hashlib.sha256(tree(release.out)["rgb.png"]).hexdigest()
        == (last["rgb.png"]["output_sha256"])
    )


@pytest.mark.parametrize(("size", "parts"), [((64, 96), (8, 12)), ((160, 80), (8, 10))])
def test_a_coarse_field_is_the_mean_of_the_displacement(size, parts):
    field = flow.pixels(Wave(0.2).displacement(torch.zeros(1, 1, *size)), size)[0].numpy()
    pixels = np.arange(size[0] * size[1], dtype=np.uint8).reshape(*size, 1)
    told = movement.coarse(movement.probe(pixels, field), size)
    assert told["columns"] == parts[1]
    height, width = (side // count for side, count in zip(size, parts, strict=True))
    blocks = field.reshape(2, parts[0], height, parts[1], width).mean((2, 4))
    found = np.reshape([told["right"], told["down"]], blocks.shape) / 10
    np.testing.assert_allclose(found, blocks, atol=0.15 * blocks.max())
    assert np.abs(blocks).max() > 5 * 0.15 * blocks.max()
    assert movement.coarse(movement.probe(pixels, None), size) is None
