"""A release of many files by shards, whole: bench_shards.py FILES SHARDS SCRATCH OUT

FILES tiny radiographs (32 px) are released by SHARDS processes at once, merged, and verified; the
pictures of the release are then counted. The same command goes on with a step that was cut, whose
computing is that of all attempts. OUT gets shards.json, and a table of computing and memory: shards
share the machine, so that no clock says what one takes alone.
"""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, Popen

from bench_scale import LISTS, METHOD, drawn
from memory import children

Words = list[str]
SAMPLED = 1.0  # seconds between two looks at what a step used
DONE = ("anonymized", "already_done")  # by this attempt, and before
SAID = ("inputs", *DONE, "released", "quarantined", "left_out", "sound", "files")


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
    released = sum(one[count] for one in parts for count in DONE)
    assert released == found["pictures"] == int(files)
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
    found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"computing": 0.0}
    if "memory_mib" in found:
        return found
    command = [sys.executable, "-m", "anonymize", *words, "--json"]
    with Popen(command, cwd=folder, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            so_far = found["computing"] + used_by(process.pid)
            kept.write_text(json.dumps({"computing": so_far}), encoding="utf-8")
            time.sleep(SAMPLED)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said = process.stdout.read()
    assert process.returncode == 0, said
    computing = round(found["computing"] + used.ru_utime + used.ru_stime, 1)
    told = {name: value for name, value in json.loads(said).items() if name in SAID}
    # The largest of a process that ended; it begins with the size of this one, which is small.
    found = {"computing": computing, "memory_mib": used.ru_maxrss >> 10} | told
    kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def used_by(pid: int) -> float:
    """Seconds of a process, of its children, and of theirs; 0 of one that is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        below = children(pid)
    except OSError:
        return 0.0
    own = sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(used_by, below))


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
