"""What an evaluation found, in words for people who decide: a verdict first, then each method."""

from collections.abc import Sequence
from dataclasses import dataclass

from anonymize.errors import counted
from attacks.evaluation.policies.demands import FAIL, KEPT, UNKNOWN, Verdict
from attacks.measuring.estimates import Figures
from attacks.reporting import readings
from attacks.reporting.tables import percent
from attacks.results import Attack, Method, Results

FOUND, OPEN = "people are found", "nothing shown"
FEW, WIDE = "too few patients to tell", 0.2  # width of an interval that says so
MISLED = "misled, which hides nobody"
COIN = 0.5


@dataclass(frozen=True)
class Judged:
    """A released method: what can be said of it in two words, and in sentences."""

    title: str
    outcome: str
    right: int | None  # of 100 cases, as `asked` puts them
    sentences: list[str]

    @property
    def bad(self) -> bool:
        return self.outcome == FOUND


def headline(results: Results, verdicts: Sequence[Verdict] = ()) -> tuple[bool, str]:
    """Whether the whole is bad news, and one sentence of it. There is no good news: an attack that
    fails proves nothing about the next one."""
    failed = [check for check in results.checks if not check.informative and not check.passed]
    broken = [verdict for verdict in verdicts if verdict.outcome == FAIL]
    judged = summary(results)
    found = [one for one in judged if one.bad]
    said = []
    if broken:
        said.append(f"{len(broken)} of {counted(len(verdicts), 'verdict')} of the policy: {FAIL}.")
    if untested := [verdict for verdict in verdicts if verdict.outcome == UNKNOWN]:
        said.append(f"{len(untested)} of {counted(len(verdicts), 'verdict')}: {UNKNOWN}.")
    if found:
        which = f"{len(found)} of {len(judged)} releases"
        if len(found) == len(judged):
            which = "the release" if len(judged) == 1 else f"all {len(judged)} releases"
        said.append(f"People are found in {which}.")
    if few := [one for one in judged if one.outcome == FEW]:
        said.append(f"For {len(few)} of {len(judged)} there are too few patients to tell.")
    if unknown := [one for one in judged if one.right is None]:
        said.append(f"Of {len(unknown)} of {len(judged)} nothing can be told: no figure.")
    if judged and not found:
        said.append("These attackers found nobody for sure, which does not show that nobody can.")
    if not judged:
        said.append("No release was attacked: these are the real images alone.")
    if failed:
        said.append("Some checks failed: do not repeat a figure before reading them.")
    return bool(failed or broken or found or not judged), " ".join(said)


def in_short(verdict: Verdict) -> str:
    """Which demands fail, and how many cannot be certified or are met."""
    by = {o: [x.demand for x in verdict.lines if x.outcome == o] for o in (FAIL, UNKNOWN, KEPT)}
    said = [f"What fails: {'; '.join(by[FAIL])}."] if by[FAIL] else []
    told = f"{len(by[KEPT])} of {counted(len(verdict.lines), 'demand')} met"
    if by[UNKNOWN]:
        told += f", {len(by[UNKNOWN])} cannot be certified"
    return " ".join([*said, f"{told}."])


def summary(results: Results) -> list[Judged]:
    """Every released method."""
    return [
        Judged(
            title,
            _outcome(method, results),
            right_of_100(method, results),
            _privacy_in_words(method, results) + _utility_in_words(method, results.real),
        )
        for title, method in results.titled_released
    ]


def asked(results: Results) -> str:
    """What the strongest attackers are asked."""
    return (
        f"{_shown_pairs(readings.headline(results))}, the method's strongest attacker picks the "
        "right one in so many of 100 cases; guessing gives 50."
    )


def _shown_pairs(reading: str) -> str:
    alike = " who are alike in what the images show" if reading == readings.MATCHED else ""
    return f"Shown a pair of images of one patient and a pair of two patients{alike}"


def right_of_100(method: Method | None, results: Results) -> int | None:
    """In how many cases it is right; None where that was not measured."""
    auc = readings.strongest_auc(method, readings.headline(results))
    return None if auc is None else round(100 * auc.mean)


def _outcome(method: Method, results: Results) -> str:
    """By the interval of the strongest attacker; no outcome is praise."""
    auc = readings.strongest_auc(method, readings.headline(results))
    if auc is None:
        return "not attacked" if method.strongest is None else "not measured"
    if auc.ci95 is None:
        return "no interval"
    low, high = auc.ci95
    if low > COIN:
        return FOUND
    return MISLED if high < COIN else FEW if high - low > WIDE else OPEN


def _privacy_in_words(method: Method, results: Results) -> list[str]:
    real, reading = results.real, readings.headline(results)
    if method.strongest is None:
        return []
    name, attack = method.strongest
    auc = readings.auc(attack, reading)
    if auc is None:
        return [f"The strongest attacker ({name}) has no figure: {readings.NONE_ALIKE}."]
    reference = readings.strongest_auc(real, reading)
    compared = f"; on the real images it is {reference.mean * 100:.0f}" if reference else ""
    found = [
        f"{_shown_pairs(reading)}, the strongest attacker ({name}) picks the right one in "
        f"{auc.mean * 100:.0f} of 100 cases{compared}; guessing gives 50."
    ]
    if reading == readings.MATCHED:
        found.append(f"Where the two patients may be any: {attack.auc.mean * 100:.0f} of 100.")
    found += _less_in_words(attack, reading)
    if attack.r_s is not None:
        like = None if attack.matched is None else attack.matched.r_s
        alike = "if it looks among images that are alike alone"
        few = "" if like is None else f"; {percent(like)} {alike}"
        few += "" if attack.matched is None else _by_luck(attack.matched)
        found.append(
            f"Knowing real images of every patient, it names {percent(attack.r_s)} of the patients "
            f"with several images by taking the most similar one{_by_luck(attack)}{few}."
        )
    interval = auc.ci95
    if interval is not None and interval[0] <= COIN <= interval[1]:
        found.append(
            f"The interval goes from guessing to {interval[1] * 100:.0f}: too few patients to tell."
            if interval[1] - interval[0] > WIDE
            else "The interval includes guessing: these attackers found nothing. "
            "A stronger one may."
        )
    return found


def _by_luck(found: Figures) -> str:
    return "" if found.r_s_coin is None else f" (a coin {percent(found.r_s_coin)})"


def _less_in_words(attack: Attack, reading: str) -> list[str]:
    """Whether it finds less than in the real images."""
    found = readings.less_than_real(attack, reading)
    if found is None or found.difference.ci95 is None:
        return []
    low, high = found.difference.ci95
    if high < 0:
        return [f"That is less than the same attacker finds in the real images, by {-high:.3f} to "
                f"{-low:.3f} of AUC."]  # fmt: skip
    return ["It is not shown that this is less than the same attacker finds in the real images."]


def _utility_in_words(method: Method, real: Method | None) -> list[str]:
    found = []
    frozen, retrained = method.frozen, method.utility.mean("retrained")
    reference = real.utility.mean("frozen") if real is not None else None
    compared = f" (real images: {reference:.3f})" if reference is not None else ""
    if frozen is not None:
        found.append(
            f"An existing classifier reads findings with a mean AUC of {frozen.mean:.3f}{compared}."
        )
    if retrained is not None:
        found.append(f"One trained on the released images reaches {retrained:.3f}.")
    if found and method.utility.readable is False:
        found.append("Do not read them: on real images, where they should be equal, they are not.")
    return found
