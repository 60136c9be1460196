"""Calls as rows: from profctl's Parquet files through Arrow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Program
from pyspark.sql import SparkSession

from profctl_spark import failures, read_spans, spans, to_parquet

TABLES = os.environ.get("PROFCTL_TABLES", "")
pytestmark = pytest.mark.skipif(not TABLES, reason="PROFCTL_TABLES names no profctl with SQL")
COLUMNS = ["run", "id", "parent", "name", "thread", "depth", "start", "end", "net", "partial"]


def test_spans_are_those_of_convert(spark: SparkSession, work: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    runs = sorted(str(path) for path in Path("before/machine2").iterdir())[:5]
    expected = []
    for number, run in enumerate(runs):
        path = str(tmp_path / f"{number}.parquet")
        Program(TABLES)("convert", "--quiet", run, "-o", path)
        expected += pq.read_table(path, columns=COLUMNS).to_pylist()
    notes = tmp_path / "notes.txt"
    notes.write_text("dear diary\n")
    frame = spans(spark, [*runs, str(notes)], profctl=TABLES)
    table: pa.Table = frame.where("exit_code = 0").select(*COLUMNS, "unit").toArrow()
    assert set(table["unit"].to_pylist()) == {"ns"}

    def order(row: dict[str, object]) -> tuple[str, int]:
        return (str(row["run"]), int(str(row["id"])))

    rows = table.drop_columns("unit").to_pylist()
    assert sorted(rows, key=order) == sorted(expected, key=order)

    dataset = f"file://{tmp_path}/calls"
    failed = to_parquet(spark, [*runs, str(notes)], dataset, profctl=TABLES)
    assert [(row["run"], row["exit_code"]) for row in failed.collect()] == [(str(notes), 3)]
    assert failures(spark, dataset).count() == 1
    calls = read_spans(spark, dataset)
    calls.createOrReplaceTempView("spans")
    total = spark.sql("SELECT count(*) AS n, sum(net) AS net FROM spans").collect()[0]
    assert (total["n"], total["net"]) == (len(expected), sum(row["net"] for row in expected))
    late = spans(spark, runs[:1], profctl=TABLES, flags=["--from", "50us", "--match", "^[a-m]"])
    names = {row["name"][0] for row in late.select("name").distinct().collect()}
    assert names <= set("abcdefghijklm")
    assert 0 < late.count() < len(expected)
