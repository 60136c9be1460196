"""One trace, read by profctl on an executor."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import program
from .hadoop import Reader
from .inputs import Input
from .program import Outcome

_INPUT_ERROR = 3
_TRIES = 3
_SELECTION = frozenset({"--thread", "--cpu", "--pid", "--match", "--exclude", "--module"})
"""Flags that may match nothing in a part."""


@dataclass(frozen=True)
class Job:
    """What every executor needs to know.

    Attributes:
        program: Path of profctl on the executors; None to look for it there.
        directory: The working directory of the driver: relative paths begin there.
        reader: How URIs are opened.
        jobs: Threads of one profctl.
    """

    program: str | None
    directory: str
    reader: Reader
    jobs: int


def summarize(job: Job, one: Input, flags: Sequence[str], runs: bool) -> Outcome:
    """Read a trace; with `runs` the profile remembers its run, for `profctl merge --runs`."""
    selects = not _SELECTION.isdisjoint(flag.partition("=")[0] for flag in flags)
    is_part = ["--part"] if runs or selects else []
    block = [] if one.block is None or not is_part else ["--block", one.block]
    jobs = [] if {"-j", "--jobs"} & set(flags) else ["--jobs", str(job.jobs)]
    arguments = ["summarize", "--quiet", "--format", "json", *is_part, *block, *jobs, *flags]
    return read(job, one, lambda name: [*arguments, "--", name])


def read(job: Job, one: Input, arguments: Callable[[str], Sequence[str]]) -> Outcome:
    """Call profctl on a trace, which may be a URI.

    Args:
        job: What every executor needs to know.
        one: The trace.
        arguments: The arguments of profctl, given the path of the trace.

    Returns:
        How profctl ended. A file system that fails is tried again, then exit code 3.
    """
    path = program.find(job.program)
    if not one.is_remote:
        directory = job.directory if os.path.isdir(job.directory) else None
        return program.run(path, arguments(one.name), directory)
    for number in range(_TRIES):
        if number:
            time.sleep(2.0**number)
        try:
            with tempfile.TemporaryDirectory(prefix="profctl-") as directory:
                call = arguments(one.name)
                if one.is_directory:
                    return _directory(path, job.reader, one.name, call, directory)
                return _piped(path, job.reader, one.name, call, directory)
        except OSError as error:
            problem = f"{one.name}: cannot be read: {error}"
    return Outcome(_INPUT_ERROR, b"", problem)


def _directory(path: str, reader: Reader, uri: str, call: Sequence[str], directory: str) -> Outcome:
    place = _place(directory, uri)
    reader.copy_directory(uri, place)
    return program.run(path, call, directory)


def _piped(path: str, reader: Reader, uri: str, call: Sequence[str], directory: str) -> Outcome:
    """Let profctl read a named pipe whose path, seen from `directory`, is the URI."""
    pipe = _place(directory, uri)
    os.mkfifo(pipe, 0o600)
    # While this is open neither side waits for the other, and profctl sees no end of the pipe.
    ours = _Descriptor(os.open(pipe, os.O_RDWR))
    process = program.start(path, call, directory)
    failure: list[OSError] = []

    def copy() -> None:
        try:
            reader.copy(uri, pipe)
        except OSError as error:
            # After profctl has ended the pipe is closed early, which is no failure.
            if process.poll() is None:
                failure.append(error)
                process.kill()
        ours.close()

    copier = threading.Thread(target=copy)
    copier.start()
    outcome = program.ended(process)
    ours.close()
    copier.join()
    if failure:
        raise failure[0]
    return outcome


class _Descriptor:
    """A file descriptor that two threads may close."""

    def __init__(self, number: int) -> None:
        self._number: int | None = number
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            if self._number is not None:
                os.close(self._number)
                self._number = None


def _place(directory: str, uri: str) -> str:
    """Make the folders in which `uri`, read as a relative path, is a path below `directory`."""
    parts = [part for part in uri.split("/") if part]
    if ".." in parts:
        raise OSError("`..` in a URI")
    place = os.path.join(directory, *parts)
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    return place
