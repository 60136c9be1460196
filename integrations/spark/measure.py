"""The figures of docs/scale.md: `PYTHONPATH=src:tests python measure.py throughput|merge FOLDER`.

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
from collections.abc import Iterable, Iterator
from pathlib import Path

from cluster import Cluster
from pyspark.sql import SparkSession

from profctl_spark import job, summarize, tree
from profctl_spark.tree import Partial

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(roots: Iterable[int]) -> float:
    """CPU time of processes and of all below them, ended ones included if they were waited for."""
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = Path(path).read_text()
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        number = int(text.split()[0])
        children.setdefault(int(fields[1]), []).append(number)
        used[number] = sum(int(field) for field in fields[11:15])
    total, waiting = 0, list(roots)
    while waiting:
        number = waiting.pop()
        total += used.get(number, 0)
        waiting += children.get(number, [])
    return total / _TICKS


def session(url: str, events: Path) -> SparkSession:
    """A session whose events are logged."""
    events.mkdir(parents=True, exist_ok=True)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.cores": "1",
        "spark.executor.memory": "500m",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.executorEnv.PROFCTL": os.environ["PROFCTL"],
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
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


def throughput(work: Path) -> None:
    """Bytes per second of CPU: the bare command, local paths, URIs; one and two executors."""
    sets = {f"{n} files of {size} MB": made(work, n, size) for n, size in ((8, 60), (4, 250))}
    for name, files in sets.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        for file in files:
            call = [os.environ["PROFCTL"], "summarize", "-j1", "--format", "json", file]
            subprocess.run(call, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        show(f"{name}, bare, -j1", files, spent, time.monotonic() - start)
    for executors in (1, 2):
        cluster = Cluster(fresh(work, f"cluster{executors}"), executors, 1, "600m")
        try:
            spark = session(cluster.url, work / "events")
            spark.sparkContext.parallelize(range(8), 8).count()
            for scheme in ("", "file://"):
                for name, files in sets.items():
                    paths = [f"{scheme}{file}" for file in files]
                    # Once without counting: workers and their JVMs start and warm up.
                    summarize(spark, paths, runs=False).close()
                    start, used = time.monotonic(), cpu_seconds(cluster.executors())
                    summarize(spark, paths, runs=False).close()
                    used = cpu_seconds(cluster.executors()) - used
                    what = "URIs" if scheme else "paths"
                    wall = time.monotonic() - start
                    show(f"{name}, {what}, {executors} executors", files, used, wall)
            spark.stop()
        finally:
            cluster.stop()


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


def show(name: str, files: list[str], cpu: float, wall: float) -> None:
    """Print a line."""
    size = sum(os.path.getsize(file) for file in files)
    print(
        f"{name}: {size / 1e6:.0f} MB, {cpu:.2f} s CPU, {wall:.1f} s, {size / cpu / 1e6:.0f} MB/s"
    )


def merge(work: Path) -> None:
    """Memory of the driver and bytes of shuffles by the number of partial profiles."""
    for number in (100, 1000, 10_000):
        # A process of its own, so that its peak is that of this number.
        subprocess.run([sys.executable, __file__, "merge-once", str(work), str(number)], check=True)


def merge_once(work: Path, number: int) -> None:
    """Merge generated partial profiles."""
    trace = work / "small.txt"
    with trace.open("wb") as out:
        call = [os.environ["MAKE_TRACE"], "function_graph", "200K"]
        subprocess.run(call, check=True, stdout=out)
    call = [os.environ["PROFCTL"], "summarize", "-q", "--format", "json", str(trace)]
    part = subprocess.run(call, check=True, capture_output=True).stdout
    cluster = Cluster(fresh(work, f"merge{number}"), 2, 1, "600m")
    try:
        spark = session(cluster.url, work / f"events{number}")
        job.of(spark, None)
        context = spark.sparkContext
        name = str(trace).encode()

        def named(numbers: Iterable[int]) -> Iterator[Partial]:
            return (Partial(part.replace(name, b"%s-%06d" % (name, one))) for one in numbers)

        parts = context.parallelize(range(number), max(8, number // 64)).mapPartitions(named)
        start, used = time.monotonic(), cpu_seconds(cluster.executors())
        tasks = parts.mapPartitions(lambda found: tree.merge(found, False, None))
        result = tree.reduce(tasks, False, 32, None).collect()[0]
        wall, used = time.monotonic() - start, cpu_seconds(cluster.executors()) - used
        assert result.exit_code == 0, result.message
        jvm = context._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
        pools = jvm.getMemoryPoolMXBeans()
        heap = sum(
            pool.getPeakUsage().getUsed()
            for pool in pools
            if pool.getType().toString() == "Heap memory"
        )
        context._jvm.System.gc()  # type: ignore[union-attr]
        live = jvm.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        spark.stop()
    finally:
        cluster.stop()
    shuffled = 0
    for path in (work / f"events{number}").iterdir():
        for line in path.read_text().splitlines():
            metrics = json.loads(line).get("Task Metrics") or {}
            shuffled += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
        path.unlink()
    print(
        f"{number} partials of {len(part)} bytes: {used:.1f} s CPU, {wall:.1f} s; result "
        f"{len(result.profile)} bytes; shuffled {shuffled}; driver: heap at most {heap >> 20} MiB, "
        f"{live >> 20} MiB live, Python {python >> 10} MiB",
        flush=True,
    )


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
    elif what == "merge":
        merge(directory)
    else:
        merge_once(directory, int(sys.argv[3]))
