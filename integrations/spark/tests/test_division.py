"""What needs no cluster: inputs, tasks, flags and command lines."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT

from profctl_spark import Limits, ProfctlError, cli, dataset, flags, groups, inputs
from profctl_spark.inputs import Input, LocalFiles


def found(arguments: list[str]) -> list[tuple[str, str | None]]:
    """The names and blocks of inputs."""
    listed = inputs.find(arguments, LocalFiles(), LocalFiles())
    assert [one.index for one in listed] == list(range(len(listed)))
    return [(one.name, one.block) for one in listed]


def test_directories_are_walked_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/2.txt", "a.txt", "b/c/1.txt", "build.toml", "run.data/info", "Z.txt"):
        path = tmp_path / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "runs/run.data/task.txt").write_text("x")
    expected = [
        ("runs/Z.txt", None),
        ("runs/a/2.txt", "a"),
        ("runs/a.txt", None),
        ("runs/b/c/1.txt", "b/c"),
        ("runs/run.data", None),
    ]
    assert found(["runs"]) == expected
    assert found(["runs/"]) == expected
    # The first argument that a path lies below gives its block, as in profctl.
    assert found(["runs/b", "runs"])[0] == ("runs/b/c/1.txt", "c")
    assert found(["runs", "runs/b"])[-1] == ("runs/b/c/1.txt", "b/c")
    assert found(["runs/a.txt", "gone"]) == [("runs/a.txt", None), ("gone", None)]
    for arguments in ([], ["-"]):
        with pytest.raises(ProfctlError) as caught:
            found(arguments)
        assert caught.value.exit_code == 2


def test_tasks_are_of_bounded_size_and_the_largest_first() -> None:
    sizes = [5, 900, 10, 10, 400, 0, 30, 700]
    listed = [Input(index, str(index), None, size, False) for index, size in enumerate(sizes)]
    tasks = groups.pack(listed, Limits(bytes_per_task=500, files_per_task=3), slots=0)
    assert [[one.size for one in task] for task in tasks] == [
        [900],
        [700],
        [400, 30, 10],
        [10, 5, 0],
    ]
    assert len(groups.pack(listed, Limits(), slots=8)) == len(listed)


def test_a_small_job_has_a_task_per_slot_and_no_smaller_ones() -> None:
    listed = [Input(index, str(index), None, 60 << 20, False) for index in range(8)]
    for slots, files in ((1, 4), (2, 4), (4, 2), (8, 1), (16, 1)):
        tasks = groups.pack(listed, Limits(), slots)
        assert [len(task) for task in tasks] == [files] * (8 // files)


def test_tasks_are_larger_where_there_would_be_too_many() -> None:
    listed = [Input(index, str(index), None, 10, False) for index in range(1000)]
    limits = Limits(bytes_per_task=20, files_per_task=2)
    assert len(groups.pack(listed, limits, slots=2)) == 500
    tasks = groups.pack(listed, replace(limits, tasks=40), slots=2)
    assert [len(task) for task in tasks] == [25] * 40
    # Files of which no two fit the mean, and files of unknown sizes.
    for sizes in ([10] * 60, [0] * 90, [500, *range(80)]):
        listed = [Input(index, str(index), None, size, False) for index, size in enumerate(sizes)]
        tasks = groups.pack(listed, replace(limits, files_per_task=1, tasks=40), slots=2)
        assert len(tasks) == 40
        assert sorted(one.index for task in tasks for one in task) == list(range(len(sizes)))
        assert max(len(task) for task in tasks) <= 3
        filled = [sum(one.size for one in task) for task in tasks]
        assert max(filled) <= max(sum(sizes) / 40 + sizes[-1], sizes[0])


def test_the_number_of_tasks_grows_with_the_cluster_and_not_with_the_files() -> None:
    for files, slots, expected in ((900, 2, 900), (10_000, 2, 1000), (10_000, 300, 3000)):
        listed = [Input(index, str(index), None, 1 << 28, False) for index in range(files)]
        assert len(groups.pack(listed, Limits(), slots)) == expected


def documented(command: str) -> dict[str, bool]:
    """The flags of a command in its reference, and whether each takes a value."""
    page = (ROOT / "docs" / "cli.md").read_text()
    heading = "## Everywhere" if not command else f"## `profctl {command}`"
    section = page.split(f"{heading}\n")[1].split("\n## ")[0]
    listed = {}
    for names, value in re.findall(r"^- `((?:-\w, )?--[\w-]+)( [^`]+)?`", section, re.MULTILINE):
        for name in names.split(", "):
            listed[name] = bool(value)
    assert len(listed) > 5
    return listed


def test_flags_are_those_of_the_reference() -> None:
    commands = ("", "summarize", "diff", "gate", "history", "convert")
    listed = {command: documented(command) for command in commands}
    for command, of_command in listed.items():
        for name, takes_value in of_command.items():
            known = name in flags.WITHOUT_VALUE or name in flags.REFUSED
            assert takes_value or known, f"{command} {name}"
            assert not (takes_value and name in flags.WITHOUT_VALUE), f"{command} {name}"
    shared = set.intersection(*(set(listed[command]) for command in commands[1:]))
    assert shared - flags.OF_FUNCTIONS - {"--strict"} <= flags.OF_READING


def test_flags_are_divided() -> None:
    divided = flags.divide(
        ["--by", "function", "-j4", "--match=^tcp", "--from", "1ms", "a", "--top", "3", "--", "-b"]
    )
    assert divided.reading == ["--by", "function", "-j", "4", "--from", "1ms"]
    assert divided.report == ["--by", "function", "--match=^tcp", "--top", "3"]
    assert divided.paths == ["a", "-b"]
    # Where rows are not functions, functions are selected call by call.
    assert flags.divide(["--by=cpu", "--match", "^tcp"]).reading == ["--by=cpu", "--match", "^tcp"]
    assert flags.divide(["-o", "x.json", "--format=csv"]).value("--format") == "csv"
    for wrong in (["--top"], ["--part"], ["--paths"]):
        with pytest.raises(ProfctlError) as caught:
            flags.divide(wrong)
        assert caught.value.exit_code == 2


def test_command_lines_are_divided() -> None:
    words = "--master spark://h:7077 --conf=a=b --no-runs --ship bin/profctl summarize --top 3 s3a://b/runs"
    line = cli.parse(words.split())
    assert line.submit == ["--master", "spark://h:7077", "--conf=a=b"]
    assert (line.command, line.ship, line.runs) == ("summarize", "bin/profctl", False)
    assert line.arguments == ["--top", "3", "s3a://b/runs"]
    for wrong in (["frobnicate"], ["--no-runs"]):
        with pytest.raises(ProfctlError):
            cli.parse(wrong)


def test_builds_are_in_the_order_of_their_numbers() -> None:
    names = ["v10", "v2", "v2b", "a", "10", "9"]
    assert sorted(names, key=dataset.natural) == ["9", "10", "a", "v2", "v2b", "v10"]
