"""The program profctl on this machine, and calls of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkContext, SparkFiles

from .errors import ProfctlError

SHIPPED = "profctl"
"""Name of the program among the files of a job."""


@dataclass(frozen=True)
class Outcome:
    """How a call of profctl ended.

    Attributes:
        exit_code: As in `profctl --help`; 128 + n if it was killed by signal n.
        out: Standard output.
        message: Standard error without the prefix `profctl: `.
    """

    exit_code: int
    out: bytes
    message: str


def find(given: str | None = None) -> str:
    """Return the path of the program on this machine.

    The first of: `given`, the environment variable `PROFCTL`, the file shipped with the job, PATH.

    Raises:
        ProfctlError: There is none (exit code 2).
    """
    for path in (given, os.environ.get("PROFCTL"), _shipped()):
        if path and (found := shutil.which(path)):
            return os.path.abspath(found)
        if path:
            raise ProfctlError(2, f"{path}: is not a program that can be run")
    if found := shutil.which("profctl"):
        return os.path.abspath(found)
    raise ProfctlError(
        2, "found no program `profctl`: install it on the executors, or ship it with the job"
    )


def _shipped() -> str | None:
    try:
        path = SparkFiles.get(SHIPPED)
    except (AssertionError, AttributeError):
        return None
    return path if Path(path).is_file() else None


def ship(context: SparkContext, path: str) -> None:
    """Send the program at `path` (of the driver) to every executor of the job.

    The file must be named `profctl` and be built for the executors' system, best linked statically.

    Raises:
        ProfctlError: It has another name (exit code 2).
    """
    if Path(path).name != SHIPPED:
        raise ProfctlError(2, f"{path}: expected a file named `{SHIPPED}`")
    context.addFile(path)


def run(program: str, arguments: Sequence[str], cwd: str | None = None) -> Outcome:
    """Call profctl and wait for its end; standard output is kept in memory."""
    return ended(start(program, arguments, cwd))


def start(program: str, arguments: Sequence[str], cwd: str | None) -> subprocess.Popen[bytes]:
    """Start profctl without a standard input."""
    return subprocess.Popen(
        [program, *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> Outcome:
    """Wait for the end of a call."""
    out, err = process.communicate()
    code = process.returncode
    text = err.decode(errors="replace").strip()
    if code < 0:
        text = f"profctl was killed by signal {-code}\n{text}".strip()
        code = 128 - code
    lines = (line.removeprefix("profctl: ") for line in text.splitlines())
    return Outcome(code, out, "\n".join(lines))
