"""Runs two commands in alternating pairs and prints the ratio of their CPU times.

pairs.py N LABEL FILE OURS... -- THEIRS...     the word FILE in a command stands for the file

With RECORD in the environment, appends what was measured to that file, for record.py.
"""

import json
import os
import statistics
import subprocess
import sys


def run(command):
    """CPU seconds and peak memory (MB) of a command whose output is discarded."""
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    complaint = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    # wait4 has reaped it: keep Popen from waiting again.
    child.returncode = code
    if code != 0:
        text = complaint.decode(errors="replace").strip()
        sys.exit(f"{' '.join(command)}: exit code {code}\n{text}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def size(path):
    """Bytes of a file, or of all files in a directory."""
    if not os.path.isdir(path):
        return os.path.getsize(path)
    files = (os.path.join(at, name) for at, _, names in os.walk(path) for name in names)
    return sum(os.path.getsize(file) for file in files)


def main():
    pairs, label, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    words = [path if word == "FILE" else word for word in sys.argv[4:]]
    middle = words.index("--")
    ours, theirs = words[:middle], words[middle + 1 :]
    measured = []
    for pair in range(pairs):
        # The first one finds cold caches: alternate.
        if pair % 2 == 0:
            mine, other = run(ours), run(theirs)
        else:
            other, mine = run(theirs), run(ours)
        measured.append((mine, other))
    mine = statistics.median(m[0] for m, _ in measured)
    other = statistics.median(o[0] for _, o in measured)
    ratio = statistics.median(m[0] / max(o[0], 1e-3) for m, o in measured)
    memory = max(m[1] for m, _ in measured)
    rate = size(path) / 1e6 / max(mine, 1e-3)
    print(
        f"{label:<44} {mine:8.2f} s {other:8.2f} s   ratio {ratio:6.2f}"
        f"   {rate:6.0f} MB/s   {memory:5.0f} MB"
    )
    if "RECORD" in os.environ:
        row = {
            "label": label,
            "what": "cpu",
            "ours": [round(m[0], 3) for m, _ in measured],
            "theirs": [round(o[0], 3) for _, o in measured],
            "memory": round(memory),
        }
        with open(os.environ["RECORD"], "a") as record:
            record.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
