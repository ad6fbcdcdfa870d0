"""Every installed method, at strengths at which something can be seen, for the contract tests.

A new method needs a line here; ``test_no_method_is_forgotten`` asks for it.
"""

import os
from dataclasses import dataclass

import torch

from anonymize.anonymizer import method_class
from anonymize.model_file import save_model

KEY = bytes(range(32))

SPLINE = {"unit": "pixels", "controls": 6, "squarings": 4}


@dataclass(frozen=True)
class Case:
    """One method with its options.

    Attributes:
        name: entry point.
        options: text behind ``NAME:``; of a trained method, empty.
        generator: options of a trained method's generator, which is saved without training.
        key: whether its noise is keyed.
        zero: whether it changes nothing.
    """

    name: str
    options: str = ""
    generator: dict | None = None
    key: bool = False
    zero: bool = False

    def __str__(self):
        more = ",".join(f"{k}={v}" for k, v in (self.generator or {}).items())
        return f"{self.name}:{self.options}{more}" + ",key" * self.key

    @property
    def seeded(self):
        """Whether everybody can repeat its noise."""
        return "seed=" in self.options

    @property
    def refused(self):
        """Whether no release is made with it."""
        return self.zero or self.seeded

    def spec(self, folder):
        """What a user types; files are made in ``folder``."""
        if self.generator is not None:
            return f"{self.name}:{saved(self.name, folder / 'run', **self.generator)}"
        text = f"{self.name}:{self.options}"
        return f"{text},key_file={written(folder / 'secret')}" if self.key else text


CASES = (
    Case("identity", zero=True),
    Case("dp-pix", "b=4,epsilon=5,seed=1"),
    Case("dp-pix", "b=4,epsilon=5", key=True),
    Case("dp-pix", "b=4,epsilon=5"),
    Case("gaussian-blur", "sigma=0.05"),
    Case("gaussian-blur", "sigma=0", zero=True),
    Case("down-sampling", "factor=4"),
    Case("down-sampling", "side=8"),
    Case("down-sampling", "factor=1", zero=True),
    Case("random-warp", "mu=0.05,size=32,seed=1"),
    Case("random-warp", "mu=0.05,size=32", key=True),
    Case("random-warp", "mu=0.05,size=32"),
    Case("random-warp", "mu=0", zero=True),
    Case("random-warp", "mu=0.05,size=32,controls=6,squarings=4,seed=1"),
    Case("random-warp", "rms=0.3,size=32,border=reference,seed=1"),
    Case("random-warp", "mu=0.05,size=32,controls=6,tone=0.1"),
    Case("random-warp", "rms=0.03,size=32,controls=6,squarings=4"),
    Case("prichexy-net", generator={"features": 4, "mu": 0.05}),
    Case("prichexy-net", generator={"features": 4, "mu": 0}, zero=True),
    Case("prichexy-net", generator={"features": 4, "mu": 3, **SPLINE}),
    Case("prichexy-net", generator={"features": 4, "mu": 3, "tone": 0.2, **SPLINE}),
    Case("prichexy-net", generator={"features": 4, "mu": 3, "drawn": 0.2, **SPLINE}),
    Case("privacy-net", generator={"features": 2}),
)

# Methods that release sets, for tests of their own.
SET_CASES = (
    Case("k-same", "k=3,seed=1"),
    Case("k-same", "k=3", key=True),
    Case("k-same", "k=4,codes=1,small=withhold"),
    Case("k-same", "k=3,by=teacher,codes=3,seed=1"),
    Case("mosaic", "g=2,seed=1"),
    Case("mosaic", "g=2", key=True),
    Case("mosaic", "g=3,m=2"),
    Case("mosaic", "g=2,m=2,warp=0.1,seed=1"),
    Case("mosaic", "g=3,m=9,uses=2,feather=0,seed=1"),
    Case("mosaic", "g=2,m=2,read=0.5,seed=1"),
    Case("mosaic", "g=2,m=2,band=coarse", key=True),
    Case("mosaic", "g=2,m=2,band=fine,cut=0.03,seed=1"),
    Case("k-same", "k=3,read=1", key=True),
    Case("mosaic", "g=2,m=1,by=teacher,codes=2,feather=1,seed=1"),
    Case("utility-code", "codes=4,donors=3,seed=1"),
    Case("utility-code", "codes=3,donors=3,own=0.3", key=True),
    Case("utility-code", "codes=2,donors=3,pool=1"),
    Case("neural-obfuscation", "steps=3,embedding=4,width=2,batch=20,seed=1"),
    Case("neural-obfuscation", "steps=2,embedding=4,width=2", key=True),
    Case("neural-obfuscation", "steps=1,embedding=4,width=2,rho=0"),
    Case("utility-code", "codes=4,donors=3,per=image,seed=1"),
)


def saved(name, run, **options):
    """The model file of a trained method at 32 px, with weights that were not trained."""
    method = method_class(name)
    torch.manual_seed(0)
    generator = method.Generator(method.Options(**options))
    model = method(generator, size=32)
    save_model(generator.core, model.card(data={}, figures={}), run / "model.safetensors")
    return run / "model.safetensors"


def written(file, secret=KEY):
    """``file`` with a secret that nobody else may read."""
    file.touch(mode=0o600)
    os.chmod(file, 0o600)
    file.write_bytes(secret)
    return file
