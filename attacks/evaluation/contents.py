"""What the inputs of an evaluation hold, wherever they lie: for the claim of its folder."""

from contextlib import suppress
from pathlib import Path

from anonymize.data.dataset import Dataset
from anonymize.data.splits import assign
from anonymize.errors import DataError
from anonymize.fingerprint import fingerprint, sha256_file
from anonymize.runs import MODEL
from anonymize.training.parts import GivenFile, find_part
from attacks.evaluation.plan import Entrant, Plan
from attacks.results import Results

IMAGES, SPLIT = "the images", "who is in which part"


def contents_of(plan: Plan, data: Dataset, out: Path) -> dict[str, str]:
    """Fingerprints of the data set, and of classifiers, verifiers and models that are given, by
    what a message calls them; not of what the evaluation trains itself in ``out``."""
    parts = {kind: find_part(spec, kind) for kind, spec in plan.parts.items()}
    files = {kind: part.path for kind, part in parts.items() if isinstance(part, GivenFile)}
    models = {e.title: e.model().fingerprint for e in plan.entrants if _is_given(e, out)}
    return {
        **data_contents(data),
        **{f"the {kind}": sha256_file(path) for kind, path in files.items()},
        **{f"the model {title}": content for title, content in models.items() if content},
    }


def data_contents(data: Dataset) -> dict[str, str]:
    """The same of a data set alone."""
    return {IMAGES: data.table.fingerprint, SPLIT: split_of(data)}


def split_of(data: Dataset) -> str:
    """Fingerprint of a data set, the parts of its images, and the labels that methods are told of:
    of the last two that of its table knows nothing."""
    parts = data.table.frame["part"].tolist()
    return fingerprint(data.table.fingerprint, parts, data.held_back)


def known_by(data: Dataset) -> str:
    """What tells a data set apart from others of the same options: its fingerprint, and who is in
    which part where lists of its own say that, of which options know nothing."""
    table = data.table
    plain = table.with_frame(table.frame.assign(part=""))
    with suppress(DataError):  # too few patients to draw parts
        drawn = assign(plain, seed=data.options.split_seed).frame["part"]
        if drawn.equals(table.frame["part"]):
            return table.fingerprint
    return split_of(data)


def images_of(results: Results, of: str = "") -> dict[str, str]:
    """The fingerprint of the images of results, where they say it; ``of``: which ones, of
    several."""
    found = (results.source.model_extra or {}).get("fingerprint")
    return {f"{IMAGES}{of}": str(found)} if found else {}


def _is_given(entrant: Entrant, out: Path) -> bool:
    if entrant.training is None:
        return True
    run = Path(str(entrant.spec))
    return (run / MODEL).is_file() and not run.resolve().is_relative_to(out.resolve())
