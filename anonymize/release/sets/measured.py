"""What `attacks evaluate` measured of a method, for the certificate of its releases."""

import json
from pathlib import Path
from typing import Any

from anonymize.anonymizer import Anonymizer, load
from anonymize.errors import UsageError
from anonymize.release.sets.certificate import DIGITS, Figure, Measured

SECRETS = frozenset({"seed", "key_id", "key_file"})
WAY_OUT = "give the results.json of an `attacks evaluate` whose --method this was"


def read(path: Path, model: Anonymizer) -> Measured:
    """The most that any attacker reached against the same method, whose seed alone may differ.

    The highest figure of all attackers, and not that of the best one on other patients: so it is
    no lower than what an adversary could know to choose.

    Raises UsageError: no results, none of this method, or none of an attacker that looks for
    patients."""
    try:
        found = json.loads(path.read_bytes())
        source, size = found["source"], found["options"]["data"]["size"]
        lots = [m["privacy"] for m in found["methods"] if _same(m, model)]
        if not lots:
            raise UsageError(f"--measured holds no figures of this {model.name}; {WAY_OUT}")
        attacks = [(name, a) for lot in lots for name, a in lot.items() if _by_pictures(a)]
        matched = all(attack.get("matched") for _, attack in attacks)
        read = [attack["matched"] if matched else attack for _, attack in attacks]
        linked = max((figures["auc"] for figures in read), key=lambda auc: auc["mean"])
        of_guesses = [figures["estimates"] for figures in read]
        first, coin = _highest(of_guesses, "precision_at_1")
        # Who says no coin's at all counted those for whom an output stands, which are too few.
        named = any("r_s_coin" in estimates for estimates in of_guesses)
        away, away_coin = _highest(of_guesses, "r_s") if named else (None, None)
        return Measured(
            source=source["name"],
            size=size,
            images=source["images"],
            patients=source["patients"],
            attackers=len({name for name, _ in attacks}),
            matched=matched,
            auc=_rounded(linked),
            first_guess=first,
            first_guess_coin=coin,
            given_away=away,
            given_away_coin=away_coin,
        )
    except UsageError:
        raise
    except OSError:
        raise UsageError(f"--measured cannot be read; {WAY_OUT}") from None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise UsageError(f"--measured is no such table of figures; {WAY_OUT}") from None


def _highest(every: list[dict[str, Any]], figure: str) -> tuple[Figure, float | None]:
    """The highest of a figure, and what a coin reaches there, None where that is not known."""
    found = max(every, key=lambda estimates: estimates[figure]["mean"])
    coin = found.get(f"{figure}_coin")
    return _rounded(found[figure]), round(coin["mean"], DIGITS) if coin else None


def _rounded(estimate: dict[str, Any]) -> Figure:
    return [round(value, DIGITS) for value in (estimate["mean"], *estimate["ci95"])]


def _same(method: dict[str, Any], model: Anonymizer) -> bool:
    """Whether an entry is of this method with these options; what it does not say is as usual."""
    if method["name"] != model.name:
        return False
    said = ",".join(f"{k}={v}" for k, v in method["options"].items() if k not in SECRETS)
    return _plain(load(f"{model.name}:{said}")) == _plain(model)


def _plain(model: Anonymizer) -> dict[str, Any]:
    return {key: value for key, value in model.options.items() if key not in SECRETS}


def _by_pictures(attack: dict[str, Any]) -> bool:
    """Whether it compares pictures with other pictures of the same people."""
    return attack["sees"] == "pixels" and attack["compares"] != "before-after"
