"""Wrong usage is one line and status 2 before torch is imported, which takes seconds, as the end of
a program that imported it would."""

import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

WRONG = {
    "anonymize apply missing out --model dp-pix": "IN does not exist",
    "anonymize apply in in --model dp-pix": "must not be the same",
    "anonymize apply in in/out --model dp-pix": "lie in one another",
    "anonymize apply in text.txt --model dp-pix": "must be a folder",
    "anonymize apply in text.txt/out --model dp-pix": "must be a folder",
    "anonymize apply in out": "no --model was given",
    "anonymize apply in out --model nonsense": "neither a run, a model file nor a method",
    "anonymize apply in out --model text.txt": "no safetensors file",
    "anonymize apply in out --model dp-pix:b=0": "greater than or equal to 1",
    "anonymize apply in out --model dp-pix:b": "key=value",
    "anonymize apply in out --model dp-pix:epsilon=inf": "a finite number",
    "anonymize apply in out --model dp-pix --time-limit nan": "a finite number",
    "anonymize apply in out --model random-warp:mu=nan": "a finite number",
    "anonymize apply in out --model random-warp:nonsense=1": "unknown option nonsense",
    "anonymize apply in out --model prichexy-net:missing": "cannot be read",
    "anonymize apply in out --model dp-pix --workers 0": "--workers",
    "anonymize apply in out --model dp-pix --canonical 1x": "--canonical must be",
    "anonymize apply in out --model dp-pix --device nonsense": "--device 'nonsense' is not",
    "anonymize apply in out --model dp-pix --key-file text.txt": "at least 32 bytes",
    "anonymize apply in out --model dp-pix --names hashed --key-file no/k": "does not exist",
    "anonymize apply in out --model dp-pix --retain uids": "longitudinal-modified-dates",
    "anonymize apply in out --model dp-pix --labels missing": "--labels 1 does not exist",
    "anonymize apply in out --model dp-pix --patients missing": "--patients cannot be read",
    "anonymize apply empty out --model dp-pix": "IN holds no files",
    "anonymize verify empty": "OUT holds no manifest.csv",
    "anonymize verify none": "OUT is no folder that is there",
    "anonymize review none": "OUT is no folder that is there",
    "anonymize merge none out": "SHARD none must be a folder",
    "anonymize apply in out --model dp-pix --shard 3/2": "--shard must be I/N",
    "anonymize merge in out": "a SHARD must be a folder",
    "anonymize review in": "holds no journal of a release",
    "anonymize receive out --allow A --model nonsense": "neither a run, a model file nor a method",
    "anonymize receive out --allow A --model dp-pix:b=0": "greater than or equal to 1",
    "anonymize receive out --allow A --model dp-pix --forward-to A": "--forward-to must be AET@",
    "anonymize receive out --allow A --model dp-pix --tls-cert A --tls-key A": "must be PEM files",
    "anonymize receive out --allow A --model dp-pix --forward-ca text.txt": "need --forward-to",
    "anonymize apply in out --model dp-pix --canonical 64 --clean-descriptors": "leave --retain",
    "anonymize train --mu 0": "mu is 0, which moves no pixel, so there is nothing to train; give",
    "anonymize train --mu nan": "a finite number",
    "anonymize train --mu -1": "Invalid value for '--mu': -1.0 is not in the range x>=0",
    "anonymize train --set generator.mu=0": "real images: attacks evaluate --method identity",
    "anonymize train --mu 0.1 classifier": "--mu stands before classifier",
    "anonymize train classifier --mu 0.1": "No such option '--mu'",
    "anonymize train classifer": "No such command 'classifer'",
    "anonymize train --set generator.strength=1": "generator.strength; known here: method",
    "anonymize train --set mu=0.1": "(did you mean generator.mu?)",
    "anonymize train verifier --set verifier.epoch=1": "(did you mean verifier.epochs?)",
    "anonymize train verifier --set verifyer.epochs=1": "(did you mean verifier?)",
    "anonymize train --set mu": "--set must read key=value",
    "anonymize train --set data.size=40": "data.size must be a multiple of 16",
    "anonymize train --set generator.kernel=4": "generator.kernel must be odd",
    "anonymize train --config no-such": "prichexy_net, privacy_net, quick or a readable YAML file",
    "anonymize train --config wrong.yaml": "(did you mean adversarial.verification_weight?)",
    "anonymize train --resume no-such": "--resume no-such is no run: it has no options.yaml",
    "anonymize train --classifier no-such": "model file no-such cannot be read (FileNotFoundError)",
    "anonymize train --source atlantis": "source must be one of phantom, chestxray14",
    "anonymize train --source folder --root no-such": "--root is not a folder that can be read",
    "anonymize train --config bad.yaml": "is not YAML",
    "anonymize train --set nonsense=1": "unknown option nonsense",
    "anonymize train --source chestxray14": "--root",
    "anonymize data show --source nonsense": "source must be one of",
    "anonymize model show text.txt": "no safetensors file",
    "anonymize data show --size 3": "option size: it must be greater than or equal to 16",
    "anonymize model show no-such": "model file no-such cannot be read (FileNotFoundError)",
    "anonymize model convert no-such out": "weight file no-such cannot be read (FileNotFoundError)",
    "anonymize recommend --root missing": "--root is not a folder",
    "attacks evaluate": "no finished run",
    "attacks evaluate --method nonsense": "neither a run, a model file nor a method",
    "attacks evaluate --method dp-pix:b=0": "greater than or equal to 1",
    "attacks evaluate --method dp-pix --attackers nonsense": "attackers must be among",
    "attacks evaluate --method dp-pix --set nonsense=1": "unknown option nonsense",
    "attacks evaluate --source atlantis": "source must be one of phantom, chestxray14",
    "attacks evaluate --run missing": "--run missing is no run",
    "attacks evaluate --config missing": "config must be one of",
    "attacks release in missing": "RELEASED must be the folder",
    "attacks release missing in": "REAL must be an image",
    "attacks link in missing --source phantom": "REAL must be an image",
    "attacks release empty in --attackers nonsense": "attackers must be among",
    "attacks verify text.txt text.txt": "name one with --source and --root, a --config, or a "
    "--run; or learn from drawn images with --source phantom",
    "attacks verify text.txt text.txt --source phantom --attacker nonsense": "must be among",
    "attacks retrieve text.txt": "Missing option '--gallery'",
    "attacks retrieve text.txt --gallery missing --source phantom": "--gallery must be an image",
    "attacks overlap in in": "A and B must not be the same or lie in one another",
    "attacks overlap in missing --source phantom": "B must be an image, a folder or source:root",
    "attacks check --attackers nonsense": "attackers must be among",
    "attacks scaling --config missing": "config must be one of",
    "attacks explain": "there is no finished run under ./runs",
    "attacks explain --run missing": "--run missing is no run",
    "attacks explain --verifier text.txt --method nonsense": "neither a run, a model file nor a",
    "attacks watch missing": "missing has no progress.json",
    "attacks report missing": "RESULTS.json must be a file",
    "attacks report text.txt": "results file",
    "attacks report text.txt --answers text.txt": "judged by a --policy",
    "attacks report text.txt --policy nonsense": "--policy must be one of",
    "attacks compare text.txt": "needs two results or more",
    "attacks compare text.txt missing": "RESULTS.json must be a file",
    "attacks compare text.txt text.txt": "given twice",
    "attacks evaluate --method dp-pix --policy nonsense": "--policy must be one of",
    "attacks evaluate --method dp-pix --policy public --release in": "has no manifest.csv",
    "attacks evaluate --method dp-pix --policy public --answers missing": "must be a file",
    "attacks evaluate --method dp-pix --release in": "judged by a --policy",
    "attacks release in in --policy bad.yaml": "readable YAML file",
    "attacks release in in --answers text.txt": "judged by a --policy",
}
# Every command line in one process; what it said, and what heavy it had imported by then.
RUN = """
import json, sys
from importlib import import_module
from click.testing import CliRunner
for line in json.loads(sys.argv[1]):
    program, *arguments = line.split()
    found = CliRunner().invoke(import_module(f"{program}.cli").main, arguments)
    heavy = {"torch", "kornia", "monai", "sklearn", "matplotlib"} & set(sys.modules)
    print(json.dumps([line, found.exit_code, found.output, *heavy]), flush=True)
"""
FILES = {
    **{"in/a.png": "none", "text.txt": "none", "bad.yaml": "a: ["},
    "wrong.yaml": "adversarial: {verification_wieght: 2.0}",
}


