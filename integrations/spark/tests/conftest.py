"""The program, traces and the cluster that tests share.

`PROFCTL` is the program to test and `MAKE_TRACE` the generator of traces; by default both are those
that `cargo build` left in the repository. `PROFCTL_TABLES` is a program with SQL, for Parquet.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import Cluster
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
RUNS = 100
"""Traces on each side."""


def built(variable: str, name: str) -> str:
    """The path of a program that was built before."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = os.environ.get(variable, str(target / "debug" / name))
    assert os.access(path, os.X_OK), f"{path}: build it first, or set {variable}"
    return path


@pytest.fixture(scope="session")
def profctl() -> str:
    """The program."""
    path = built("PROFCTL", "profctl")
    os.environ["PROFCTL"] = path
    return path


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory, profctl: str) -> Iterator[Path]:
    """The working directory of all tests, with two builds of runs on three machines.

    A run is one of a few recordings, so that runs share functions, cut at another place.
    """
    work = tmp_path_factory.mktemp("work")
    make = built("MAKE_TRACE", "make-trace")
    for build, seeds in (("before", (1, 2)), ("after", (2, 3))):
        originals = [generated(make, seed).splitlines(keepends=True) for seed in seeds]
        for number in range(RUNS):
            lines = originals[number % 2]
            path = work / build / f"machine{number % 3}" / f"run{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(lines[: len(lines) - number]))
    before = os.getcwd()
    os.chdir(work)
    yield work
    os.chdir(before)


def generated(make: str, seed: int) -> str:
    """A trace of about 20 kB."""
    return subprocess.run(
        [make, "function_graph", "20K", str(seed)], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers with an executor each."""
    found = Cluster(tmp_path_factory.mktemp("cluster"), workers=2, cores=1, memory="600m")
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="session")
def spark(cluster: Cluster, work: Path, profctl: str) -> Iterator[SparkSession]:
    """A session with two executors of one core."""
    top = f"/{work.parts[1]}"
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.cores": "1",
        "spark.executor.memory": "500m",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.executorEnv.PROFCTL": profctl,
        # The scheme of `piped`: executors read it through Hadoop, though the files are here.
        f"spark.hadoop.fs.viewfs.mounttable.tests.link.{top}": f"file://{top}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The default is snappy, and snappy-java 1.1.10.8 fails where musl is installed, too.
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(work / "warehouse"),
    }
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Workers need pyarrow, as this process does.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(cluster.url).appName("tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def piped(path: str | Path) -> str:
    """The URI of a file that is copied into a pipe."""
    return f"viewfs://tests{Path(path).absolute()}"


class Program:
    """The bare program, which jobs are compared with."""

    def __init__(self, path: str) -> None:
        """Use the program at `path`."""
        self.path = path

    def __call__(self, *arguments: str, code: int = 0) -> bytes:
        """What it writes to standard output; it must end with `code`."""
        done = subprocess.run([self.path, *arguments], capture_output=True, check=False)
        assert done.returncode == code, done.stderr.decode()
        return done.stdout


@pytest.fixture(scope="session")
def bare(profctl: str) -> Program:
    """The bare program."""
    return Program(profctl)
