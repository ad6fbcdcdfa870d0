"""The figures for people: a table, and how much faster than the plain way."""

from pathlib import Path

from attacks.reporting.tables import markdown

COLUMNS = (
    "work",
    "of",
    "ours, a second",
    "plain, a second",
    "times as fast",
    "memory ours / plain",
)


def table(measured: dict) -> str:
    """Markdown of what ``python -m tests.benchmarks`` measured."""
    machine = ", ".join(f"{key} {value}" for key, value in measured["machine"].items())
    lines = [markdown(COLUMNS, map(_row, measured["cases"]))]
    rounds = " or ".join(map(str, sorted({case["rounds"] for case in measured["cases"]})))
    lines += [f"Medians of {rounds} alternating calls; {machine}."]
    grown = [case for case in measured["cases"] if case.get("growth")]
    if grown:
        times = [step["times"] for step in grown[0]["growth"]]
        taken = [
            [case["name"], *(f"{step['seconds']:.2f}" for step in case["growth"])] for case in grown
        ]
        lines += ["", markdown(["seconds at", *(f"×{t}" for t in times)], taken).rstrip()]
    return "\n".join(lines) + "\n"


def _row(case: dict) -> tuple[str, ...]:
    plain = case.get("plain_seconds")
    memory = " / ".join(f"{m:,.0f} MiB" for m in case.get("mebibytes", ()))
    return (
        case["name"],
        f"{case['amount']:,} {case['unit']}",
        f"{case['amount'] / case['seconds']:.3g}",
        f"{case['amount'] / plain:.3g}" if plain else "–",
        f"{case['ratio']:.2f}" if plain else "–",
        memory or "–",
    )


def picture(measured: dict, path: Path) -> None:
    """Bars of the ratios, on a logarithmic axis."""
    from matplotlib.figure import Figure

    cases = [case for case in measured["cases"] if "ratio" in case][::-1]
    figure = Figure(figsize=(8, 0.6 + 0.3 * len(cases)), layout="constrained")
    axes = figure.subplots()
    axes.barh([case["name"] for case in cases], [case["ratio"] for case in cases], color="#00629b")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel(
        "times as fast as the plain way; apply: as what its name says, else its workers"
    )
    figure.savefig(path, dpi=120)
