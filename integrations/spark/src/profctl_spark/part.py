"""One trace, read by profctl on an executor."""

from __future__ import annotations

import errno
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
_PAUSE_SECONDS = 0.005
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
    process = program.start(path, call, directory)
    # What is written before profctl opens the pipe would be lost when the writer closes it.
    while (ours := _writer(pipe)) is None:
        if process.poll() is not None:
            return program.ended(process)
        time.sleep(_PAUSE_SECONDS)
    failure: list[Exception] = []

    def copy(held: int) -> None:
        try:
            reader.copy(uri, pipe)
        except Exception as error:
            # If profctl has closed the pipe it needs no more, which is no failure.
            if (still_read := _writer(pipe)) is not None:
                os.close(still_read)
                failure.append(error)
                process.kill()
        finally:
            # Until this is closed, profctl waits for more.
            os.close(held)

    copier = threading.Thread(target=copy, args=(ours,))
    copier.start()
    outcome = program.ended(process)
    while copier.is_alive():
        # The JVM may be waiting for a reader that is gone; it then finds the pipe closed.
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
        copier.join(_PAUSE_SECONDS)
    if failure:
        raise OSError(str(failure[0])) from failure[0]
    return outcome


def _writer(pipe: str) -> int | None:
    """Open a pipe for writing, if a reader has it open."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        raise


def _place(directory: str, uri: str) -> str:
    """Make the folders in which `uri`, read as a relative path, is a path below `directory`."""
    parts = [part for part in uri.split("/") if part]
    if ".." in parts:
        raise OSError("`..` in a URI")
    place = os.path.join(directory, *parts)
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    return place
