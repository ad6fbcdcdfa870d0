"""What the inputs of an evaluation hold, wherever they lie: for the claim of its folder."""

from pathlib import Path

from anonymize.data.dataset import Dataset
from anonymize.fingerprint import sha256_file
from anonymize.runs import MODEL
from anonymize.training.parts import GivenFile, find_part
from attacks.evaluation.plan import Entrant, Plan
from attacks.results import Results

IMAGES = "the images"


def contents_of(plan: Plan, data: Dataset, out: Path) -> dict[str, str]:
    """Fingerprints of the data set, and of classifiers, verifiers and models that are given, by
    what a message calls them; not of what the evaluation trains itself in ``out``."""
    parts = {kind: find_part(spec, kind) for kind, spec in plan.parts.items()}
    files = {kind: part.path for kind, part in parts.items() if isinstance(part, GivenFile)}
    models = {e.title: e.model().fingerprint for e in plan.entrants if _is_given(e, out)}
    return {
        IMAGES: data.table.fingerprint,
        **{f"the {kind}": sha256_file(path) for kind, path in files.items()},
        **{f"the model {title}": content for title, content in models.items() if content},
    }


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
