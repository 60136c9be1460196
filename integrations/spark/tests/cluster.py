"""A Spark standalone cluster on the loopback interface: a master and two workers."""

from __future__ import annotations

import glob
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

_HEAP = "-Xmx192m"


def wait(found: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Wait until `found` is true, or fail."""
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.1)


class Cluster:
    """The processes of a cluster, as children of this one."""

    def __init__(self, directory: Path, workers: int, cores: int, memory: str) -> None:
        """Start the master, then the workers, and wait until they know one another."""
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []
        self._start("master", "master.Master", "--host", "127.0.0.1", "--port", "0")
        self.url = self._said("master", r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            name = f"worker{number}"
            work = ["--work-dir", str(directory / name)]
            size = ["--cores", str(cores), "--memory", memory]
            self._start(name, "worker.Worker", "--host", "127.0.0.1", *work, *size, self.url)
        for number in range(workers):
            self._said(f"worker{number}", r"(Successfully registered) with master")

    def _start(self, name: str, kind: str, *arguments: str) -> None:
        home = _find_spark_home()
        java = os.path.join(os.environ.get("JAVA_HOME", ""), "bin", "java")
        program = java if os.path.exists(java) else "java"
        options = [_HEAP, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *_opens()]
        where = ["-cp", f"{home}/jars/*", f"org.apache.spark.deploy.{kind}"]
        environment = {
            **os.environ,
            "SPARK_HOME": home,
            "SPARK_LOCAL_IP": "127.0.0.1",
            # A worker looks for it before it starts an executor.
            "SPARK_SCALA_VERSION": re.findall(
                r"_([0-9.]+)-", glob.glob(f"{home}/jars/spark-core_*")[0]
            )[0],
        }
        with open(self._log(name), "wb") as log:
            process = subprocess.Popen(
                [program, *options, *where, "--webui-port", "0", *arguments],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._processes.append(process)

    def _log(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def _said(self, name: str, pattern: str) -> str:
        found: list[str] = []

        def look() -> bool:
            found[:] = re.findall(pattern, self._log(name).read_text())
            return bool(found)

        wait(look, f"{pattern} in the log of {name}")
        return found[0]

    def executors(self) -> list[int]:
        """The process ids of executors: children of our workers."""
        ours = {process.pid for process in self._processes}
        found = []
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                text = Path(path).read_text()
                command = Path(path).with_name("cmdline").read_bytes()
            except OSError:
                continue
            parent = int(text.rpartition(")")[2].split()[1])
            if parent in ours and b"CoarseGrainedExecutorBackend" in command:
                found.append(int(text.split()[0]))
        return sorted(found)

    def stop(self) -> None:
        """End the workers, then the master."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(timeout=30)


def _opens() -> list[str]:
    """What Spark's own scripts add for Java 17."""
    packages = ("lang", "lang.invoke", "net", "nio", "util", "util.concurrent")
    inner = ("sun.nio.ch", "sun.nio.cs", "sun.util.calendar")
    names = [f"java.{name}" for name in packages] + list(inner)
    return [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in names]
