"""Profiles merged in a tree: within tasks, then in groups of tasks, until one is left.

`profctl merge` gives the same bytes in any order and grouping, so how many tasks there are and
which of them were repeated does not show in the result.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pyspark import RDD

from . import program

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
    while (width := level.getNumPartitions()) > 1:
        # The number of the partition is the key: groups are of equal size.
        keyed = level.mapPartitionsWithIndex(_numbered(fan_in))
        grouped = keyed.partitionBy(-(-width // fan_in), int)
        level = grouped.values().mapPartitions(merged)
    return level


def _numbered(fan_in: int) -> Callable[[int, Iterable[Partial]], Iterator[tuple[int, Partial]]]:
    def key(number: int, found: Iterable[Partial]) -> Iterator[tuple[int, Partial]]:
        return ((number // fan_in, partial) for partial in found)

    return key


def merge(found: Iterable[Partial], runs: bool, given: str | None) -> Iterator[Partial]:
    """Merge what one task holds; the profiles wait in temporary files."""
    with tempfile.TemporaryDirectory(prefix="profctl-") as directory:
        total = os.path.join(directory, "total.profile.json")
        waiting: list[str] = []
        for number, partial in enumerate(found):
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
        if not waiting:
            return
        if len(waiting) > 1 and (failed := _call(waiting, total, runs, given)):
            yield failed
            return
        with open(total if len(waiting) > 1 else waiting[0], "rb") as file:
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
