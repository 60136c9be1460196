"""What the path arguments of a job stand for: the traces to read, in order.

A path without a scheme (`runs/`, `/data/a.txt`) is a file of the local file system, which every
executor must see under the same path. A URI (`s3a://bucket/runs`) is a file of a Hadoop file
system. Directories are walked as `profctl` walks them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from .errors import ProfctlError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_ABOUT_BUILD = "build.toml"


@dataclass(frozen=True)
class Input:
    """One trace.

    Attributes:
        index: Position among all inputs: what identifies it, since a path may be given twice.
        name: The path as profctl names it in sources and messages.
        block: Its block (a boot, a machine): the subdirectory in which it was found.
        size: Bytes as stored; 0 if unknown.
        is_directory: Whether the trace is a directory of files.
    """

    index: int
    name: str
    block: str | None
    size: int
    is_directory: bool

    @property
    def is_remote(self) -> bool:
        """Whether it is read through Hadoop."""
        return is_uri(self.name)


@dataclass(frozen=True)
class Entry:
    """One entry of a directory: its name, and its size in bytes (None for a directory)."""

    name: str
    size: int | None


class FileSystem(Protocol):
    """Where inputs are listed."""

    def expand(self, argument: str) -> Sequence[str]:
        """Return the paths that an argument with wildcards stands for."""

    def entries(self, path: str) -> Sequence[Entry] | None:
        """Return what is in a directory; None if `path` is not a directory."""

    def size(self, path: str) -> int:
        """Return the size of a file in bytes; 0 if unknown."""


class LocalFiles:
    """The file system of the driver."""

    def expand(self, argument: str) -> Sequence[str]:
        """Return the argument: the shell has expanded wildcards."""
        return [argument]

    def entries(self, path: str) -> Sequence[Entry] | None:
        """List a directory; links to directories are not followed."""
        if not os.path.isdir(path):
            return None
        found = []
        with os.scandir(path) as listed:
            for entry in listed:
                if entry.is_dir(follow_symlinks=False):
                    found.append(Entry(entry.name, None))
                elif entry.is_file():
                    found.append(Entry(entry.name, entry.stat().st_size))
        return found

    def size(self, path: str) -> int:
        """Return the size; a file that the driver does not see may exist on the executors."""
        try:
            return os.stat(path).st_size
        except OSError:
            return 0


def is_uri(path: str) -> bool:
    """Whether a path has a scheme."""
    return _SCHEME.match(path) is not None


def find(arguments: Sequence[str], local: FileSystem, remote: FileSystem) -> list[Input]:
    """List the traces that the arguments of a job stand for.

    Raises:
        ProfctlError: No argument, standard input, or a directory without files (exit code 2, 3).
    """
    if not arguments:
        raise ProfctlError(2, "no trace, expected one or more paths")
    directories: list[str] = []
    found: list[tuple[str, int, bool]] = []
    for argument in arguments:
        if argument == "-":
            raise ProfctlError(2, "standard input cannot be read by executors")
        files = remote if is_uri(argument) else local
        for path in files.expand(argument):
            entries = files.entries(path)
            if entries is None:
                found.append((path, files.size(path), False))
            elif is_trace({entry.name for entry in entries}):
                found.append((path, _total(files, path, entries), True))
            else:
                directories.append(path)
                below = list(_walk(files, path, entries))
                if not below:
                    raise ProfctlError(3, f"{path}: is a directory without files")
                found.extend(below)
    return [
        Input(index, name, block(directories, name), size, is_directory)
        for index, (name, size, is_directory) in enumerate(found)
    ]


def is_trace(names: Iterable[str]) -> bool:
    """Whether a directory with these entries is one trace: uftrace or CTF."""
    names = set(names)
    return {"info", "task.txt"} <= names or "metadata" in names


def block(directories: Sequence[str], name: str) -> str | None:
    """Return the subdirectory of the first of `directories` that an input lies in."""
    path = PurePosixPath(name)
    for directory in directories:
        if path.is_relative_to(directory):
            below = path.relative_to(directory).parent.as_posix()
            if below != ".":
                return below
    return None


def _walk(
    files: FileSystem, directory: str, entries: Sequence[Entry]
) -> Iterator[tuple[str, int, bool]]:
    for entry in sorted(entries, key=lambda entry: os.fsencode(entry.name)):
        path = _join(directory, entry.name)
        if entry.size is not None:
            if entry.name != _ABOUT_BUILD:
                yield path, entry.size, False
            continue
        inner = files.entries(path) or []
        if is_trace({entry.name for entry in inner}):
            yield path, _total(files, path, inner), True
        else:
            yield from _walk(files, path, inner)


def _total(files: FileSystem, directory: str, entries: Sequence[Entry]) -> int:
    total = 0
    for entry in entries:
        path = _join(directory, entry.name)
        inner = files.entries(path) or [] if entry.size is None else []
        total += entry.size or _total(files, path, inner)
    return total


def _join(directory: str, name: str) -> str:
    return f"{directory}{name}" if directory.endswith("/") else f"{directory}/{name}"
