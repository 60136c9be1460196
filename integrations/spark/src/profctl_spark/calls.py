"""Calls of many traces as rows of a DataFrame and of a Parquet dataset.

`profctl convert` writes Parquet, Arrow reads it, Spark takes Arrow's record batches: no row is ever
an object of Python. Executors need a profctl that was built with SQL, and pyarrow; Spark refuses to
start without pandas.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from . import flags as flags_of
from . import job, part
from .errors import ProfctlError
from .groups import Limits
from .inputs import Input

if TYPE_CHECKING:
    import pyarrow

_TIMES = ("start", "end", "wall", "off_cpu", "elapsed", "net", "stolen")

SPANS = StructType(
    [
        StructField("run", StringType()),
        StructField("id", LongType()),
        StructField("parent", LongType()),
        StructField("name", StringType()),
        StructField("module", StringType()),
        StructField("kind", StringType()),
        StructField("thread", StringType()),
        StructField("cpu", IntegerType()),
        StructField("depth", IntegerType()),
        *(StructField(name, LongType()) for name in _TIMES),
        StructField("partial", IntegerType()),
        StructField("outermost", IntegerType()),
        StructField("in_interrupt", IntegerType()),
        StructField("unit", StringType()),
        StructField("exit_code", IntegerType()),
        StructField("message", StringType()),
    ]
)
"""The columns of `profctl.spans/1`, then `unit`, the unit of times of that trace, and what became
of the file: `exit_code` 0, or a row with nothing but `run`, `exit_code` and `message`."""

_INPUTS = StructType(
    [
        StructField("index", LongType()),
        StructField("name", StringType()),
        StructField("size", LongType()),
        StructField("is_directory", BooleanType()),
    ]
)
_ROWS_AT_ONCE = 1 << 16


def spans(
    spark: SparkSession,
    paths: Sequence[str],
    *,
    flags: Sequence[str] = (),
    profctl: str | None = None,
    limits: Limits | None = None,
) -> DataFrame:
    """Read the calls of traces, as `SPANS` has them. Nothing is computed yet.

    Args:
        spark: A session of Spark Classic.
        paths: Files and directories, local or URIs.
        flags: Flags of `profctl convert` that concern reading: `--from`, `--thread`, `--match` …
        profctl: As in `summarize`; built with `--features tables`.
        limits: How the work is divided.

    Raises:
        ProfctlError: A usage error (exit code 2).
    """
    # `--match` selects calls here, as with any grouping but by function.
    divided = flags_of.divide(["--by", "thread", *flags])
    if divided.paths or divided.report != ["--by", "thread"]:
        extra = (divided.paths or divided.report[2:])[0]
        raise ProfctlError(2, f"unexpected argument {extra!r} among the flags")
    described = job.of(spark, profctl)
    sent = flags_of.send(spark.sparkContext, divided.reading[2:])
    found = job.divided(spark, paths, limits or Limits())
    rows = found.map(lambda one: (one.index, one.name, one.size, one.is_directory))

    def read(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        words = flags_of.received(sent)
        for batch in batches:
            for row in batch.to_pylist():
                one = Input(row["index"], row["name"], None, row["size"], row["is_directory"])
                yield from _calls(described, one, words)

    return spark.createDataFrame(rows, _INPUTS).mapInArrow(read, SPANS)


def to_parquet(
    spark: SparkSession,
    paths: Sequence[str],
    dataset: str,
    *,
    flags: Sequence[str] = (),
    profctl: str | None = None,
    limits: Limits | None = None,
    mode: str = "errorifexists",
) -> DataFrame:
    """Write the calls of traces to a dataset; Spark commits the output of each task once.

    Args:
        spark: A session of Spark Classic.
        paths: As in `spans`.
        dataset: A directory of any Hadoop file system.
        flags: As in `spans`.
        profctl: As in `spans`.
        limits: How the work is divided.
        mode: What to do if the dataset exists: `errorifexists`, `overwrite`, `append`.

    Returns:
        The files that could not be read: `run`, `exit_code`, `message`.

    Raises:
        ProfctlError: A usage error (exit code 2).
    """
    frame = spans(spark, paths, flags=flags, profctl=profctl, limits=limits)
    frame.write.mode(mode).partitionBy("exit_code").parquet(dataset)
    return failures(spark, dataset)


def read_spans(spark: SparkSession, dataset: str) -> DataFrame:
    """The calls in a dataset, for Spark SQL. Times are in `unit`, which may differ between runs."""
    calls = _read(spark, dataset).where("exit_code = 0")
    return calls.drop("exit_code", "message")


def failures(spark: SparkSession, dataset: str) -> DataFrame:
    """The files that could not be read: `run`, `exit_code` of profctl, `message`."""
    return _read(spark, dataset).where("exit_code <> 0").select("run", "exit_code", "message")


def _read(spark: SparkSession, dataset: str) -> DataFrame:
    return spark.read.schema(SPANS).parquet(dataset)


def _calls(described: part.Job, one: Input, words: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _arrow_schema()
    with tempfile.TemporaryDirectory(prefix="profctl-") as directory:
        path = os.path.join(directory, "calls.parquet")
        jobs = [] if {"-j", "--jobs"} & set(words) else ["--jobs", str(described.jobs)]
        arguments = ["convert", "--quiet", *jobs, *words, "-o", path, "--"]
        outcome = part.read(described, one, lambda name: [*arguments, name])
        if outcome.exit_code:
            empty = {field.name: pa.nulls(1, field.type) for field in schema}
            empty["run"] = pa.array([one.name], pa.string())
            empty["exit_code"] = pa.array([outcome.exit_code], pa.int32())
            empty["message"] = pa.array([outcome.message], pa.string())
            yield pa.RecordBatch.from_arrays([empty[name] for name in schema.names], schema=schema)
            return
        file = pq.ParquetFile(path)
        unit = (file.metadata.metadata or {}).get(b"profctl.unit", b"").decode()
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
            rows = batch.num_rows
            added = {
                "unit": pa.repeat(pa.scalar(unit, pa.string()), rows),
                "exit_code": pa.repeat(pa.scalar(0, pa.int32()), rows),
                "message": pa.nulls(rows, pa.string()),
            }
            columns = [
                added[field.name] if field.name in added else batch[field.name].cast(field.type)
                for field in schema
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _arrow_schema() -> pyarrow.Schema:
    import pyarrow as pa

    types = {StringType: pa.string(), LongType: pa.int64(), IntegerType: pa.int32()}
    return pa.schema([(field.name, types[type(field.dataType)]) for field in SPANS.fields])
