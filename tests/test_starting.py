"""Wrong usage is answered before torch is imported, which takes seconds; so is no start wasted."""

import json
import os
import subprocess
import sys

import pytest

WRONG = {
    "anonymize apply missing out --model dp-pix": "IN does not exist",
    "anonymize apply in in --model dp-pix": "must not be the same",
    "anonymize apply in out": "no --model was given",
    "anonymize apply in out --model nonsense": "neither a run, a model file nor a method",
    "anonymize apply in out --model text.txt": "no safetensors file",
    "anonymize apply in out --model dp-pix:b=0": "greater than or equal to 1",
    "anonymize apply in out --model dp-pix:b": "key=value",
    "anonymize apply in out --model random-warp:nonsense=1": "unknown option nonsense",
    "anonymize apply in out --model prichexy-net:missing": "cannot be read",
    "anonymize apply in out --model dp-pix --workers 0": "--workers",
    "anonymize apply in out --model dp-pix --canonical 1x": "--canonical must be",
    "anonymize apply in out --model dp-pix --device nonsense": "--device 'nonsense'",
    "anonymize apply in out --model dp-pix --key-file text.txt": "at least 32 bytes",
    "anonymize apply in out --model dp-pix --labels missing": "--labels 1 does not exist",
    "anonymize apply in out --model dp-pix --patients missing": "--patients cannot be read",
    "anonymize apply empty out --model dp-pix": "IN holds no files",
    "anonymize verify empty": "OUT holds no manifest.csv",
    "anonymize apply in out --model dp-pix --shard 3/2": "--shard must be I/N",
    "anonymize merge in out": "a SHARD must be a folder",
    "anonymize review in": "holds no journal of a release",
    "anonymize receive out --allow A --model nonsense": "neither a run, a model file nor a method",
    "anonymize receive out --allow A --model dp-pix:b=0": "greater than or equal to 1",
    "anonymize receive out --allow A --model dp-pix --forward-to A": "--forward-to must be AET@",
    "anonymize receive out --allow A --model dp-pix --tls-cert A --tls-key A": "must be PEM files",
    "anonymize receive out --allow A --model dp-pix --forward-ca text.txt": "need --forward-to",
    "anonymize apply in out --model dp-pix --canonical 64 --clean-descriptors": "leave --retain",
    "anonymize train --mu 0": "mu is 0",
    "anonymize train --config bad.yaml": "is not YAML",
    "anonymize train --set nonsense=1": "unknown option nonsense",
    "anonymize train --source chestxray14": "--root",
    "anonymize data show --source nonsense": "source must be one of",
    "anonymize model show text.txt": "no safetensors file",
    "anonymize recommend --root missing": "--root is not a folder",
    "attacks evaluate": "no finished run",
    "attacks evaluate --method nonsense": "neither a run, a model file nor a method",
    "attacks evaluate --method dp-pix:b=0": "greater than or equal to 1",
    "attacks evaluate --method dp-pix --attackers nonsense": "attackers must be among",
    "attacks evaluate --method dp-pix --set nonsense=1": "unknown option nonsense",
    "attacks evaluate --run missing": "is no run",
    "attacks evaluate --config missing": "config must be one of",
    "attacks release in missing": "RELEASED must be the folder",
    "attacks release missing in": "REAL must be an image",
    "attacks link in missing --source phantom": "REAL must be an image",
    "attacks verify text.txt text.txt": "learns from a data set",
    "attacks retrieve text.txt --gallery missing --source phantom": "--gallery must be an image",
    "attacks overlap in in": "A and B must not be the same",
    "attacks check --attackers nonsense": "attackers must be among",
    "attacks scaling --config missing": "config must be one of",
    "attacks explain --run missing": "is no run",
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
    "attacks release in in --policy bad.yaml": "readable YAML file",
    "attacks release in in --answers text.txt": "judged by a --policy",
}
# Every command line in one process; what it said, and whether torch was there behind it.
RUN = """
import json, sys
from importlib import import_module
from click.testing import CliRunner
for line in json.loads(sys.argv[1]):
    program, *arguments = line.split()
    found = CliRunner().invoke(import_module(f"{program}.cli").main, arguments)
    print(json.dumps([line, found.exit_code, found.output, "torch" in sys.modules]), flush=True)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "in").mkdir()
    (folder / "empty").mkdir()
    for name in ("in/a.png", "text.txt"):
        (folder / name).write_text("none")
    (folder / "bad.yaml").write_text("a: [")
    command = [sys.executable, "-c", RUN, json.dumps(list(WRONG))]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=os.environ)
    return {found[0]: found[1:] for found in map(json.loads, run.stdout.splitlines())}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_usage_is_answered_without_torch(answers, line):
    status, said, torch_there = answers[line]
    assert (status, said.count("\n")) == (2, 1)
    assert WRONG[line] in said
    assert not torch_there


@pytest.mark.parametrize("words", ["verify missing", "verify --nonsense", "apply missing out"])
def test_the_exit_status_is_the_same_where_nothing_can_be_said(words):
    command = [sys.executable, "-m", "anonymize", *words.split()]
    with open("/dev/full", "w") as full:
        assert subprocess.run(command, stdout=full, stderr=full).returncode == 2


@pytest.mark.parametrize("name", ["report", "compare", "watch", "release", "evaluate"])
def test_help_needs_neither_torch_nor_much_time(name):
    code = (
        "import resource, sys; from click.testing import CliRunner; from attacks.cli import main;"
    )
    code += f"found = CliRunner().invoke(main, ['{name}', '--help']);"
    code += "used = resource.getrusage(resource.RUSAGE_SELF).ru_utime;"
    code += "print(found.exit_code, 'Example' in found.output, 'torch' in sys.modules, used < 1)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["0", "True", "False", "True"]


def test_what_reads_files_is_ready_without_torch_and_signal_processing():
    code = "import sys; from anonymize.release import decode, encode\n"
    code += "from anonymize.release.checking import verification\n"
    code += "print({'torch', 'scipy.signal', 'pydicom.sr'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
