"""What a release is good for, looks like and costs, as results hold it; fractions in [0, 1]."""

from pydantic import Field

from attacks.measuring.estimates import Estimate, Figure, LabelAuc, NotWorse, Record


class Classification(Record):
    """What a classifier reads from the images, in the mean over independent trainings.

    ``told`` and ``held_back`` are of the findings that the method was told of, and of those that it
    was not; ``difference`` is that to the real images of the same seeds and draws of patients, and
    ``told_difference`` the same of ``told``.
    """

    auc: LabelAuc
    told: LabelAuc | None = None
    held_back: LabelAuc | None = None
    difference: Estimate | None = None
    told_difference: Estimate | None = None
    margin: NotWorse | None = Field(
        None, description="whether the difference is none to speak of, by itself"
    )
    margin_p_holm: Figure = Field(
        None, description="its p among all methods of the evaluation and this kind of classifier"
    )
    ece: Figure = Field(
        None, description="expected calibration error (Guo et al. 2017), mean of the labels"
    )
    on_released: LabelAuc | None = Field(
        None, description="tested on released images instead; null: auc is of these"
    )


KINDS = ("frozen", "retrained", "pool_only")


class Utility(Record):
    """``frozen``: a classifier trained on real images reads the released ones. ``retrained``: one
    trained on released images reads the real ones. ``pool_only``: one trained on the images of
    other people that the method draws from, without any release, reads the real ones."""

    frozen: Classification | None = None
    retrained: Classification | None = None
    pool_only: Classification | None = None
    over_pool: Estimate | None = Field(
        None, description="retrained less pool_only, of the same seeds and draws; null: no pool"
    )
    readable: bool | None = Field(
        None,
        description="on real images frozen and retrained agree, and read more than chance; null: "
        "not measured",
    )

    def auc(self, kind: str) -> LabelAuc | None:
        """Of "frozen", "retrained" or "pool_only"; None where not measured, or of no label."""
        found = getattr(self, kind)
        return found.auc if found is not None and found.auc.mean is not None else None

    def mean(self, kind: str) -> float | None:
        """Of the labels' AUCs."""
        found = self.auc(kind)
        return None if found is None else found.mean


class Displacement(Record):
    """Length of the displacement in pixels of the image size that was evaluated."""

    mean: Figure
    max: Figure
    rms: Figure = Field(None, description="root of the mean square")
    left: Figure = Field(
        None,
        description="share of the images that are left where they are: their own root mean square "
        "is below a quarter of that",
    )


class ImageChange(Record):
    """How far the released images are from the real ones; PSNR null where one is untouched."""

    ssim: Figure = None
    psnr: Figure = None
    untouched: Figure = Field(None, description="share with the pixels of their own original")
    of_others: Figure = Field(
        None, description="share with the pixels of a real image of another patient"
    )
    donors: Estimate | None = Field(
        None,
        description="AUC of telling the films of other people that a method draws from from those "
        "that it does not, by the released image most like each; null: it draws from none",
    )
    labels: Estimate | None = Field(
        None,
        description="AUC, against matched impostors where there are any, of comparing the labels "
        "that a method says of its outputs with what a classifier reads in real images; null: it "
        "says none",
    )
    marks: Estimate | None = Field(
        None,
        description="AUC, against matched impostors where there are any, of the lowest bits of two "
        "released images: a watermark links so; null: of a release of sets, or not measured",
    )
    displacement_px: Displacement | None = None
    min_jacobian: Figure = None


class SetFigures(Record):
    """What a release of sets is made of; counts are of the evaluated part."""

    outputs: int
    shown: int | None = Field(
        None,
        description="outputs that attackers and classifiers saw; null: not counted, no more than "
        "one an image",
    )
    images: int
    withheld: int = Field(description="images that nothing was released of")
    contributors: int = Field(description="images that went into an output, at least")
    groups: int = Field(description="of patients, whose images are never mixed with others'")
    bound: Figure = Field(
        None,
        description="share of the outputs whose patient can be named rightly at most, in the mean "
        "over lots; null: nothing is promised",
    )

    @property
    def unseen(self) -> int:
        """Outputs that neither attackers nor classifiers saw, at least."""
        seen = self.images - self.withheld if self.shown is None else self.shown
        return max(0, self.outputs - seen)


class Cost(Record):
    """What a method costs."""

    seconds_per_image: Figure = None
    parameters: int | None = None
