"""What the driver holds of a job."""

from __future__ import annotations

import json
from pathlib import Path

from driver import Watch
from pyspark.sql import SparkSession

import profctl_spark
from profctl_spark import Limits


def test_memory_of_the_driver_does_not_grow_with_partial_profiles(
    spark: SparkSession, work: Path, tmp_path: Path
) -> None:
    trace = work / "before" / "machine0" / "run0.txt"
    live = {}
    for number in (100, 1000):
        directory = tmp_path / str(number)
        directory.mkdir()
        for one in range(number):
            (directory / f"run{one}.txt").hardlink_to(trace)
        a_file_each = Limits(files_per_task=1)
        with (
            Watch(spark) as watch,
            profctl_spark.summarize(
                spark, [str(directory)], runs=False, limits=a_file_each
            ) as summary,
        ):
            profile = json.loads(summary.merged)
        assert len(profile["sources"]) == number
        live[number] = watch.live
    profile["sources"] = []
    # The names of files, and what Spark keeps for a task.
    assert live[1000] - live[100] < 900 * 10_000
    assert len(json.dumps(profile)) > 4 * 10_000, "profiles are too small to be noticed"
