"""Many builds on many machines: profiles in a dataset that is partitioned by build and machine.

    DATASET/build=v41/machine=rack3-07/part-….parquet    path, profile

Machines are blocks and runs are replicates, as `profctl gate` understands them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark import RDD, StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

from . import compare, program, tree
from . import flags as flags_of
from .errors import ProfctlError
from .groups import Limits
from .program import Outcome
from .summary import FILES, Read, read
from .tree import Partial

PROFILES = StructType(
    [
        StructField("path", StringType(), False),
        StructField("profile", BinaryType(), False),
        StructField("build", StringType(), False),
        StructField("machine", StringType(), False),
    ]
)
"""A row per run: where it was read, its profile as JSON, the build and the machine."""

VERDICTS = StructType(
    [
        StructField("build", StringType(), False),
        StructField("baseline", StringType(), False),
        StructField("exit_code", IntegerType(), False),
        StructField("report", StringType(), False),
        StructField("message", StringType(), False),
    ]
)
"""A row per build: the build before it, the exit code of `profctl gate`, its `profctl.gate/1`
report as JSON, and its messages."""

NO_MACHINE = "-"
"""The machine of a run that lies in no subdirectory."""


@dataclass(frozen=True)
class Saved:
    """What became of the files of a build.

    Attributes:
        files: A row per input, as `summary.FILES` has it.
    """

    files: DataFrame


def save_build(
    spark: SparkSession,
    dataset: str,
    build: str,
    paths: Sequence[str],
    *,
    flags: Sequence[str] = (),
    profctl: str | None = None,
    limits: Limits | None = None,
) -> Saved:
    """Summarize the runs of a build into the dataset.

    Saving a build again replaces the runs of those of its machines that are in `paths`.

    Args:
        spark: A session of Spark Classic.
        dataset: A directory of any Hadoop file system.
        build: Name of the build.
        paths: Directories of runs, with a subdirectory per machine.
        flags: Flags of `profctl summarize` that concern reading.
        profctl: As in `summarize`.
        limits: How the work is divided.

    Raises:
        ProfctlError: A usage error (exit code 2).
    """
    divided = flags_of.divide(flags)
    parts = read(spark, paths, divided.reading, profctl, limits or Limits())
    parts.persist(StorageLevel.DISK_ONLY)
    try:
        rows = parts.filter(lambda read: read.outcome.exit_code == 0).map(_row(build))
        frame = spark.createDataFrame(rows, PROFILES)
        writer = frame.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        writer.partitionBy("build", "machine").parquet(dataset)
        files = parts.map(Read.row).collect()
    finally:
        parts.unpersist()
    return Saved(spark.createDataFrame(files, FILES))


def builds(spark: SparkSession, dataset: str) -> list[str]:
    """The builds of a dataset, by name, numbers by their value."""
    rows = _read(spark, dataset).select("build").distinct().collect()
    return sorted((str(row["build"]) for row in rows), key=natural)


def history(
    spark: SparkSession,
    dataset: str,
    *,
    flags: Sequence[str] = ("--format", "json"),
    profctl: str | None = None,
    limits: Limits | None = None,
) -> Outcome:
    """Find the builds at which functions changed: what `profctl history` does with directories.

    The driver holds a profile of all runs per build, in temporary files.

    Raises:
        ProfctlError: Profiles cannot be merged, or profctl refuses the flags.
    """
    names = builds(spark, dataset)
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="profctl-") as directory:
        folder = Path(directory) / "builds"
        for name in names:
            (folder / name).mkdir(parents=True)
            merged = of_build(spark, dataset, name, profctl, limits).collect()
            (folder / name / "runs.profile.json").write_bytes(_one(merged).profile)
        divided = flags_of.divide(flags)
        call = ["history", *divided.report, "--", str(folder)]
        outcome = program.run(program.find(), call)
    if outcome.exit_code in (2, 3):
        raise ProfctlError(outcome.exit_code, outcome.message)
    return outcome


def gate_builds(
    spark: SparkSession,
    dataset: str,
    *,
    flags: Sequence[str] = (),
    profctl: str | None = None,
    limits: Limits | None = None,
) -> DataFrame:
    """Judge each build against the one before it with `profctl gate`, on the executors.

    Returns:
        A row per build but the first, as `VERDICTS` has it, in the order of builds.
    """
    names = builds(spark, dataset)
    limits = limits or Limits()
    divided = flags_of.divide(flags)
    pairs = dict(zip(names[1:], names, strict=False))
    merged = []
    for place, name in enumerate(names):
        sides = [(name, 1)] if place else []
        sides += [(names[place + 1], 0)] if place + 1 < len(names) else []
        profile = of_build(spark, dataset, name, profctl, limits)
        merged.append(profile.flatMap(_as_sides(sides)))
    both = spark.sparkContext.union(merged).groupByKey(max(1, len(pairs)))

    def judged(item: tuple[str, object]) -> tuple[str, str, int, str, str]:
        build, sides = item[0], sorted(item[1], key=lambda side: side[0])  # type: ignore[call-overload]
        named = [(pairs[build], _one([sides[0][1]]).profile), (build, _one([sides[1][1]]).profile)]
        call = ["--json", "-", "--quiet", *divided.report]
        outcome = compare.of_profiles("gate", named, call, profctl)
        text = outcome.out.decode()
        return (build, pairs[build], outcome.exit_code, text, outcome.message)

    rows = both.map(judged).collect()
    rows.sort(key=lambda row: natural(row[0]))
    return spark.createDataFrame(rows, VERDICTS)


def of_build(
    spark: SparkSession, dataset: str, build: str, profctl: str | None, limits: Limits
) -> RDD[Partial]:
    """The profile of all runs of a build. Nothing is computed yet."""
    rows = _read(spark, dataset).where(_is(build)).select("profile").rdd
    parts: RDD[Partial] = rows.map(lambda row: Partial(bytes(row["profile"])))
    tasks = parts.mapPartitions(lambda found: tree.merge(found, True, profctl))
    return tree.reduce(tasks, True, limits.fan_in, profctl)


def natural(name: str) -> list[tuple[int, int, str]]:
    """The key of an order in which v2 comes before v10."""
    pieces = re.findall(r"\d+|\D+", name)
    return [(0, int(one), one) if one.isdigit() else (1, 0, one) for one in pieces]


def _read(spark: SparkSession, dataset: str) -> DataFrame:
    # With the schema given, a build named 10 stays text.
    return spark.read.schema(PROFILES).parquet(dataset)


def _is(build: str) -> str:
    escaped = build.replace("\\", "\\\\").replace("'", "\\'")
    return f"build = '{escaped}'"


def _row(build: str):  # type: ignore[no-untyped-def]
    def row(one: Read) -> Row:
        machine = one.one.block or NO_MACHINE
        return Row(path=one.one.name, profile=one.outcome.out, build=build, machine=machine)

    return row


def _as_sides(sides: list[tuple[str, int]]):  # type: ignore[no-untyped-def]
    def keyed(profile: Partial) -> Iterator[tuple[str, tuple[int, Partial]]]:
        return ((build, (side, profile)) for build, side in sides)

    return keyed


def _one(found: Sequence[Partial]) -> Partial:
    if found[0].exit_code:
        raise ProfctlError(found[0].exit_code, found[0].message)
    return found[0]
