"""Builds on machines: a dataset, what became of functions, a verdict per build."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Program
from pyspark.sql import SparkSession

from profctl_spark import builds, gate_builds, history, save_build

BUILDS = 8
SLOWER = 4
"""The first build in which `send` takes twice the time."""


def trace(build: int, machine: int, run: int) -> str:
    """A trace of 40 calls of two functions, with a little noise."""
    lines = ["# profctl plain 1"]
    time = 0
    for call in range(40):
        noise = (call * 7 + run * 3 + machine * 5 + build) % 4
        for name, length in (("receive", 300), ("send", 800 if build >= SLOWER else 400)):
            lines.append(f"{time} cpu0 sh-7 > {name}")
            time += length + machine + noise
            lines.append(f"{time} cpu0 sh-7 < {name}")
    return "\n".join(lines) + "\n"


def test_a_dataset_of_builds_and_machines(
    spark: SparkSession, bare: Program, work: Path, tmp_path: Path
) -> None:
    names = [f"v{8 + number}" for number in range(BUILDS)]
    for build, name in enumerate(names):
        for machine in range(2):
            for run in range(2):
                path = work / "builds" / name / f"rack{machine}" / f"run{run}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(trace(build, machine, run))
    dataset = f"file://{tmp_path}/profiles"
    (work / "builds" / names[0] / "rack0" / "notes").write_text("dear diary\n")
    for name in names:
        saved = save_build(spark, dataset, name, [f"builds/{name}"])
        if name == names[0]:
            assert saved.files.where("exit_code <> 0").count() == 1
    (work / "builds" / names[0] / "rack0" / "notes").unlink()
    # Once more: what is there is replaced.
    save_build(spark, dataset, names[0], [f"builds/{names[0]}"])
    assert spark.read.parquet(dataset).count() == BUILDS * 4
    assert (tmp_path / "profiles" / "build=v13" / "machine=rack1").is_dir()
    assert builds(spark, dataset) == names

    found = history(spark, dataset)
    assert found.out == bare("history", "builds", "--format", "json")
    assert {change["build"] for change in json.loads(found.out)["change_points"]} == {names[SLOWER]}

    rows = gate_builds(spark, dataset).collect()
    assert [(row["build"], row["baseline"]) for row in rows] == list(
        zip(names[1:], names, strict=False)
    )
    for row in rows:
        code = int(row["build"] == names[SLOWER])
        named = [f"--name-before={row['baseline']}", f"--name-after={row['build']}"]
        sides = [f"builds/{row['baseline']}", f"builds/{row['build']}"]
        expected = bare("gate", "--json", "-", "--quiet", *named, *sides, code=row["exit_code"])
        assert row["report"].encode() == expected
        assert (row["exit_code"] == 1) == bool(code), row["message"]
