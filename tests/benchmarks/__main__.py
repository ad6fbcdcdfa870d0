"""How fast everything is: python -m tests.benchmarks --out docs/results/speed

Every case runs in a process of its own, in which ours and a plain way to do the same take turns;
memory and growth are measured in further ones. A busy machine moves both sides of a ratio. A GPU
has bench_gpu.py.
"""

import json
import os
import platform
from pathlib import Path

import click

from tests.benchmarks.origin import origin
from tests.benchmarks.speed import page


def _machine() -> dict[str, object]:
    import torch

    known = getattr(torch.cpu, "get_capabilities", dict)()
    units = [unit for unit in ("avx2", "avx512_f", "avx512_bf16", "amx_bf16") if known.get(unit)]
    return {
        "CPU": f"{known.get('cpu_name') or platform.machine()} ({', '.join(units)})",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "Python": platform.python_version(),
        "torch": torch.__version__,
    }


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the result.")
@click.option("--only", default="", help="Cases whose names hold this; those in OUT stay.")
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1))
@click.option("--picture", type=click.Path(path_type=Path), help="Where it goes; [OUT/speed.png].")
@click.option("--grow/--no-grow", default=True, help="Whether ×1, ×4 and ×16 are measured.")
@click.option("--draw", is_flag=True, help="Measure nothing: draw what OUT holds anew.")
def main(out: Path, only: str, rounds: int, picture: Path | None, grow: bool, draw: bool) -> None:
    """Measures, and writes speed.json, speed.md and pictures; each case as soon as it is done."""
    from tests.benchmarks.speed.registry import CASES, measured

    names = [name for name in CASES if only in name]
    if not names:
        raise click.UsageError(f"--only: no case holds {only!r}; they are {'; '.join(CASES)}")
    out.mkdir(parents=True, exist_ok=True)
    path, machine = out / "speed.json", _machine()
    known = json.loads(path.read_text("utf-8")) if path.is_file() else {"cases": ()}
    if draw:
        if not known["cases"]:
            raise click.UsageError("--draw: --out holds no speed.json; measure first, without it")
        page.write(known, CASES, out, picture)
        return
    if known.get("machine", machine) != machine:
        raise click.UsageError("--out holds figures of another machine; take another folder")
    done, made = {case["name"]: case for case in known["cases"]}, origin()
    for name in names:
        found = done[name] = measured(name, rounds, grow) | {"made": made}
        faster = f", {found['ratio']:.2f} times as fast" if "ratio" in found else ""
        click.echo(f"{name}: {found['seconds']:.3g} s{faster}")
        result = {
            "command": "python -m tests.benchmarks --out docs/results/speed",
            "machine": machine,
            "cases": [done[name] for name in CASES if name in done],
        }
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        page.write(result, CASES, out, picture)


if __name__ == "__main__":
    main()
