"""A release of many files by shards, whole: bench_shards.py FILES SHARDS SCRATCH OUT

FILES tiny radiographs (32 px) are released by SHARDS processes at once, merged, and verified; the
pictures of the release are then counted. A step that was done is not done again, so that the same
command goes on; what it used is that of the process that ended it. OUT gets shards.json, and a
table of computing and memory: shards share the machine, so that no clock says what one takes alone.
"""

import json
import os
import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, Popen

from bench_scale import LISTS, METHOD, drawn

Words = list[str]
SAID = ("inputs", "anonymized", "released", "quarantined", "left_out", "sound", "files")


def main(files: str, shards: str, scratch: str, out: str) -> None:
    folder, every = Path(scratch), [str(n + 1) for n in range(int(shards))]
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "secret.key").exists():
        drawn(folder, int(files))
        (folder / "secret.key").write_bytes(os.urandom(32))
        (folder / "secret.key").chmod(0o600)
    with ThreadPoolExecutor(len(every)) as pool:
        parts = [*pool.map(lambda n: done(folder, f"shard {n}", shard(n, len(every))), every)]
    merged = done(folder, "merge", ["merge", "shards", "out"])
    looked = done(folder, "verify", ["verify", "out", "--workers", "1"])
    found = {
        "command": f"python tests/benchmarks/bench_shards.py {files} {shards} SCRATCH OUT",
        "files": int(files),
        "pictures": sum(
            name.endswith(".png") for *_, own in os.walk(folder / "out") for name in own
        ),
        "shards": parts,
        "merge": merged,
        "verify": looked,
        **{Path(name).name: (folder / name).stat().st_size for name in LISTS},
    }
    assert sum(one["anonymized"] for one in parts) == found["pictures"] == int(files)
    Path(out).mkdir(parents=True, exist_ok=True)
    Path(out, "shards.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    Path(out, "shards.md").write_text(table(found), encoding="utf-8")


def shard(number: str, of: int) -> Words:
    """The words that release one."""
    words = ["apply", "in", f"shards/{number}", "--shard", f"{number}/{of}", "--model", METHOD]
    options = ["--names", "hashed", "--key-file", "secret.key", "--text", "keep", "--workers", "1"]
    return words + options


def done(folder: Path, step: str, words: Words) -> dict:
    """What a step used and said; kept in the folder."""
    kept = folder / f"{step.replace(' ', '-')}.json"
    if not kept.exists():
        command = [sys.executable, "-m", "anonymize", *words, "--json"]
        with Popen(command, cwd=folder, stdout=PIPE, text=True) as process:
            assert process.stdout is not None
            said = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, said
        told = {name: value for name, value in json.loads(said).items() if name in SAID}
        kept.write_text(json.dumps(spent(used) | told), encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def spent(used: resource.struct_rusage) -> dict[str, float]:
    """Of a process and its children that it waited for."""
    computing = round(used.ru_utime + used.ru_stime, 1)
    return {"computing": computing, "memory_mib": used.ru_maxrss >> 10}


def table(found: dict) -> str:
    """One step a row."""
    steps = {f"`apply --shard {n}`": one for n, one in enumerate(found["shards"], 1)}
    steps |= {"`merge`": found["merge"], "`verify`": found["verify"]}
    lines = ["| what | computing (s) | memory (MiB) |", "| --- | --- | --- |"]
    for words, one in steps.items():
        lines.append(f"| {words} | {one['computing']:,.0f} | {one['memory_mib']:,} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
