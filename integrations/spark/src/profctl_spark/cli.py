"""The command `profctl-spark`: commands of profctl, run as jobs.

    profctl-spark [OPTIONS] summarize|diff|gate|history|convert [FLAGS OF PROFCTL] PATH...

Options before the command are those of `spark-submit`, and of this program:

    --ship FILE     Send the program profctl to the executors
    --no-runs       summarize: add runs, as `profctl merge` does, instead of keeping them apart
    --status DIR    Write the table of files as Parquet
    --build NAME    summarize: save the runs as this build of the dataset that -o names

Exit codes are those of profctl. A file that cannot be read is skipped and named; 3 if none can.
With --strict, such a file makes the input incomplete: 5.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from . import compare, program
from . import flags as flags_of
from .calls import to_parquet
from .dataset import history, save_build
from .errors import ProfctlError
from .flags import Divided
from .summary import summarize

COMMANDS = ("summarize", "diff", "gate", "history", "convert")
_INCOMPLETE = 5
_NAMED_MAX = 3


@dataclass
class Line:
    """A command line.

    Attributes:
        submit: Options for Spark.
        command: One of `COMMANDS`.
        arguments: What follows it.
        ship: The program to send to executors.
        runs: Whether runs are kept apart.
        status: Where the table of files is written.
        build: The build under which runs are saved.
    """

    submit: list[str] = field(default_factory=list)
    command: str = ""
    arguments: list[str] = field(default_factory=list)
    ship: str | None = None
    runs: bool = True
    status: str | None = None
    build: str | None = None


def parse(arguments: Sequence[str]) -> Line:
    """Divide a command line.

    Raises:
        ProfctlError: It has no command (exit code 2).
    """
    line = Line()
    rest = list(arguments)
    while rest and rest[0] not in COMMANDS:
        word = rest.pop(0)
        if word == "--no-runs":
            line.runs = False
        elif word in ("--ship", "--status", "--build") and rest:
            setattr(line, word[2:], rest.pop(0))
        elif word.startswith("-"):
            line.submit.append(word)
            if rest and rest[0] not in COMMANDS and not rest[0].startswith("-"):
                line.submit.append(rest.pop(0))
        else:
            raise ProfctlError(2, f"{word}: no such command, expected one of {_listed(COMMANDS)}")
    if not rest:
        raise ProfctlError(2, f"no command, expected one of {_listed(COMMANDS)}")
    line.command, line.arguments = rest[0], rest[1:]
    return line


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def console() -> None:
    """Run the command of the process and end it."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run a command; return its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print((__doc__ or "").strip())
        return 0 if arguments else 2
    try:
        line = parse(arguments)
        divided = flags_of.divide(line.arguments)
        if line.submit:
            os.environ["PYSPARK_SUBMIT_ARGS"] = f"{shlex.join(line.submit)} pyspark-shell"
        spark = SparkSession.builder.appName(f"profctl {line.command}").getOrCreate()
        try:
            if line.ship:
                program.ship(spark.sparkContext, line.ship)
            return _run(spark, line, divided)
        finally:
            spark.stop()
    except ProfctlError as error:
        _say(error.message)
        return error.exit_code


def _run(spark: SparkSession, line: Line, divided: Divided) -> int:
    reading, report, paths = divided.reading, divided.report, divided.paths
    if line.command == "summarize":
        if line.build is not None:
            dataset = divided.value("-o", "--output")
            if dataset is None:
                raise ProfctlError(2, "--build needs a dataset: name it with -o")
            saved = save_build(spark, dataset, line.build, paths, flags=reading)
            return _files(line, divided, saved.files, 0)
        _check(line.command, divided, 1)
        with summarize(spark, paths, runs=line.runs, flags=reading) as summary:
            code = _view(["summarize", *report], summary.merged)
            return _files(line, divided, summary.files, code)
    if line.command == "convert":
        dataset = divided.value("-o", "--output")
        if dataset is None:
            raise ProfctlError(2, "convert makes a dataset: name it with -o")
        functions = [word for word in line.arguments if word in flags_of.OF_FUNCTIONS]
        if functions:
            reading = flags_of.divide(["--by=thread", *line.arguments]).reading[1:]
        failed = to_parquet(spark, paths, dataset, flags=reading)
        return _named(divided, failed, 0)
    if line.command == "history":
        _check(line.command, divided, 1)
        (dataset,) = _sides(line.command, paths, 1)
        outcome = history(spark, dataset, flags=report)
        sys.stdout.buffer.write(outcome.out)
        return outcome.exit_code
    _check(line.command, divided, 2)
    before, after = _sides(line.command, paths, 2)
    run = compare.diff if line.command == "diff" else compare.gate
    found = run(spark, before, after, flags=[*reading, *report])
    sys.stdout.buffer.write(found.report)
    if found.message:
        sys.stderr.write(f"profctl: {found.message}\n")
    return _files(line, divided, found.files, found.exit_code)


def _check(command: str, divided: Divided, number: int) -> None:
    """Check the flags on empty inputs. Without this, the report finds errors after the job."""
    empty = [os.devnull] * number
    outcome = program.run(program.find(), [command, *divided.flags, "--", *empty])
    if outcome.exit_code == 2:
        raise ProfctlError(2, outcome.message)


def _sides(command: str, paths: Sequence[str], number: int) -> Sequence[str]:
    if len(paths) != number:
        raise ProfctlError(2, f"{command}: found {len(paths)} paths, expected {number}")
    return paths


def _view(arguments: Sequence[str], profile: bytes) -> int:
    """Print a profile with profctl, whose standard output is ours."""
    import subprocess
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="profctl-", suffix=".profile.json") as file:
        file.write(profile)
        file.flush()
        return subprocess.call([program.find(), *arguments, "--", file.name])


def _files(line: Line, divided: Divided, files: DataFrame, code: int) -> int:
    """Write the table of files and name those that were skipped."""
    if line.status is not None:
        files.write.mode("overwrite").parquet(line.status)
    return _named(divided, files.where("exit_code <> 0"), code)


def _named(divided: Divided, failed: DataFrame, code: int) -> int:
    number = failed.count()
    if not number:
        return code
    noun = "file that is not a trace" if number == 1 else "files that are not traces"
    _say(f"skipped {number} {noun} or cannot be read")
    # A fleet may have many: the driver holds no more than it names.
    for row in failed.select("message").take(_NAMED_MAX):
        _say(row["message"].splitlines()[0] if row["message"] else "")
    if number > _NAMED_MAX:
        _say(f"and {number - _NAMED_MAX} more: --status DIR writes them all")
    strict = "--strict" in divided.report
    return _INCOMPLETE if strict and code == 0 else code


def _say(message: str) -> None:
    for line in message.splitlines():
        print(f"profctl-spark: {line}", file=sys.stderr)


if __name__ == "__main__":
    console()
