"""What every job begins with: the inputs, divided into tasks, and what executors need to know."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from pyspark import RDD, SparkContext
from pyspark.sql import SparkSession

from . import groups, inputs
from .groups import Limits
from .hadoop import DriverFiles, Reader
from .inputs import Input
from .part import Job

_SENT = "_profctl_spark_sent"


def of(spark: SparkSession, given: str | None) -> Job:
    """Describe the job to executors, which are sent this package.

    Args:
        spark: A session of Spark Classic.
        given: Path of profctl on the executors; None to look for it there.
    """
    context = spark.sparkContext
    _send_package(context)
    cores = int(context.getConf().get("spark.task.cpus", "1") or 1)
    return Job(given, os.getcwd(), Reader.of(context), cores)


def divided(spark: SparkSession, paths: Sequence[str], limits: Limits) -> RDD[Input]:
    """List the inputs; a partition holds those of one task.

    Raises:
        ProfctlError: As `inputs.find`.
    """
    context = spark.sparkContext
    found = inputs.find(paths, inputs.LocalFiles(), DriverFiles(context))
    tasks = groups.pack(found, limits, context.defaultParallelism)
    return context.parallelize(tasks, len(tasks)).flatMap(lambda task: task)


def _send_package(context: SparkContext) -> None:
    """Executors need this package to be installed; sending it is simpler and never out of date."""
    if getattr(context, _SENT, False):
        return
    folder = Path(__file__).parent
    directory = tempfile.mkdtemp(prefix="profctl-")
    # The driver serves the file as long as the job runs.
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    archive = Path(directory) / "profctl_spark.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for source in sorted(folder.glob("*.py")):
            packed.write(source, f"{folder.name}/{source.name}")
    context.addPyFile(str(archive))
    setattr(context, _SENT, True)
