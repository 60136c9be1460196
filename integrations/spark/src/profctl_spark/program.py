"""The program profctl on this machine, and calls of it."""

from __future__ import annotations

import contextlib
import json
import os
import select
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
    return Call(program, arguments, cwd).ended()


class Call:
    """A call of profctl that reads one trace, without a standard input."""

    def __init__(self, program: str, arguments: Sequence[str], cwd: str | None) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [program, *arguments],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def has_ended(self) -> bool:
        """Whether `ended` need not wait."""
        return self._process.poll() is not None

    def cancel(self) -> None:
        """End it: the trace is not all there."""
        self._process.kill()

    def leave_out(self) -> None:
        """What was read of the trace is in no profile."""

    def ended(self) -> Outcome:
        """Wait for the end."""
        out, err = self._process.communicate()
        code = self._process.returncode
        text = err.decode(errors="replace").strip()
        if code < 0:
            text = f"profctl was killed by signal {-code}\n{text}".strip()
            code = 128 - code
        return Outcome(code, out, _message(text))


class EndedEarly(Exception):
    """A `Batch` did not get to its end."""


class Batch:
    """A call of `profctl summarize --batch`, which reads one trace after the other.

    Use it as a context manager. All methods raise `EndedEarly`.
    """

    def __init__(self, program: str, arguments: Sequence[str], cwd: str | None) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [program, *arguments],
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Why it ended early is found by reading each trace with a call of its own.
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin and self._process.stdout
        self._in, self._out = self._process.stdin, self._process.stdout

    def ask(self, path: str, block: str | None) -> None:
        """Have a trace read; `ended` says how that went."""
        self._write({"read": {"path": path, "block": block}})

    def has_ended(self) -> bool:
        """Whether `ended` need not wait."""
        return bool(select.select([self._out], [], [], 0)[0])

    def cancel(self) -> None:
        """The trace is not all there: profctl finds that it ends."""

    def leave_out(self) -> None:
        """Leave the last trace out, if it was read."""
        self._write({"drop": {}})

    def ended(self) -> Outcome:
        """Wait for the end of a trace."""
        line = self._out.readline()
        if not line.endswith(b"\n"):
            raise EndedEarly
        answer = json.loads(line)
        return Outcome(answer["exit_code"], b"", _message(answer["message"].strip()))

    def finish(self) -> bytes:
        """The profile of the traces that were read; empty if there are none."""
        self._in.close()
        profile = self._out.read()
        if self._process.wait():
            raise EndedEarly
        return profile

    def _write(self, request: dict[str, dict[str, str | None]]) -> None:
        try:
            self._in.write(json.dumps(request).encode() + b"\n")
            self._in.flush()
        except BrokenPipeError:
            raise EndedEarly from None

    def __enter__(self) -> Batch:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it, if it still runs."""
        self._process.kill()
        self._process.wait()
        self._out.close()
        # What was not written cannot be.
        with contextlib.suppress(BrokenPipeError):
            self._in.close()


def _message(text: str) -> str:
    """What profctl said, without its name."""
    return "\n".join(line.removeprefix("profctl: ") for line in text.splitlines())
