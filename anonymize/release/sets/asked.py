"""What a method that sees a set of images must be asked for, and what it cannot do."""

from anonymize.anonymizer import Anonymizer
from anonymize.errors import UsageError
from anonymize.release.options import ReleaseOptions
from anonymize.release.sets import measured
from anonymize.set_anonymizer import SetAnonymizer


def check(model: Anonymizer, options: ReleaseOptions) -> None:
    """Raises UsageError where ``options`` and ``model`` do not go together."""
    if not isinstance(model, SetAnonymizer):
        for option, value in (("--patients", options.people), ("--measured", options.measured)):
            if value is not None:
                raise UsageError(
                    f"{option} is for methods that make each output of several people, and "
                    f"{model.name} takes every image alone; leave it out"
                )
        return
    if options.measured is not None:
        measured.read(options.measured, model)
    if model.people < 2:
        raise UsageError(
            f"{model.name} is for attacks evaluate: none of its outputs is of several people, as a "
            "release of files asks for; take a method whose outputs are, for example k-same:k=5"
        )
    if options.shard is not None:
        raise UsageError(
            f"{model.name} puts people of all files together: leave --shard out, or release parts "
            "of the people by themselves, each under another OUT"
        )
    check_labels(model, asked=bool(options.labels.paths or options.labels.columns))
    if options.table.path is not None:
        raise UsageError(
            f"--table cannot be released with {model.name}: an output shows several people, and a "
            "row would tell who is in it; findings go into --patients, whose means are released"
        )
    if model.says and not (options.people and options.people.labels):
        raise UsageError(
            f"{model.name} says itself what its outputs show, and learns to from findings: name "
            "them in --patients, in columns beside the patients"
        )
    if options.uniform is None:
        raise UsageError(
            f"{model.name} makes each output of several images, which must be of one size: give it "
            "with --canonical SIZE[,png|dicom], for example --canonical 512,png"
        )
    if unfit := model.unfit(options.uniform.size, options.uniform.size):
        raise UsageError(f"{model.name} does not fit this --canonical: {unfit}")


def check_labels(model: Anonymizer, *, asked: bool) -> None:
    """Raises UsageError where labels are asked for, and ``model`` has no place for them."""
    if asked and isinstance(model, SetAnonymizer):
        raise UsageError(
            f"--labels cannot be released with {model.name}: an output shows several people, and a "
            "mask or box of one of them fits no place of it, and would tell who is in it; leave "
            "them out (findings of whole images go into --patients)"
        )
