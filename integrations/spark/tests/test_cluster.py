"""Jobs on a cluster give the bytes of profctl on one machine."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import threading
from pathlib import Path

import pytest
from cluster import Cluster, wait
from conftest import ROOT, RUNS, Program, built, piped
from pyspark.sql import SparkSession

import profctl_spark
from profctl_spark import Limits, ProfctlError

SMALL = Limits(files_per_task=8, fan_in=4)
"""Tasks and merges so small that there are several levels."""


def test_cluster_has_several_executors(spark: SparkSession, cluster: Cluster) -> None:
    wait(lambda: len(cluster.executors()) == 2, "two executors")


def test_summarize_is_that_of_one_machine(spark: SparkSession, bare: Program) -> None:
    expected = bare("summarize", "before", "after", "--format", "json")
    with profctl_spark.summarize(spark, ["before", "after"], limits=SMALL) as summary:
        assert summary.json() == expected
        assert summary.files.count() == 2 * RUNS
        assert summary.failures().count() == 0
        table = summary.report(["--top", "5", "--sort", "elapsed", "--width", "100"])
    shown = bare(
        "summarize", "--top", "5", "--sort", "elapsed", "--width", "100", "before", "after"
    )
    assert table == shown


def test_without_runs_it_is_that_of_merge(
    spark: SparkSession, bare: Program, tmp_path: Path
) -> None:
    parts = []
    for path in sorted(Path("before/machine1").iterdir()):
        parts.append(str(tmp_path / f"{path.stem}.profile.json"))
        bare("summarize", str(path), "-o", parts[-1])
    expected = bare("merge", *parts)
    # Of traces, and of profiles that were saved before.
    for paths in (["before/machine1"], parts):
        with profctl_spark.summarize(spark, paths, runs=False, limits=SMALL) as summary:
            assert summary.merged == expected


def test_diff_and_gate_are_those_of_one_machine(spark: SparkSession, bare: Program) -> None:
    expected = bare("diff", "before", "after", "--format", "json")
    found = profctl_spark.diff(spark, "before", "after")
    assert (found.report, found.exit_code) == (expected, 0)
    for side, cost in (("often-before", 30), ("often-after", 40)):
        for number in range(2):
            # Functions with 100 calls have percentiles, but `diff` shows them only with `--tails`.
            calls = (f"{100 * n} cpu0 sh-7 . f {cost + (n + number) % 7}\n" for n in range(200))
            path = Path(side) / f"run{number}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text("# profctl plain 1\n" + "".join(calls))
    for flags in (["--format", "json"], ["--format", "json", "--tails"]):
        expected = bare("diff", "often-before", "often-after", *flags)
        found = profctl_spark.diff(spark, "often-before", "often-after", flags=flags)
        assert found.report == expected
    kernels = [str(ROOT / "fixtures" / "diff" / name) for name in ("6.1.170", "6.1.192")]
    expected = bare("gate", "--json", "-", "--quiet", *kernels, code=1)
    found = profctl_spark.gate(spark, *kernels)
    assert (found.report, found.exit_code) == (expected, 1)


@pytest.mark.parametrize(
    "flags",
    [
        ["--by", "thread"],
        ["--from", "50us", "--until", "150us", "--percentiles", "none"],
        ["--match", "^[a-m]", "--by", "module"],
    ],
)
def test_flags_of_reading_reach_the_executors(
    spark: SparkSession, bare: Program, flags: list[str]
) -> None:
    paths = [f"before/machine0/run{number}.txt" for number in (0, 3, 6)]
    expected = bare("summarize", *flags, "--format", "json", *paths)
    with profctl_spark.summarize(spark, paths, flags=flags) as summary:
        shown = [flag for flag in flags if flag in ("--by", "thread", "module")]
        assert summary.report([*shown, "--format", "json"]) == expected


def test_hadoop_file_systems_are_read_through_pipes(spark: SparkSession, bare: Program) -> None:
    uri = piped("before")
    expected = bare("summarize", "before", "--format", "json")
    with profctl_spark.summarize(spark, [uri]) as summary:
        assert summary.json().replace(uri.encode(), b"before") == expected
        assert summary.failures().count() == 0
    pattern = f"file:{Path('before').absolute()}/machine*/run1?.txt"
    with profctl_spark.summarize(spark, [pattern]) as summary:
        assert summary.files.count() == 10
        assert summary.failures().count() == 0


def test_a_pipe_waits_for_a_program_that_starts_late(
    spark: SparkSession, bare: Program, tmp_path: Path
) -> None:
    """A small file fits the pipe: it could be written and closed before it is read."""
    runs = [f"before/machine0/run{number}.txt" for number in (0, 3)]
    uris = [piped(run) for run in runs]
    program = slow(tmp_path, bare.path, 1)
    with profctl_spark.summarize(spark, uris, profctl=str(program)) as summary:
        found = summary.json().replace(f"{piped('.')}/".encode(), b"")
        assert found == bare("summarize", *runs, "--format", "json")
    with pytest.raises(ProfctlError, match="none of 2 files can be read"):
        profctl_spark.summarize(spark, uris, flags=["--input-format", "frobnicate"])
    with pytest.raises(ProfctlError):
        profctl_spark.summarize(spark, uris, flags=["--from", "1000s"])


def test_a_directory_of_a_hadoop_file_system_may_be_one_trace(
    spark: SparkSession, bare: Program, tmp_path: Path
) -> None:
    trace = tmp_path / "run.data"
    subprocess.run([built("MAKE_TRACE", "make-trace"), "uftrace", "30K", str(trace)], check=True)
    compressed = tmp_path / "run.dat"
    subprocess.run(
        [built("MAKE_TRACE", "make-trace"), "trace_dat", "30K"],
        check=True,
        stdout=compressed.open("wb"),
    )
    expected = bare("summarize", str(trace), str(compressed), "--format", "json")
    with profctl_spark.summarize(spark, [piped(trace), piped(compressed)]) as summary:
        assert summary.failures().count() == 0
        assert summary.json().replace(piped("/").rstrip("/").encode(), b"") == expected


def test_files_that_cannot_be_read_are_rows(
    spark: SparkSession, bare: Program, tmp_path: Path
) -> None:
    good = Path("before/machine0/run0.txt").read_bytes()
    (tmp_path / "day1").mkdir()
    for number in range(5):
        (tmp_path / "day1" / f"good{number}.txt").write_bytes(good)
    (tmp_path / "day1" / "notes.txt").write_text("dear diary\n")
    (tmp_path / "day1" / "empty.txt").write_text("")
    gone, gone_here = piped(tmp_path / "gone.txt"), f"file://{tmp_path}/gone.txt"
    expected = bare("summarize", "--quiet", str(tmp_path), "--format", "json")
    paths = [str(tmp_path), gone, gone_here, str(tmp_path / "none")]
    with profctl_spark.summarize(spark, paths) as summary:
        assert summary.json() == expected
        rows = {row["path"]: row for row in summary.failures().collect()}
        assert summary.files.count() == 10
    names = [str(tmp_path / "day1" / "notes.txt"), str(tmp_path / "day1" / "empty.txt")]
    assert set(rows) == {*names, *paths[1:]}
    assert {row["exit_code"] for row in rows.values()} == {3}
    assert rows[names[0]]["block"] == "day1"
    assert "unrecognized trace format" in rows[names[0]]["message"]
    assert "FileNotFoundException" in rows[gone]["message"]
    assert f"{gone_here}: no such file" in rows[gone_here]["message"]
    with pytest.raises(ProfctlError, match="none of 1 files can be read") as caught:
        profctl_spark.summarize(spark, [names[0]])
    assert caught.value.exit_code == 3


def slow(directory: Path, program: str, seconds: float) -> Path:
    """A program that writes down what it reads, and waits before it does what `program` does."""
    return wrapped(directory, program, f'echo "$line" >> {directory}/reads; sleep {seconds}')


def wrapped(directory: Path, program: str, before: str) -> Path:
    """A program that does something before it reads a trace, of which `$line` has the path."""
    path = directory / "wrapped"
    path.write_text(
        "#!/bin/sh\n"
        "for line; do :; done\n"
        'case "$1 $line" in\n'
        "summarize\\ total | summarize\\ runs)\n"
        f'while read -r line; do {before}; echo "$line"; done | exec {program} "$@" ;;\n'
        f'summarize*) {before}; exec {program} "$@" ;;\n'
        f'*) exec {program} "$@" ;;\n'
        "esac\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("runs", [True, False])
def test_a_trace_that_crashes_the_program_is_a_row(
    spark: SparkSession, bare: Program, tmp_path: Path, runs: bool
) -> None:
    """The traces that the same call of profctl has read are read again, and count once."""
    crashes = 'case "$line" in *run3.txt*) kill -9 $$;; esac'
    program = wrapped(tmp_path, bare.path, crashes)
    paths = sorted(str(path) for path in Path("before").glob("*/*"))
    good = [path for path in paths if path != "before/machine0/run3.txt"]
    expected = bare("summarize", *good, "--format", "json")
    # Fifty files per task.
    with profctl_spark.summarize(spark, paths, runs=runs, profctl=str(program)) as summary:
        if runs:
            assert summary.json() == expected
        rows = summary.failures().collect()
        assert summary.files.count() == len(paths)
        assert [source["path"] for source in json.loads(summary.merged)["sources"]] == sorted(good)
    assert [(row["path"], row["exit_code"]) for row in rows] == [
        ("before/machine0/run3.txt", 128 + signal.SIGKILL)
    ]
    assert "killed by signal 9" in rows[0]["message"]


def test_an_executor_may_die(
    spark: SparkSession, cluster: Cluster, bare: Program, tmp_path: Path
) -> None:
    """The tasks of the executor are repeated elsewhere, and no trace counts twice."""
    context = spark.sparkContext
    wait(lambda: len(cluster.executors()) == 2, "two executors")
    program = slow(tmp_path, bare.path, 0.1)
    killed = []

    def kill() -> None:
        tracker = context.statusTracker()

        def done() -> int:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            return max((stage.numCompletedTasks for stage in stages if stage), default=0)

        wait(lambda: done() >= 3, "some tasks")
        killed.append(cluster.executors()[0])
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    expected = bare("summarize", "before", "--format", "json")
    with profctl_spark.summarize(spark, ["before"], limits=SMALL, profctl=str(program)) as summary:
        killer.join()
        assert summary.json() == expected
        assert summary.files.count() == RUNS
    assert len(killed) == 1
    reads = re.findall(r"[^\"]+\.txt", (tmp_path / "reads").read_text())
    assert len(set(reads)) == RUNS
    assert len(reads) > RUNS, "no trace was read again: the executor had nothing to do"


def test_a_path_given_twice_counts_twice(spark: SparkSession, bare: Program) -> None:
    paths = ["before/machine0/run0.txt", "before/machine1/run1.txt", "before/machine0/run0.txt"]
    expected = bare("summarize", *paths, "--format", "json")
    with profctl_spark.summarize(spark, paths) as summary:
        assert summary.json() == expected


def test_profiles_that_count_other_things_are_refused(
    spark: SparkSession, bare: Program, tmp_path: Path
) -> None:
    by_thread = str(tmp_path / "thread.profile.json")
    bare("summarize", "--by", "thread", "before/machine0/run0.txt", "-o", by_thread)
    with pytest.raises(ProfctlError, match="grouped by") as caught:
        profctl_spark.summarize(spark, ["before/machine0/run0.txt", by_thread])
    assert caught.value.exit_code == 3
