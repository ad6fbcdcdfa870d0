"""Evaluations and links from Python: data frames and figures instead of files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from anonymize.anonymizer import Anonymizer
from anonymize.configuration import load_options
from anonymize.folder_lock import own_folder
from anonymize.training.compute import Compute
from attacks.evaluation.evaluate import Evaluation
from attacks.evaluation.evaluate import evaluate as measure
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.claim import claimed
from attacks.evaluation.processes.work import Silent
from attacks.linkage.album import open_both
from attacks.linkage.learnt import Prepared
from attacks.linkage.linking import link_figures, named_after
from attacks.linkage.named import refuse_inside
from attacks.linkage.prepared import Wanted, chosen_attacker, prepare
from attacks.linkage.ranking import Ranking, rank
from attacks.linkage.release_attack import DEFAULT as OF_FILES
from attacks.linkage.release_results import ReleaseResults
from attacks.linkage.release_run import Attacked, Case, attack_release
from attacks.linkage.released_by import method_of
from attacks.registry import DEFAULT
from attacks.reporting.figure_rows import COLUMNS, figure_rows
from attacks.reporting.folder import write_evaluation
from attacks.reporting.pictures.match_sheet import found_sheet, ranking_sheet
from attacks.reporting.pictures.tradeoff import tradeoff_figure
from attacks.reporting.verdict import explained, verdict
from attacks.results import REAL, Results

IN_PROCESS = {"data.workers": 1}  # reading processes would run an unguarded script again


@dataclass(frozen=True)
class Evaluated:
    """What :func:`evaluate` measured.

    Attributes:
        evaluation: results, checks, and images to show.
    """

    evaluation: Evaluation

    @property
    def results(self) -> Results:
        """What results.json holds."""
        return self.evaluation.results

    @property
    def frame(self) -> pd.DataFrame:
        """One figure a row: method, kind, of, figure, mean, sd, runs, ci95_low, ci95_high."""
        return pd.DataFrame(figure_rows(self.results), columns=COLUMNS)

    @property
    def checks(self) -> pd.DataFrame:
        """Whether the figures can be trusted: name, passed, message, informative, tested."""
        return pd.DataFrame([check.model_dump() for check in self.results.checks])

    def figure(self) -> Figure:
        """Privacy against utility."""
        return tradeoff_figure(self.results)

    def __repr__(self) -> str:
        failed = sum(not c.passed and not c.informative for c in self.results.checks)
        return f"Evaluated({', '.join(self.results.titles())}; failed checks: {failed})"


def evaluate(
    methods: Sequence[str | Path | Anonymizer],
    *,
    attackers: Sequence[str] = DEFAULT,
    config: str | Path = "quick",
    options: Mapping[str, Any] | None = None,
    out: str | Path = "evaluation",
    device: str = "cpu",
) -> Evaluated:
    """What attackers find in the images of ``methods``, and what these are still good for.

    The real images take part always. Called again with the same ``out``, it goes on where it was.
    It may take minutes, and says nothing meanwhile.

    Args:
        methods: anonymizers, or what :func:`anonymize.load` makes one of.
        attackers: names, NAME:KNOWLEDGE for another level.
        config: training options by name or file: data set, classifier, verifier, attackers. Those
            of a run are in its ``options.yaml``; "quick" draws 2,000 images of its own.
        options: changes of them, for instance ``{"data.source": "covid19", "data.root": ROOT}``.
        out: private folder of what was measured, with the files of `attacks evaluate`.

    Raises:
        UsageError: an unknown method, attacker or option, data that cannot be read, or an ``out``
            of something else.
    """
    made = load_options(config, IN_PROCESS | dict(options or {}))
    named = [m if isinstance(m, Anonymizer) else str(m) for m in methods]
    entrants = [Entrant(spec) for spec in (REAL, *(m for m in named if m != REAL))]
    plan = Plan(entrants, made, tuple(attackers), command="attacks.evaluate")
    with claimed(Path(out), "results", plan.subject, option="out") as holds:
        found = measure(plan, Path(out), compute=Compute.of(made, device), holds=holds)
        write_evaluation(found, Path(out))
    return Evaluated(found)


@dataclass(frozen=True)
class Linked:
    """What :func:`link` found; it names images and patients.

    Attributes:
        ranking: the most alike real images of each released one.
        prepared: the attacker, and what it is worth on other patients.
        figures: by name, where patients of both are known: mean, ci95_low, ci95_high; against
            matched impostors first, these names end with ", matched".
    """

    ranking: Ranking
    prepared: Prepared
    figures: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """One released image and rank a row, with the probability of the same patient."""
        return pd.DataFrame(self.ranking.lines())

    def sheet(self) -> bytes:
        """PNG: released images, and the real ones most alike, with their probabilities."""
        return ranking_sheet(self.ranking)

    def __repr__(self) -> str:
        probes, gallery = len(self.ranking.probes), len(self.ranking.gallery)
        return f"Linked({probes} released against {gallery} real images)"


def link(
    released: str | Path,
    real: str | Path,
    *,
    method: str | Path | None = None,
    attacker: str = "histogram-metric",
    options: Mapping[str, Any] | None = None,
    out: str | Path = "attack",
) -> Linked:
    """Which real image, and patient, each released image shows.

    Args:
        released: a folder, or ``source:root``.
        real: likewise.
        method: what released the images; the attacker learns how. None: nothing did.
        attacker: a name, NAME:KNOWLEDGE for another level.
        options: of the data set with known patients that it learns from, and of the attacker:
            changes of the configuration ``quick``, for instance ``{"data.source": "covid19"}``.
        out: private folder; the attacker is taught once.

    Raises:
        UsageError: nothing to read there, an ``out`` within it, or an attacker that cannot look at
            two images alone.
    """
    made = load_options("quick", IN_PROCESS | dict(options or {}))
    spec = None if method is None else str(method)
    chosen_attacker(attacker, released=method is not None)  # refused before images are read
    _refuse_inside(out, released, real)
    probes, gallery = open_both({"released": str(released), "real": str(real)}, made.data)
    probes = named_after(probes, gallery)
    wanted = Wanted.of(attacker, made, spec, probes)
    with own_folder(Path(out), option="out") as folder:
        prepared = prepare(wanted, folder, compute=Compute.of(made), display=Silent())
        ranking = rank(prepared, probes, gallery, top=5, present=0.5)
        found = link_figures(prepared.matcher, probes, gallery)
    named = () if found is None else found.by_name()
    rows = {name: (e.mean, *(e.ci95 or (None, None))) for name, e in named}
    columns = ("mean", "ci95_low", "ci95_high")
    return Linked(ranking, prepared, pd.DataFrame.from_dict(rows, "index", columns=columns))


@dataclass(frozen=True)
class Released:
    """What :func:`release` found; but for ``results`` it names files and patients."""

    attacked: Attacked

    @property
    def results(self) -> ReleaseResults:
        """What release.json holds."""
        return self.attacked.results

    @property
    def verdict(self) -> str:
        """Do attackers find people in this release? In one sentence."""
        return verdict(self.results)

    @property
    def explained(self) -> list[str]:
        """The figures behind the verdict, what they mean, and what to beware of."""
        return list(explained(self.results))

    @property
    def frame(self) -> pd.DataFrame:
        """What each attacker takes each released file for."""
        return pd.DataFrame(self.attacked.lines())

    def sheet(self) -> bytes:
        """PNG: released images beside the real ones that the strongest attacker takes them for."""
        return found_sheet(self.attacked.subject, self.attacked.shown)

    def __repr__(self) -> str:
        found = self.results.strongest
        return f"Released({found.attacker} finds {found.found.found:.0f} of {found.found.files})"


def release(
    real: str | Path,
    released: str | Path,
    *,
    method: str | Path | None = None,
    attackers: Sequence[str] = OF_FILES,
    options: Mapping[str, Any] | None = None,
    out: str | Path = "attack",
) -> Released:
    """Attacks the files of a release: whom does each of them show?

    Args:
        real: the files that were released, a folder; or ``source:root``, where patients and
            findings are known (``folder:ROOT`` for a folder with a CSV).
        released: what `anonymize apply` made of them; its private folder is looked for beside it.
        method: what released them; None: as the manifest and the private folder say.
        attackers: names, NAME:KNOWLEDGE for another level; "format" and "identical" are floors.
        options: as :func:`link` takes them.
        out: private folder; attackers are taught once.

    Raises:
        UsageError: nothing to read there, an ``out`` within it, nothing known of whom the files
            show, or a method that contradicts the manifest.
    """
    made = load_options("quick", IN_PROCESS | dict(options or {}))
    _refuse_inside(out, released, real)
    case = Case.of(str(real), Path(released), None, None)
    spec = method_of(case.released, case.private, None if method is None else str(method))
    with own_folder(Path(out), option="out") as folder:
        subject = case.opened(made.data)

        def prepared(name: str) -> Prepared:
            wanted = Wanted.of(name, made, spec, subject.released)
            return prepare(wanted, folder, compute=Compute.of(made), display=Silent())

        found = attack_release(
            subject,
            attackers,
            prepared,
            options=made,
            method=spec,
            unlisted=case.unlisted,
            changed=case.changed,
            command="attacks.release",
        )
    return Released(found)


def _refuse_inside(out: str | Path, released: str | Path, real: str | Path) -> None:
    for argument, given in (("released", released), ("real", real)):
        refuse_inside(Path(out), str(given), argument, option="out")