def test_wrong_usage_is_one_line_at_once(tmp_path):
    for name in ("in", "empty"):
        (tmp_path / name).mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-c", RUN, json.dumps(list(WRONG))]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {*FILES, "in", "empty"}
    answers = {line: found for line, *found in map(json.loads, run.stdout.splitlines())}
    assert answers.keys() == WRONG.keys(), run.stderr
    for line, (status, said, *heavy) in answers.items():
        assert (status, said.count("\n"), heavy) == (2, 1, []), (line, said)
        assert said.startswith("Error: "), line
        assert WRONG[line] in said, (line, said)


@pytest.mark.parametrize("words", ["verify missing", "verify --nonsense", "apply missing out"])
def test_the_exit_status_is_the_same_where_nothing_can_be_said(words):
    command = [sys.executable, "-m", "anonymize", *words.split()]
    with open("/dev/full", "w") as full:
        assert subprocess.run(command, stdout=full, stderr=full).returncode == 2


HELP = """
import resource, sys
from click.testing import CliRunner
from attacks.cli import main
for name in ("report", "compare", "watch", "release", "evaluate"):
    found = CliRunner().invoke(main, [name, "--help"])
    print(name, found.exit_code, "Example" in found.output)
print("torch" in sys.modules, resource.getrusage(resource.RUSAGE_SELF).ru_utime < 1)
"""


def test_help_needs_neither_torch_nor_much_time():
    out = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    *each, last = out.stdout.splitlines()
    assert len(each) == 5
    assert all(line.endswith(" 0 True") for line in each), each
    assert last == "False True"


def test_what_reads_files_is_ready_without_torch_and_signal_processing():
    code = "import sys; from anonymize.release import decode, encode\n"
    code += "from anonymize.release.checking import verification\n"
    code += "print({'torch', 'scipy.signal', 'pydicom.sr'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


ENDING = """
import atexit, gc, sys
atexit.register(lambda: print("objects left out of the search:", gc.get_freeze_count() > 0))
from anonymize.cli import main
main(sys.argv[1:])
"""


def test_its_end_does_not_search_all_that_was_imported():
    command = [sys.executable, "-c", ENDING, "verify", "missing"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = done.returncode, done.stdout
    assert found == (2, "objects left out of the search: True\n")


RELEASE = """
import sys
from click.testing import CliRunner
from anonymize.cli import main
words = ["in", "out", "--model", "dp-pix", "--text", "keep", "--workers", "1"]
print(CliRunner().invoke(main, ["apply", *words]).exit_code)
print(*{"kornia", "scipy.linalg", "sklearn"} & set(sys.modules))
"""


def test_a_release_without_warps_begins_without_what_warps(tmp_path):
    """Half a second of every start."""
    (tmp_path / "in").mkdir()
    Image.fromarray(np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)).save(tmp_path / "in/a.png")
    command = [sys.executable, "-c", RELEASE]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert run.stdout.splitlines() == ["0", ""]
