"""Results are overwritten by what they are of alone: the same question of the same contents."""

import json
from types import SimpleNamespace

import pytest
from asked import ask
from changing import altered
from identities import saved_verifier
from overlapping import taught_on
from test_results import made_up

from anonymize.errors import UsageError
from attacks.cli import main
from attacks.evaluation import contents
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.claim import CONTENTS, claimed, finished

OF = {"data.root": "/data", "methods": ["a"]}


def written(out, *found, of=OF):
    """Results of one subject, whose inputs are found to hold these, one after another."""
    with claimed(out, "results", of) as holds:
        for one in found:
            holds(one)
        (out / "results.json").write_text("{}")
    return json.loads((out / "results.of.json").read_text())


def refused(out, *found, of=OF):
    """What stands in brackets where they are refused."""
    before = (out / "results.of.json").read_bytes()
    with pytest.raises(UsageError, match=r"results of something else \(.*\); choose") as error:
        written(out, *found, of=of)
    assert (out / "results.of.json").read_bytes() == before
    return str(error.value).partition("(")[2].partition(")")[0]


def test_other_contents_at_the_same_paths_are_refused(tmp_path):
    out = tmp_path / "out"
    assert written(out, {"the images": "1"}, {"the model a": "2"})[CONTENTS] == {
        "the images": "1",
        "the model a": "2",
    }
    written(out, {"the images": "1", "the model a": "2"})
    assert refused(out, {"the images": "x"}) == "the images"
    assert refused(out, {"the images": "1", "the model a": "x"}) == "the model a"
    assert refused(out, of=OF | {CONTENTS: {"the images": "x"}}) == "the images"
    assert refused(out, of=OF | {"data.root": "/other"}) == "data.root"


def test_what_is_asked_for_besides_is_noted(tmp_path):
    out = tmp_path / "out"
    written(out, {"the images": "1"})
    found = written(out, {"the images": "1", "the model b": "3"}, of=OF | {"methods": ["a", "b"]})
    assert found[CONTENTS] == {"the images": "1", "the model b": "3"}


def test_a_claim_from_before_contents_were_noted_goes_on(tmp_path):
    out = tmp_path / "out"
    written(out)
    (out / "results.of.json").write_text(json.dumps(OF))
    assert finished(out, "results", OF, lambda: pytest.fail("nothing to compare"))
    assert written(out, {"the images": "1"})[CONTENTS] == {"the images": "1"}
    assert refused(out, {"the images": "2"}) == "the images"


def test_what_was_stopped_without_results_goes_on(tmp_path):
    def stopped(contents):
        with claimed(out, "results", OF) as holds:
            holds(contents)
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        stopped({"the images": "1"})
    assert written(out, {"the images": "2"})[CONTENTS] == {"the images": "2"}


def test_results_of_a_process_that_was_killed_before_its_end_are_of_its_contents(tmp_path):
    out = tmp_path / "out"
    with claimed(out, "results", OF) as holds:
        holds({"the images": "1"})
        (out / "results.json").write_text("{}")
        killed = (out / "results.of.json").read_bytes()
    (out / "results.of.json").write_bytes(killed)
    assert refused(out, {"the images": "2"}) == "the images"
    assert finished(out, "results", OF, lambda: {"the images": "2"}) is None


def test_finished_results_are_of_the_same_contents(tmp_path):
    out = tmp_path / "out"
    assert finished(out, "results", OF, dict) is None
    written(out, {"the images": "1"})
    assert finished(out, "results", OF, lambda: {"the images": "1"}) == out / "results.json"
    assert finished(out, "results", OF, lambda: {"the images": "2"}) is None
    assert finished(out, "results", OF | {"methods": ["a", "b"]}, dict) is None


def test_what_is_given_is_known_by_what_it_holds(data, options, tmp_path, monkeypatch):
    """And not what the evaluation trains itself, which may not be there yet."""
    monkeypatch.setattr(
        Entrant, "model", lambda entrant, device="cpu": SimpleNamespace(fingerprint=entrant.spec)
    )
    out, given = tmp_path / "out", tmp_path / "given"
    own, fits, begun = out / "runs/own", given / "fits", given / "begun"
    for run in (own, fits, begun):
        run.mkdir(parents=True)
    for run in (own, fits):
        (run / "model.safetensors").touch()
    trained = [Entrant(str(run), options, {"n": n}) for n, run in enumerate((own, fits, begun))]
    verifier = tmp_path / "verifier.safetensors"
    plan = Plan([Entrant("a"), *trained], options, parts={"verifier": str(verifier)})
    found = []
    for seed in (0, 1):
        saved_verifier(verifier, seed=seed)
        found.append(contents.contents_of(plan, data, out))
    assert found[0]["the images"] == data.table.fingerprint
    models = {key: value for key, value in found[0].items() if key.startswith("the model")}
    assert models == {"the model a": "a", "the model prichexy-net n=1": str(fits)}
    assert {key for key in found[0] if found[0][key] != found[1][key]} == {"the verifier"}


@pytest.mark.whole
@pytest.mark.usefixtures("undrawn")
def test_another_data_set_at_the_same_path_is_no_reason_to_overwrite(tmp_path):
    given, out = taught_on(tmp_path), tmp_path / "out"
    words = ("evaluate", *given, "--method", "gaussian-blur", "--attackers", "training-free")
    words += ("--set", "evaluation.utility=false", "--device", "cpu", "--out", out)
    ask(main, *words)
    ask(main, *words)
    before = (out / "results.json").read_bytes()
    listed = tmp_path / "known" / "list.csv"
    listed.write_text(listed.read_text().replace(",k", ",other"))
    for more in ((), ("--policy", "public")):
        said = ask(main, *words, *more, code=2).output
        assert f"{out} holds results of something else (the images, who is in which part)" in said
        assert (out / "results.json").read_bytes() == before


@pytest.mark.usefixtures("undrawn")
def test_nor_are_reports_and_comparisons_of_other_images_overwritten(tmp_path):
    def write(name, images):
        (tmp_path / name).mkdir(exist_ok=True)
        found = made_up()
        source = altered(found.source, fingerprint=images)
        altered(found, source=source).write(tmp_path / name / "results.json")

    report = ("report", tmp_path / "a", "--out", tmp_path / "report")
    compare = ("compare", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "compared")
    write("b", "1")
    for images in ("1", "2"):
        write("a", images)
        for words, of in ((report, ""), (compare, " of a")):
            said = ask(main, *words, code=0 if images == "1" else 2).output
            assert images == "1" or f"of something else (the images{of})" in said
