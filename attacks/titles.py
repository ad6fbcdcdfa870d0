"""A short unique name for each of several methods: what makes it what it is, and the options in
which it differs from its kin."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Named = tuple[str, Mapping[str, Any]]  # a method's name and options
REAL = "identity"
# Options that are said wherever they are more than this: with them a method has one name in all
# evaluations.
ALWAYS: Mapping[str, Any] = {
    **dict.fromkeys(("unit", "mu", "rms", "controls", "b", "epsilon", "k", "g", "band")),
    **dict.fromkeys(("read", "samples")),  # 0 is none of it, too, and other random numbers
    **dict.fromkeys(("m", "uses"), 1),
    **dict.fromkeys(("warp", "own"), 0),
}
SYMBOLS = {"mu": "μ", "epsilon": "ε", "sigma": "σ", "verification_weight": "λ"}


def titles(methods: Sequence[Named]) -> list[str]:
    """One for each method, in their order; twins are numbered."""
    return [_title(methods, i) for i in range(len(methods))]


def told_apart(methods: Sequence[Named], trainings: Sequence[Mapping[str, Any]]) -> list[Named]:
    """The methods, twins with those options of their ``trainings`` in which they differ."""
    flat = [dict(leaves(training)) for training in trainings]
    found: list[Named] = []
    for method, own in zip(methods, flat, strict=True):
        twins = [t for other, t in zip(methods, flat, strict=True) if other == method]
        differ = [key for key in own if any(twin.get(key) != own[key] for twin in twins)]
        last = [key.rpartition(".")[2] for key in differ]
        named = {n if last.count(n) == 1 else k: own[k] for k, n in zip(differ, last, strict=True)}
        found.append((method[0], {**method[1], **named}))
    return found


def leaves(options: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Every option that is no section, by its path, as "data.size"."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _title(methods: Sequence[Named], index: int) -> str:
    name, options = methods[index]
    if name == REAL:
        return "real images"
    kin = [other for other_name, other in methods if other_name == name]
    shown = {
        key: value
        for key, value in options.items()
        if value is not None
        and (_always(key, value) or len(options) == 1 or any(o.get(key) != value for o in kin))
    }
    text = ", ".join(f"{SYMBOLS.get(k, k)}={_plain(v)}" for k, v in shown.items())
    twins = [i for i, other in enumerate(methods) if other == methods[index]]
    number = f" #{twins.index(index) + 1}" if len(twins) > 1 else ""
    return f"{name} {text}".strip() + number


def _always(key: str, value: Any) -> bool:
    return key in ALWAYS and value != ALWAYS[key]


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
