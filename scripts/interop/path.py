"""Compares the critical paths of all threads of a recording with Perfetto's: which thread is on the
path when.

usage: path.py PROFCTL WEB_DIST EXPORT RECORDING

Perfetto's path covers less, and is compared where there is one: its library starts with spans of a
thread from one waking by another thread to the next such, so that there is none before the first
waking, and none from a waking by the idle task on. Two rules differ:

- no span: a waker that no thread has woken yet (a new one, or one that only interrupts woke) is not
  followed there. The path stays with the thread that waits.
- return: our path never returns to a thread that it has left on the way from waker to waker. Perfetto
  does: to a waker's waker, and after an uninterruptible wait to the thread that waited.
"""

import json
import subprocess
import sys

profctl, dist, export, recording = sys.argv[1:]
TICK = 1000  # of the text, in nanoseconds


def ours(*arguments):
    run = [profctl, *arguments, "--quiet", "--format", "json", recording]
    return json.loads(subprocess.run(run, check=True, capture_output=True).stdout)


def theirs(select, *tables):
    module = "include perfetto module sched.thread_executing_span"
    sql = ";\n".join([module, *tables, select])
    run = ["node", "scripts/interop/trace_processor.js", dist, export, sql]
    said = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    lines = [line.split("\t") for line in said.splitlines()]
    return [tuple(map(int, line)) for line in lines if len(line) > 1 and line[0].isdigit()]


def by_thread(rows):
    found = {}
    for tid, start, length, *rest in rows:
        found.setdefault(tid, []).append((start, start + length, *rest))
    return found


paths = {}
for thread in ours("sched")["threads"]:
    tid = thread["tid"]
    if thread["unknown"] < thread["end"] - thread["start"]:
        paths[tid] = ours("critical-path", "--thread", str(tid))

wanted = " union all ".join(
    f"select {tid} as tid, {path['window']['start']} as ts, "
    f"{path['window']['end'] - path['window']['start']} as dur"
    for tid, path in paths.items()
)
perfetto = by_thread(
    theirs(
        """select root.tid, path.ts, path.dur, thread.tid
            from _critical_path_by_intervals!(wanted, _wakeup_graph) path
            join thread root on root.utid = path.root_utid join thread on thread.utid = path.utid
            order by path.ts""",
        f"create perfetto table wanted as select utid, ts, dur from ({wanted}) join thread using (tid)",
    )
)
spans = by_thread(
    theirs("select tid, ts, dur from _wakeup_graph join thread using (utid) where dur is not null")
)

sums = {"the same": 0, "within a tick": 0, "no span": 0, "return": 0}
wrong = []
for root, path in paths.items():
    # Behind each segment: threads that the path comes to later in the same wait of its thread.
    later, left = [], set()
    for segment in reversed(path["segments"]):
        if segment["tid"] == root:
            left = set()
        later.append(left)
        left = left | {segment["tid"]}
    for segment, left in zip(path["segments"], reversed(later)):
        for start, end, tid in perfetto.get(root, []):
            start, end = max(start, segment["start"]), min(end, segment["end"])
            if start >= end:
                continue
            spanned = any(a < end and start < b for a, b in spans.get(segment["tid"], []))
            if tid == segment["tid"]:
                rule = "the same"
            elif end - start <= TICK:
                rule = "within a tick"
            elif not spanned:
                rule = "no span"
            elif tid in left:
                rule = "return"
            else:
                wrong.append(
                    f"path of {root} from {start} to {end}: {segment['tid']}, there {tid}"
                )
                continue
            sums[rule] += end - start

covered = sum(sums.values())
parts = ", ".join(f"{rule} {100 * sum / max(covered, 1):.2f} %" for rule, sum in sums.items())
print(f"path: {recording}: {len(perfetto)} threads, {covered / 1e6:.0f} ms: {parts}")
if wrong or sums["the same"] < 0.7 * covered:
    sys.exit("\n".join([f"path: {recording} differs", *wrong[:10]]))
if not covered:
    sys.exit(f"path: {recording}: no path there")
