"""The profile of many traces."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypeAlias

from pyspark import RDD, StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from . import flags as flags_of
from . import job, part, program, tree
from .errors import ProfctlError
from .groups import Limits
from .inputs import Input
from .part import Job
from .program import Outcome
from .tree import Partial

FILES = StructType(
    [
        StructField("path", StringType(), False),
        StructField("block", StringType()),
        StructField("bytes", LongType(), False),
        StructField("exit_code", IntegerType(), False),
        StructField("message", StringType()),
    ]
)
"""The table of files: a row per input. `bytes` is the size as stored; `exit_code` is that of
profctl; `message` says why the file is not in the profile, and is null where it is."""


_FILES_AT_ONCE = 64
"""With `runs`, profctl holds the profiles of all of them."""

Row: TypeAlias = tuple[str, str | None, int, int, str | None]
"""A row of the table of files."""


@dataclass(frozen=True)
class Read:
    """One input after it was read: its profile, or why there is none."""

    one: Input
    outcome: Outcome

    def row(self) -> Row:
        """The row of the table of files."""
        message = self.outcome.message if self.outcome.exit_code else None
        one = self.one
        return (one.name, one.block, one.size, self.outcome.exit_code, message)


@dataclass(frozen=True)
class Done:
    """What tasks made of their inputs: their rows, and the profile of those that were read."""

    rows: list[Row]
    profiles: list[Partial]


class Summary:
    """The profile of many traces, and what became of each file.

    Use it as a context manager, or call `close`: the results of tasks wait on the disks of the
    executors until then.

    Attributes:
        merged: The profile as JSON with its runs; `json` gives what `profctl summarize` writes.
        files: A row per input, as `FILES` has it.
    """

    def __init__(self, spark: SparkSession, tasks: RDD[Done], merged: bytes):
        """Keep the results of a job."""
        self._tasks = tasks
        self.merged = merged
        self.files: DataFrame = spark.createDataFrame(tasks.flatMap(lambda done: done.rows), FILES)

    def json(self) -> bytes:
        """The profile: byte for byte what `profctl summarize --format json` writes."""
        return self.report(["--format", "json"])

    def report(self, flags: Sequence[str]) -> bytes:
        """What `profctl summarize` prints with these flags of the report.

        Raises:
            ProfctlError: A flag is wrong.
        """
        with tempfile.TemporaryDirectory(prefix="profctl-") as directory:
            path = self.save(os.path.join(directory, "merged.profile.json"))
            outcome = program.run(program.find(), ["summarize", *flags, "--", path])
        if outcome.exit_code not in (0, 5):
            raise ProfctlError(outcome.exit_code, outcome.message)
        return outcome.out

    def save(self, path: str) -> str:
        """Write `merged` to a file of the driver, for other commands of profctl."""
        with open(path, "wb") as file:
            file.write(self.merged)
        return path

    def failures(self) -> DataFrame:
        """The rows of files that are not in the profile."""
        return self.files.where("exit_code <> 0")

    def close(self) -> None:
        """Drop what the executors keep."""
        self._tasks.unpersist()

    def __enter__(self) -> Summary:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()


def summarize(
    spark: SparkSession,
    paths: Sequence[str],
    *,
    runs: bool = True,
    flags: Sequence[str] = (),
    profctl: str | None = None,
    limits: Limits | None = None,
) -> Summary:
    """Summarize traces: what `profctl summarize PATHS` does, on the executors.

    A file that cannot be read is skipped and named in `Summary.files`.

    Args:
        spark: A session of Spark Classic.
        paths: Files and directories: local paths that every executor sees, or URIs of Hadoop's
            file systems, which may be patterns.
        runs: Keep the sums of each run apart, as `profctl summarize` does, for `diff` and `gate`;
            otherwise add them, as `profctl merge` does: the size of the result then depends on the
            functions alone.
        flags: Flags of `profctl summarize` that concern reading: `--by`, `--from`, `--thread` …
        profctl: Path of the program on the executors; None for the file shipped with the job
            (`ship`), `$PROFCTL`, or PATH.
        limits: How the work is divided.

    Raises:
        ProfctlError: A usage error (exit code 2), no file can be read, or profiles cannot be merged
            because they count different things (3).
    """
    limits = limits or Limits()
    divided = flags_of.divide(flags)
    if divided.paths:
        raise ProfctlError(2, f"unexpected argument {divided.paths[0]!r} among the flags")
    described = job.of(spark, profctl)
    sent = flags_of.send(spark.sparkContext, divided.reading)

    def read_in_task(found: Iterable[Input]) -> Iterator[Done]:
        rows: list[Row] = []
        words = flags_of.received(sent)
        yield _merged(_profiles(described, list(found), words, runs, rows), runs, profctl, rows)

    def merged_in_task(found: Iterable[Done]) -> Iterator[Done]:
        rows: list[Row] = []

        def profiles() -> Iterator[Partial]:
            for done in found:
                rows.extend(done.rows)
                yield from done.profiles

        yield _merged(profiles(), runs, profctl, rows)

    tasks = job.divided(spark, paths, limits).mapPartitions(read_in_task)
    if tasks.getNumPartitions() > 1:
        # What tasks have read is kept as what they send to the first level of the tree.
        tasks = tree.grouped(tasks, limits.fan_in).mapPartitions(merged_in_task)
    tasks.persist(StorageLevel.DISK_ONLY)
    try:
        level = tasks.flatMap(lambda done: done.profiles)
        merged = collect(tasks, tree.reduce(level, runs, limits.fan_in, profctl))
    except BaseException:
        tasks.unpersist()
        raise
    return Summary(spark, tasks, merged)


def _merged(profiles: Iterator[Partial], runs: bool, given: str | None, rows: list[Row]) -> Done:
    """Merge profiles; `rows` is filled as they are taken."""
    merged = list(tree.merge(profiles, runs, given))
    # If merging failed, the rest is read as well, for its rows.
    for _ in profiles:
        pass
    return Done(rows, merged)


def _profiles(
    described: Job, inputs: Sequence[Input], words: Sequence[str], runs: bool, rows: list[Row]
) -> Iterator[Partial]:
    """The profiles of the inputs of a task, of many at once; `rows` receives their rows."""
    for are_remote in (False, True):
        alike = [one for one in inputs if one.is_remote == are_remote]
        for start in range(0, len(alike), _FILES_AT_ONCE):
            some = alike[start : start + _FILES_AT_ONCE]
            read = part.summarize_all(described, some, words, runs)
            if read is not None:
                outcomes, profile = read
                rows.extend(Read(*pair).row() for pair in zip(some, outcomes, strict=True))
                if profile:
                    yield Partial(profile)
                continue
            for one in some:
                outcome = part.summarize(described, one, words, runs)
                rows.append(Read(one, outcome).row())
                if outcome.exit_code == 0:
                    yield Partial(outcome.out)


def read(
    spark: SparkSession,
    paths: Sequence[str],
    reading: Sequence[str],
    profctl: str | None,
    limits: Limits,
) -> RDD[Read]:
    """Read each input into a profile of its own, with its run. Nothing is computed yet."""
    described = job.of(spark, profctl)
    sent = flags_of.send(spark.sparkContext, reading)

    def one(found: Iterable[Input]) -> Iterator[Read]:
        words = flags_of.received(sent)
        return (Read(one, part.summarize(described, one, words, True)) for one in found)

    return job.divided(spark, paths, limits).mapPartitions(one)


def collect(tasks: RDD[Done], merged: RDD[Partial]) -> bytes:
    """Fetch the one profile that is left.

    Raises:
        ProfctlError: Merging failed, or no input could be read.
    """
    found = merged.collect()
    if not found:
        rows = tasks.flatMap(lambda done: done.rows)
        raise ProfctlError(
            3, f"none of {rows.count()} files can be read; the first: {rows.first()[-1]}"
        )
    if found[0].exit_code:
        raise ProfctlError(found[0].exit_code, found[0].message)
    return found[0].profile
