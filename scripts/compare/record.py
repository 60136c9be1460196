#!/usr/bin/env python3
"""Keeps a record of benchmarks in bench/history, one file per run.

record.py [SCRIPT…]    runs the scripts of this folder (wc, peers, scaling unless others are named),
                       writes a record and the tables of docs/performance.md, and passes this record
                       and the one before it to `profctl gate`
record.py --page       writes the tables of docs/performance.md from the latest record

SIZE, PAIRS, PROFCTL, MAKE_TRACE and SCRATCH are those of the scripts. Measure on an idle machine.
What is compared is the ratio to the other program in each pair, so records of two machines can be
compared as far as their ratios can.
"""

import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HISTORY = ROOT / "bench" / "history"
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- begin of the latest record -->\n", "<!-- end of the latest record -->\n"

# The ratio, ours to theirs, that each row may have; of rows of jobs, wall time at two jobs to that at
# one. The targets that are not here are of other scripts.
TARGETS = {
    "function_graph": 4.5,
    "function_graph, percentiles": 6,
    "function_graph-abstime-proc": 4.5,
    "function_graph-abstime-proc, percentiles": 6,
    "uftrace, uftrace report": 0.1,
    "trace.dat, trace-cmd report": 0.1,
    "ctf, babeltrace2 to a dummy sink": 0.2,
    "measureme, summarize": 0.2,
    "chrome, simdjson parses": 0.5,
    "chrome, perfetto loads and groups": 0.1,
}
TARGET_OF_JOBS = 1 / 1.8


def git(*words):
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def processor():
    """The model of the processor, as far as the system says."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def measure(scripts):
    """Runs the scripts, and gives what they measured."""
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder) / "rows"
        for script in scripts:
            print(f"== {script}", flush=True)
            path = ROOT / "scripts" / "compare" / f"{script}.sh"
            subprocess.run([path], check=True, env={**os.environ, "RECORD": str(rows)})
        return [json.loads(line) for line in rows.read_text().splitlines()]


def ratios(row):
    return [ours / max(theirs, 1e-3) for ours, theirs in zip(row["ours"], row["theirs"])]


def target(row):
    return TARGET_OF_JOBS if row["what"] == "wall" else TARGETS.get(row["label"])


def tables(record):
    """The tables of a record as Markdown."""
    machine = f"{record['processor']}, {record['cpus']} CPUs, load {record['load']:.1f} before"
    lines = [
        f"Record of {record['date']}, commit {record['commit']}, medians of pairs, inputs of {record['size']}",
        f"({machine}). Ratios are of CPU time, ours to theirs; of jobs, of wall time at two jobs to one.",
        "",
        "| input, other program | profctl | other | ratio | target | memory |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in record["rows"]:
        ratio = statistics.median(ratios(row))
        bound = target(row)
        mark = "-" if bound is None else f"{bound:.2g}" + (", missed" if ratio > bound else "")
        memory = f"{row['memory']:.0f} MB" if row["memory"] else "-"
        ours, theirs = (statistics.median(row[side]) for side in ("ours", "theirs"))
        lines.append(
            f"| {row['label']} | {ours:.2f} s | {theirs:.2f} s | {ratio:.2f} | {mark} | {memory} |"
        )
    return "\n".join(lines) + "\n"


def write_page(record):
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{tables(record)}\n{END}{after}")


def gate(before, after):
    """The verdict of our own gate: a run per pair, a function per row, and ratios as times."""
    known = {row["label"] for row in before["rows"]} & {row["label"] for row in after["rows"]}
    with tempfile.TemporaryDirectory() as folder:
        for side, record in (("before", before), ("after", after)):
            rows = [row for row in record["rows"] if row["label"] in known]
            for run in range(min(len(row["ours"]) for row in rows)):
                text, now = "# profctl plain 1 unit=ns\n", 0
                for row in rows:
                    name = row["label"].replace(" ", "_")
                    text += f"{now} a-1 > {name}\n"
                    now += round(ratios(row)[run] * 1e9)
                    text += f"{now} a-1 < {name}\n"
                path = pathlib.Path(folder) / side / f"{run}.txt"
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
        profctl = os.environ.get("PROFCTL", ROOT / "target" / "release" / "profctl")
        words = [profctl, "-q", "gate", "--min-calls", "1", f"{folder}/before", f"{folder}/after"]
        print(f"== gate: {before['commit']} and {after['commit']}, times are ratios", flush=True)
        return subprocess.run(words, check=False).returncode


def main():
    records = sorted(HISTORY.glob("*.json"))
    if sys.argv[1:] == ["--page"]:
        write_page(json.loads(records[-1].read_text()))
        return 0
    load = os.getloadavg()[0]
    rows = measure(sys.argv[1:] or ["wc", "peers", "scaling"])
    record = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": git("rev-parse", "--short", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        "processor": processor(),
        "cpus": os.cpu_count(),
        "load": load,
        "size": os.environ.get("SIZE", "300M"),
        "rows": rows,
    }
    HISTORY.mkdir(parents=True, exist_ok=True)
    path = HISTORY / f"{time.strftime('%Y-%m-%d-%H%M')}-{record['commit']}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"wrote {path.relative_to(ROOT)}")
    write_page(record)
    return gate(json.loads(records[-1].read_text()), record) if records else 0


if __name__ == "__main__":
    sys.exit(main())
