"""A package of somebody else with a method and an attacker, installed by pip from a wheel."""

import subprocess
import sys
import zipfile

MODULE = '''
"""What a stranger writes: a method is ``anonymize``, an attacker is ``score``."""

import numpy as np
from pydantic import Field

from anonymize.anonymizer import Anonymizer
from anonymize.section import Options
from attacks.attacker import Attacker


class Inverted(Anonymizer):
    """White bones become black."""

    def anonymize(self, images):
        return 1 - images


class Dim(Anonymizer):
    class Options(Options):
        share: float = Field(0.5, gt=0, le=1, description="of the brightness that is left")

    def anonymize(self, images):
        return images * self.settings.share


class MeanBrightness(Attacker):
    """The mean brightness, nothing learnt."""

    class Options(Options):
        power: float = Field(1.0, gt=0, description="of the brightness")

    def score(self, probes, gallery):
        asked, known = (
            (images.float().mean(dim=(1, 2, 3)) ** self.settings.power).numpy()
            for images in (probes, gallery)
        )
        return -np.abs(asked[:, None] - known).astype(np.float32)


class Learner(Attacker):
    """It learns a mean."""

    def fit(self, auxiliary, *, seed):
        self.mean = float(auxiliary.released.images.float().mean())
        return self

    def score(self, probes, gallery):
        asked, known = (
            np.sign(images.float().mean(dim=(1, 2, 3)).numpy() - self.mean)
            for images in (probes, gallery)
        )
        return (asked[:, None] * known).astype(np.float32)


class WritesTensors(Attacker):
    def score(self, probes, gallery):
        return gallery.new_zeros(len(probes), len(gallery), dtype=float)


class Lacking(Attacker):
    """It has no score."""


class NeedsOption(Attacker):
    class Options(Options):
        must: int

    def score(self, probes, gallery):
        return np.zeros((len(probes), len(gallery)), np.float32)
'''

ENTRY_POINTS = """
[anonymize.methods]
inverted = foreign_plugins:Inverted
dim = foreign_plugins:Dim
broken-method = foreign_plugins:Absent
no-method = foreign_plugins:MODULE

[attacks.attackers]
mean-brightness = foreign_plugins:MeanBrightness
learner = foreign_plugins:Learner
broken-attacker = no_such_module:Nothing
needs-option = foreign_plugins:NeedsOption
writes-tensors = foreign_plugins:WritesTensors
lacking = foreign_plugins:Lacking
"""


def install(folder):
    """Makes a wheel and has pip install it in ``folder``."""
    wheel = folder / "foreign_plugins-1.0-py3-none-any.whl"
    info = "foreign_plugins-1.0.dist-info"
    files = {
        "foreign_plugins.py": MODULE + "\nMODULE = 1\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: foreign-plugins\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": ENTRY_POINTS,
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    site = folder / "site"
    options = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", site, wheel], check=True
    )
    return site
