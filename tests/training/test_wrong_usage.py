"""Wrong usage is one line and status 2, at once: before torch and the plug-ins are imported."""

import json
import subprocess
import sys

import pytest

WRONG = {
    "train --mu -1": "Invalid value for '--mu': -1.0 is not in the range x>=0",
    "train --mu 0": "mu is 0, which moves no pixel, so there is nothing to train; give --mu",
    "train --set generator.mu=0": "or measure real images: attacks evaluate --method identity",
    "train --mu 0.1 classifier": "--mu stands before classifier",
    "train classifier --mu 0.1": "No such option '--mu'",
    "train classifer": "No such command 'classifer'",
    "train --set generator.strength=1": "unknown option generator.strength; known here: method,",
    "train --set mu=0.1": "(did you mean generator.mu?)",
    "train verifier --set verifier.epoch=1": "(did you mean verifier.epochs?)",
    "train verifier --set verifyer.epochs=1": "(did you mean verifier?)",
    "train --set mu": "--set must read key=value",
    "train --set data.size=40": "data.size must be a multiple of 16",
    "train --set generator.kernel=4": "generator.kernel must be odd",
    "train --config no-such": "prichexy_net, privacy_net, quick or a readable YAML file",
    "train --config wrong.yaml": "(did you mean adversarial.verification_weight?)",
    "train --resume no-such": "--resume no-such is no run: it has no options.yaml",
    "train --classifier no-such": "model file no-such cannot be read (FileNotFoundError)",
    "train --source atlantis": "source must be one of phantom, chestxray14",
    "train --source folder --root no-such": "--root is not a folder that can be read",
    "data show --size 3": "option size: it must be greater than or equal to 16",
    "model show no-such": "model file no-such cannot be read (FileNotFoundError)",
    "model convert no-such out": "weight file no-such cannot be read (FileNotFoundError)",
}
ANSWERS = """
import json, sys
from anonymize.cli import main
from click.testing import CliRunner

for words in sys.argv[1:]:
    result = CliRunner().invoke(main, words.split())
    heavy = {"torch", "kornia", "monai", "sklearn", "matplotlib"} & set(sys.modules)
    print(json.dumps([words, result.exit_code, result.stderr, *heavy]))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Of every command: its status, what it says, and what heavy it has imported by then."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "wrong.yaml").write_text("adversarial: {verification_wieght: 2.0}")
    command = [sys.executable, "-c", ANSWERS, *WRONG]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert [path.name for path in folder.iterdir()] == ["wrong.yaml"]
    lines = map(json.loads, done.stdout.splitlines())
    return {words: (code, said, heavy) for words, code, said, *heavy in lines}


@pytest.mark.parametrize("command", WRONG)
def test_it_is_told_in_one_line_at_once(answers, command):
    code, said, heavy = answers[command]
    assert WRONG[command] in said
    assert (code, heavy) == (2, [])
    assert said.startswith("Error: ")
    assert said.count("\n") == 1
