"""Traces, read by profctl on an executor."""

from __future__ import annotations

import contextlib
import errno
import fcntl
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
from .program import Batch, Call, EndedEarly, Outcome

_INPUT_ERROR = 3
_TRIES = 3
_PAUSE_SECONDS = 0.005
_PIPE_BYTES = 1 << 20
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
    arguments = [*_arguments(job, flags), *is_part, *block]
    return read(job, one, lambda name: [*arguments, "--", name])


def summarize_all(
    job: Job, inputs: Sequence[Input], flags: Sequence[str], runs: bool
) -> tuple[list[Outcome], bytes] | None:
    """Read traces, all local or all URIs, with one call of profctl.

    Returns:
        How each was read, without its profile, and the profile of those that were; it is empty if
        none was. None if profctl ended early, as it does where a trace makes it crash, or where
        profiles cannot be added: each trace then needs a call of its own.
    """
    if not inputs[0].is_remote:
        return _batch(job, inputs, flags, runs, _local(job))
    with tempfile.TemporaryDirectory(prefix="profctl-") as directory:
        return _batch(job, inputs, flags, runs, directory)


def _batch(
    job: Job, inputs: Sequence[Input], flags: Sequence[str], runs: bool, directory: str | None
) -> tuple[list[Outcome], bytes] | None:
    arguments = [*_arguments(job, flags), "--batch", "runs" if runs else "total"]
    try:
        with Batch(program.find(job.program), arguments, directory) as batch:
            outcomes = [_of_batch(batch, job.reader, one, directory) for one in inputs]
            return outcomes, batch.finish()
    except EndedEarly:
        return None


def _arguments(job: Job, flags: Sequence[str]) -> list[str]:
    jobs = [] if {"-j", "--jobs"} & set(flags) else ["--jobs", str(job.jobs)]
    return ["summarize", "--quiet", "--format", "json", *jobs, *flags]


def _local(job: Job) -> str | None:
    return job.directory if os.path.isdir(job.directory) else None


def _of_batch(batch: Batch, reader: Reader, one: Input, directory: str | None) -> Outcome:
    """Read one of several traces; URIs are paths below `directory`."""
    if directory is None or not one.is_remote:
        batch.ask(one.name, one.block)
        return batch.ended()
    return _tried(one, lambda: _of_uri(batch, reader, one, directory))


def _of_uri(batch: Batch, reader: Reader, one: Input, directory: str) -> Outcome:
    place = _place(directory, one.name)
    try:
        if _is_at(place, reader, one):
            batch.ask(one.name, one.block)
            return batch.ended()
        os.mkfifo(place, 0o600)
        batch.ask(one.name, one.block)
        return _copied(reader, one.name, place, batch)
    finally:
        # Copies of directories would fill the disk, one after the other.
        _remove(place)


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
    call = arguments(one.name)
    if not one.is_remote:
        return program.run(path, call, _local(job))

    def once() -> Outcome:
        with tempfile.TemporaryDirectory(prefix="profctl-") as directory:
            place = _place(directory, one.name)
            if _is_at(place, job.reader, one):
                return program.run(path, call, directory)
            os.mkfifo(place, 0o600)
            return _copied(job.reader, one.name, place, Call(path, call, directory))

    return _tried(one, once)


def _tried(one: Input, once: Callable[[], Outcome]) -> Outcome:
    """Read a URI; a file system that fails is tried again, then exit code 3."""
    for number in range(_TRIES):
        if number:
            time.sleep(2.0**number)
        try:
            return once()
        except EndedEarly:
            raise
        except OSError as error:
            problem = f"{one.name}: cannot be read: {error}"
    return Outcome(_INPUT_ERROR, b"", problem)


def _is_at(place: str, reader: Reader, one: Input) -> bool:
    """Put what a URI names at `place`; False if it can be copied into a pipe instead."""
    local = reader.local_path(one.name)
    if local is not None:
        os.symlink(local, place)
    elif one.is_directory:
        reader.copy_directory(one.name, place)
    else:
        return False
    return True


def _copied(reader: Reader, uri: str, pipe: str, call: Call | Batch) -> Outcome:
    """Copy a file into a named pipe, which profctl is about to open."""
    # What is written before profctl opens the pipe would be lost when the writer closes it.
    while (ours := _writer(pipe)) is None:
        if call.has_ended():
            return call.ended()
        time.sleep(_PAUSE_SECONDS)
    # Fewer turns of writer and reader. Not all systems have it, and users have a limit.
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    failure: list[Exception] = []

    def copy(held: int) -> None:
        try:
            reader.copy(uri, pipe)
        except Exception as error:
            # If profctl has closed the pipe it needs no more, which is no failure.
            if (still_read := _writer(pipe)) is not None:
                os.close(still_read)
                failure.append(error)
                call.cancel()
        finally:
            # Until this is closed, profctl waits for more.
            os.close(held)

    copier = threading.Thread(target=copy, args=(ours,))
    copier.start()
    try:
        outcome = call.ended()
    finally:
        while copier.is_alive():
            # The JVM may be waiting for a reader that is gone; it then finds the pipe closed.
            os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
            copier.join(_PAUSE_SECONDS)
    if failure:
        call.leave_out()
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
    _remove(place)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    return place


def _remove(place: str) -> None:
    if os.path.isdir(place) and not os.path.islink(place):
        shutil.rmtree(place)
    elif os.path.lexists(place):
        os.remove(place)
