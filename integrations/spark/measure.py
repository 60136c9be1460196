"""The figures of docs/scale.md: `PYTHONPATH=src:tests python measure.py throughput|memory FOLDER`.

Times are of CPUs, not of a clock on the wall: those of the executors with all that they start, so
that other load on the machine does not count. `PROFCTL` and `MAKE_TRACE` name release builds.
"""

from __future__ import annotations

import glob
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from cluster import Cluster
from driver import Watch, peaks
from pyspark.sql import SparkSession

from profctl_spark import Limits, summarize

_TICKS = os.sysconf("SC_CLK_TCK")
PARTS = ("JVM", "Python", "pipes", "programs")
"""Of the CPU time of executors; `pipes` are the JVMs that read URIs."""


def cpu_seconds(roots: Iterable[int]) -> dict[str, float]:
    """CPU time of processes and of all below them, by part; ended ones included.

    Parts are the JVMs of executors, the workers in Python, the JVMs beside workers that read URIs,
    and the programs that workers called.
    """
    children: dict[int, list[int]] = {}
    used: dict[int, tuple[str, int, int]] = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = Path(path).read_text()
        except OSError:
            continue
        head, _, tail = text.rpartition(")")
        first, name = head.split(" (", 1)
        fields = tail.split()
        children.setdefault(int(fields[1]), []).append(int(first))
        own, ended = (sum(map(int, fields[place : place + 2])) for place in (11, 13))
        used[int(first)] = (name, own, ended)
    total = dict.fromkeys(PARTS, 0)
    waiting = [(root, "JVM") for root in roots]
    while waiting:
        number, part = waiting.pop()
        _, own, ended = used.get(number, ("", 0, 0))
        total[part] += own
        total["programs" if part == "Python" else part] += ended
        for child in children.get(number, []):
            name = used[child][0]
            of_child = "Python" if name.startswith(("python", "pyspark")) else "programs"
            waiting.append((child, "pipes" if part == "Python" and name == "java" else of_child))
    return {part: ticks / _TICKS for part, ticks in total.items()}


