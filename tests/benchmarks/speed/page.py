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
            [
                case["name"],
                *(
                    f"{step['seconds']:.2f} s, {step['mebibytes']:,.0f} MiB"
                    for step in case["growth"]
                ),
            ]
            for case in grown
        ]
        lines += ["", markdown(["at", *(f"×{t}" for t in times)], taken).rstrip()]
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


def growth_picture(measured: dict, path: Path) -> None:
    """Curves of seconds and memory against the amount of work, each as a multiple of the least."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True)
    for axes, what in zip(panels, ("seconds", "mebibytes"), strict=True):
        for case in measured["cases"]:
            if steps := case.get("growth"):
                times, found = zip(
                    *((s["times"], s[what] / steps[0][what]) for s in steps), strict=True
                )
                axes.plot(times, found, marker="o", label=case["name"])
        axes.plot(times, times, color="gray", linestyle=":", label="in proportion")
        axes.set_xscale("log", base=4)
        axes.set_xticks(times, [f"×{t}" for t in times])
        axes.set_title(
            {"seconds": "time", "mebibytes": "memory"}[what], fontsize="medium", loc="left"
        )
    panels[0].set_yscale("log", base=4)
    panels[0].set_yticks(ticks := [4**n for n in range(5)], [f"×{t}" for t in ticks])
    panels[1].set_ylim(0.5, 6)
    panels[1].set_yticks(ticks := range(1, 6), [f"×{t}" for t in ticks])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right", fontsize="small")
    figure.savefig(path, dpi=120)


def picture(measured: dict, path: Path) -> None:
    """Bars of ratios: of everything to the plain way, from 1 on; of a release to its workers, or
    its network, alone."""
    from matplotlib.figure import Figure

    cases = [case for case in measured["cases"] if "ratio" in case][::-1]
    releases = [case for case in cases if case["name"].startswith("apply")]
    rest = [case for case in cases if case not in releases]
    figure = Figure(figsize=(9, 1.4 + 0.26 * len(cases)), layout="constrained")
    shown = {
        "times as fast as the plain way": rest,
        "apply, of its workers' speed alone (the paper's: network's)": releases,
    }
    heights = [max(len(group), 1) for group in shown.values()]
    grid = figure.subplots(len(shown), gridspec_kw={"height_ratios": heights})
    for axes, (title, group) in zip(grid, shown.items(), strict=True):
        names = [case["name"].removeprefix("apply, ") for case in group]
        start = 1 if group is rest else 0
        axes.barh(names, [case["ratio"] - start for case in group], left=start, color="#00629b")
        axes.axvline(1, color="black", linewidth=1)
        axes.set_xscale("log" if group is rest else "linear")
        axes.set_title(title, fontsize="medium", loc="left")
        axes.margins(y=0.02)
    figure.savefig(path, dpi=120)
