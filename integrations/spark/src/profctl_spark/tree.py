"""Profiles merged in a tree: within tasks, then in groups of tasks, until one is left.

`profctl merge` gives the same bytes in any order and grouping, so how many tasks there are and
which of them were repeated does not show in the result.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from pyspark import RDD

from . import program, worker

T = TypeVar("T")

_FILES_AT_ONCE = 64


@dataclass(frozen=True)
class Partial:
    """A profile of some of the inputs, or why there is none.

    Attributes:
        profile: As JSON, UTF-8; empty if merging failed.
        exit_code: 0, or what `profctl merge` ended with.
        message: What it said then.
    """

    profile: bytes
    exit_code: int = 0
    message: str = ""


def reduce(parts: RDD[Partial], runs: bool, fan_in: int, given: str | None) -> RDD[Partial]:
    """Merge all profiles into one.

    Args:
        parts: The profiles, at most one in a partition.
        runs: Whether each run is kept apart.
        fan_in: Partitions that become one.
        given: Path of profctl on the executors; None to look for it there.

    Returns:
        One partition with one profile, or with none if there were none. Nothing is computed yet.
    """

    def merged(found: Iterable[Partial]) -> Iterator[Partial]:
        return merge(found, runs, given)

    level = parts
    while level.getNumPartitions() > 1:
        level = grouped(level, fan_in).mapPartitions(merged)
    return level


def grouped(level: RDD[T], fan_in: int) -> RDD[T]:
    """Put what is in `fan_in` partitions into one."""

    def key(number: int, found: Iterable[T]) -> Iterator[tuple[int, T]]:
        # The number of the partition is the key: groups are of equal size.
        return ((number // fan_in, one) for one in found)

    width = level.getNumPartitions()
    return level.mapPartitionsWithIndex(key).partitionBy(-(-width // fan_in), int).values()


def merge(found: Iterable[Partial], runs: bool, given: str | None) -> Iterator[Partial]:
    """Merge what one task holds; if it is more than one, profiles wait in temporary files."""
    worker.prepare()
    found = iter(found)
    first = list(itertools.islice(found, 2))
    if len(first) < 2:
        yield from first
        return
    with tempfile.TemporaryDirectory(prefix="profctl-") as directory:
        total = os.path.join(directory, "total.profile.json")
        waiting: list[str] = []
        for number, partial in enumerate(itertools.chain(first, found)):
            if partial.exit_code:
                yield partial
                return
            path = os.path.join(directory, f"{number}.profile.json")
            with open(path, "wb") as file:
                file.write(partial.profile)
            waiting.append(path)
            if len(waiting) == _FILES_AT_ONCE:
                if failed := _call(waiting, total, runs, given):
                    yield failed
                    return
                waiting = [total]
        if len(waiting) > 1 and (failed := _call(waiting, total, runs, given)):
            yield failed
            return
        with open(total, "rb") as file:
            yield Partial(file.read())


def _call(paths: list[str], total: str, runs: bool, given: str | None) -> Partial | None:
    """Merge files into one, which may be among them."""
    flags = ["--runs"] if runs else []
    arguments = ["merge", "--quiet", *flags, "--format", "json", "--", *paths]
    outcome = program.run(program.find(given), arguments)
    if outcome.exit_code:
        return Partial(b"", outcome.exit_code, outcome.message)
    for path in paths:
        os.remove(path)
    with open(total, "wb") as file:
        file.write(outcome.out)
    return None