def session(url: str, events: Path) -> SparkSession:
    """A session whose events are logged."""
    events.mkdir(parents=True, exist_ok=True)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    top = f"/{events.parts[1]}"
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.cores": "1",
        "spark.executor.memory": "500m",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.executorEnv.PROFCTL": os.environ["PROFCTL"],
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        f"spark.hadoop.fs.viewfs.mounttable.piped.link.{top}": f"file://{top}",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{events}",
    }
    builder = SparkSession.builder.master(url)
    for key, value in settings.items():
        builder = builder.config(key, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


SETS = ((8, 60), (4, 250), (80, 60))
"""Files of a job, and megabytes of each."""
SCHEMES = ("", "file://", "viewfs://piped")
"""Paths; URIs of local files; URIs that are read through Hadoop and a pipe."""


def throughput(work: Path, repeats: int = 3) -> None:
    """Bytes per second of CPU: the bare command, local paths, URIs; one and two executors."""
    sets = {f"{n} files of {size} MB": made(work, n, size) for n, size in SETS}
    bare = f"{os.environ['PROFCTL']} summarize -j1 --format json"
    commands = {"bare": f'exec {bare} "$0"', "cat | bare": f'cat "$0" | {bare} -'}
    for executors in (1, 2):
        cluster = Cluster(fresh(work, f"cluster{executors}"), executors, 1, "600m")
        try:
            spark = session(cluster.url, work / "events")
            spark.sparkContext.parallelize(range(8), 8).count()
            # Without counting: workers and their JVMs start and warm up.
            first = next(iter(sets.values()))
            for scheme in 2 * SCHEMES:
                job_of(spark, cluster, scheme, first)
            for name, files in sets.items():
                found: dict[str, list[tuple[float, dict[str, float]]]] = {}
                # In turn, so that other load on the machine is a load on all of them.
                for _ in range(repeats):
                    for what, command in commands.items():
                        found.setdefault(what, []).append(called(command, files))
                    for scheme in SCHEMES:
                        done = job_of(spark, cluster, scheme, files)
                        found.setdefault(scheme or "paths", []).append(done)
                for what, times in found.items():
                    show(f"{executors} executors, {name}, {what}", files, times, found["bare"])
            spark.stop()
        finally:
            cluster.stop()


def called(command: str, files: list[str]) -> tuple[float, dict[str, float]]:
    """Call a shell command for each file: time by the clock, and CPU time."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    for file in files:
        subprocess.run(["sh", "-c", command, file], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, {"programs": spent}


def job_of(
    spark: SparkSession, cluster: Cluster, scheme: str, files: list[str]
) -> tuple[float, dict[str, float]]:
    """Run a job: its time by the clock, and CPU time of the executors by part."""
    paths = [f"{scheme}{file}" for file in files]
    start, before = time.monotonic(), cpu_seconds(cluster.executors())
    summarize(spark, paths, runs=False).close()
    wall, after = time.monotonic() - start, cpu_seconds(cluster.executors())
    return wall, {part: after[part] - before[part] for part in PARTS}


def made(work: Path, number: int, megabytes: int) -> list[str]:
    """Generated traces."""
    files = []
    for seed in range(number):
        file = work / f"{megabytes}-{seed}.txt"
        if not file.exists():
            with file.open("wb") as out:
                what = ["function_graph-abstime-proc", f"{megabytes}M", str(seed % 2)]
                subprocess.run([os.environ["MAKE_TRACE"], *what], check=True, stdout=out)
        files.append(str(file))
    return files


def show(
    name: str,
    files: list[str],
    found: list[tuple[float, dict[str, float]]],
    bare: list[tuple[float, dict[str, float]]],
) -> None:
    """Print a line: medians, the least and the most of the CPU time, throughput of the bare one."""
    size = sum(os.path.getsize(file) for file in files)
    totals = [sum(parts.values()) for _, parts in found]
    cpu, wall = median(totals), median(wall for wall, _ in found)
    of_parts = ", ".join(
        f"{part} {median(parts[part] for _, parts in found):.2f}" for part in found[0][1]
    )
    share = median(sum(parts.values()) for _, parts in bare) / cpu
    print(
        f"{name}: {size / 1e6:.0f} MB, {cpu:.2f} s CPU ({min(totals):.2f} to {max(totals):.2f}; "
        f"{of_parts}), {wall:.1f} s, {size / cpu / 1e6:.0f} MB/s, {share:.0%} of the bare command",
        flush=True,
    )


def memory(work: Path) -> None:
    """Memory of the driver and bytes of shuffles by the number of partial profiles."""
    for kind in ("traces", "profiles"):
        for number in (100, 1000, 10_000):
            # A process of its own, so that its peak is that of this number.
            subprocess.run(
                [sys.executable, __file__, f"memory-of-{kind}", str(work), str(number)], check=True
            )


def memory_once(work: Path, kind: str, number: int) -> None:
    """A job on so many files, with as many tasks as there may be."""
    files = small(work, kind, number)
    cluster = Cluster(fresh(work, f"memory{number}"), 2, 1, "600m")
    events = fresh(work, f"events{number}")
    try:
        spark = session(cluster.url, events)
        one_each = Limits(files_per_task=1)
        summarize(spark, [str(small(work, kind, 8))], runs=False, limits=one_each).close()
        before, start = peaks(spark), time.monotonic()
        with summarize(spark, [str(files)], runs=False, limits=one_each) as summary:
            size = len(summary.merged)
            assert len(json.loads(summary.merged)["sources"]) == number
        after, wall = peaks(spark), time.monotonic() - start
        # A job of its own: looking for garbage keeps the JVM small.
        with Watch(spark) as watch:
            summarize(spark, [str(files)], runs=False, limits=one_each).close()
        spark.stop()
    finally:
        cluster.stop()
    tasks, shuffled = 0, 0
    for path in events.iterdir():
        for line in path.read_text().splitlines():
            metrics = json.loads(line).get("Task Metrics") or {}
            tasks += bool(metrics)
            shuffled += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    sizes = f"result {size / 1e6:.2f} MB, shuffled {shuffled / 2e6:.2f} MB"
    jvm, python = ([peak >> 20 for peak in pair] for pair in zip(before, after, strict=True))
    print(
        f"{number} {kind}, {tasks // 2} tasks, {wall:.0f} s: {sizes}; JVM {jvm[0]} to "
        f"{jvm[1]} MiB, at most {watch.live >> 20} MiB live; Python {python[0]} to {python[1]} MiB",
        flush=True,
    )


def small(work: Path, kind: str, number: int) -> Path:
    """A directory of so many traces of 20 kB or their profiles, hard links of two files."""
    directory = work / f"small-{kind}{number}"
    originals = []
    for seed in range(2):
        trace, profile = work / f"small-{seed}.txt", work / f"small-{seed}.profile.json"
        with trace.open("wb") as out:
            call = [os.environ["MAKE_TRACE"], "function_graph", "20K", str(seed)]
            subprocess.run(call, check=True, stdout=out)
        call = [os.environ["PROFCTL"], "summarize", "--quiet", str(trace), "-o", str(profile)]
        subprocess.run(call, check=True)
        originals.append(trace if kind == "traces" else profile)
    directory.mkdir(exist_ok=True)
    for one in range(number):
        link = directory / f"run{one:05}{''.join(originals[0].suffixes)}"
        link.unlink(missing_ok=True)
        link.hardlink_to(originals[one % 2])
    return directory


def fresh(work: Path, name: str) -> Path:
    """A directory for the logs of a cluster."""
    path = work / f"{name}-{os.getpid()}"
    path.mkdir(parents=True)
    return path


if __name__ == "__main__":
    what, directory = sys.argv[1], Path(sys.argv[2]).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    if what == "throughput":
        throughput(directory)
    elif what == "memory":
        memory(directory)
    else:
        memory_once(directory, what.removeprefix("memory-of-"), int(sys.argv[3]))
