"""Two sides compared: `profctl diff` and `profctl gate` on profiles that executors made."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from . import flags as flags_of
from . import program
from .errors import ProfctlError
from .groups import Limits
from .program import Outcome
from .summary import Summary, summarize


@dataclass(frozen=True)
class Comparison:
    """What profctl said of two sides.

    Attributes:
        report: Standard output of `profctl diff` or `profctl gate`.
        exit_code: 0; of `gate` 1 for a regression and 4 if it is inconclusive; 5 with `--strict`.
        message: Notes, as profctl writes them to standard error.
        files: A row per input of both sides, as `summary.FILES` has it.
    """

    report: bytes
    exit_code: int
    message: str
    files: DataFrame


def diff(
    spark: SparkSession,
    before: str,
    after: str,
    *,
    flags: Sequence[str] = ("--format", "json"),
    profctl: str | None = None,
    limits: Limits | None = None,
) -> Comparison:
    """Compare two builds: what `profctl diff BEFORE AFTER` does with the same directories.

    Args:
        spark: A session of Spark Classic.
        before: Directory of runs; subdirectories are blocks. A local path or a URI.
        after: The same for the other build.
        flags: Flags of `profctl diff`.
        profctl: As in `summarize`.
        limits: How the work is divided.

    Raises:
        ProfctlError: As `summarize`; or profctl refuses the flags or the sides.
    """
    return _compare("diff", spark, before, after, flags, profctl, limits)


def gate(
    spark: SparkSession,
    before: str,
    after: str,
    *,
    flags: Sequence[str] = ("--json", "-", "--quiet"),
    profctl: str | None = None,
    limits: Limits | None = None,
) -> Comparison:
    """Judge a build: what `profctl gate BEFORE AFTER` does with the same directories.

    The arguments and errors are those of `diff`. A regression is no error but `exit_code` 1.
    """
    return _compare("gate", spark, before, after, flags, profctl, limits)


def _compare(
    command: str,
    spark: SparkSession,
    before: str,
    after: str,
    flags: Sequence[str],
    profctl: str | None,
    limits: Limits | None,
) -> Comparison:
    divided = flags_of.divide(flags)
    if divided.paths:
        raise ProfctlError(2, f"unexpected argument {divided.paths[0]!r} among the flags")
    sides: list[Summary] = []
    try:
        for path in (before, after):
            side = summarize(spark, [path], flags=divided.reading, profctl=profctl, limits=limits)
            sides.append(side)
        outcome = of_profiles(
            command, [(before, sides[0].merged), (after, sides[1].merged)], divided.report
        )
        rows = sides[0].files.union(sides[1].files).collect()
    finally:
        for side in sides:
            side.close()
    if outcome.exit_code in (2, 3):
        raise ProfctlError(outcome.exit_code, outcome.message)
    files = spark.createDataFrame(rows, sides[0].files.schema)
    return Comparison(outcome.out, outcome.exit_code, outcome.message, files)


def of_profiles(
    command: str,
    sides: Sequence[tuple[str, bytes]],
    flags: Sequence[str],
    given: str | None = None,
) -> Outcome:
    """Call profctl on this machine with saved profiles as sides.

    Args:
        command: `diff` or `gate`.
        sides: The name and the profile of both.
        flags: Flags of the report.
        given: Path of profctl; None to look for it.
    """
    with tempfile.TemporaryDirectory(prefix="profctl-") as directory:
        paths = []
        for number, (_, profile) in enumerate(sides):
            paths.append(os.path.join(directory, f"{number}.profile.json"))
            with open(paths[-1], "wb") as file:
                file.write(profile)
        names = [f"--name-before={sides[0][0]}", f"--name-after={sides[1][0]}"]
        return program.run(program.find(given), [command, *names, *flags, "--", *paths])
