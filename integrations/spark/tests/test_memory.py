"""What the driver holds of a job."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Program
from driver import Watch
from pyspark.sql import SparkSession

import profctl_spark
from profctl_spark import Limits


def test_memory_of_the_driver_does_not_grow_with_partial_profiles(
    spark: SparkSession, bare: Program, work: Path, tmp_path: Path
) -> None:
    profile = tmp_path / "run.profile.json"
    bare("summarize", str(work / "before" / "machine0" / "run0.txt"), "-o", str(profile))
    live = {}
    limits = Limits(files_per_task=1, tasks=20)
    for number in (20, 2000):
        directory = tmp_path / str(number)
        directory.mkdir()
        for one in range(number):
            (directory / f"run{one}.profile.json").hardlink_to(profile)
        with (
            Watch(spark) as watch,
            profctl_spark.summarize(spark, [str(directory)], runs=False, limits=limits) as summary,
        ):
            merged = json.loads(summary.merged)
        assert len(merged["sources"]) == number
        live[number] = watch.live
    # The result names its sources. The heap also holds what Spark keeps of a job, some megabytes
    # more or less; the profiles would take several times the limit.
    more = 1980 * profile.stat().st_size
    assert more > 32_000_000
    assert live[2000] - live[20] < more / 4
