"""Which inputs one task reads."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from .inputs import Input


@dataclass(frozen=True)
class Limits:
    """How the work is divided.

    Attributes:
        bytes_per_task: A task reads at most this, or one file.
        files_per_task: A task reads at most so many files.
        fan_in: So many partial profiles are merged at once.
        tasks: Where there would be more tasks than this, and more than ten per slot, they are
            larger: the driver holds some kilobytes for each.
    """

    bytes_per_task: int = 256 << 20
    files_per_task: int = 64
    fan_in: int = 32
    tasks: int = 1000


def pack(inputs: Sequence[Input], limits: Limits, slots: int) -> list[list[Input]]:
    """Divide inputs into tasks, the largest first, so that no large file starts last.

    Args:
        inputs: What to read.
        limits: The largest task.
        slots: Tasks that run at the same time; each gets one, if there are enough files. More than
            that are of the largest size: what a task costs at once is little only then.
    """
    slots = max(1, slots)
    total = sum(one.size for one in inputs)
    bytes_max = max(1, min(limits.bytes_per_task, -(-total // slots)))
    files_max = max(1, min(limits.files_per_task, -(-len(inputs) // slots)))
    largest_first = sorted(inputs, key=lambda one: (-one.size, one.index))
    groups: list[list[Input]] = []
    filled = 0
    for one in largest_first:
        if not groups or len(groups[-1]) == files_max or filled + one.size > bytes_max:
            groups.append([])
            filled = 0
        groups[-1].append(one)
        filled += one.size
    # One of ten tasks in turn is a tenth of the time, should a slot have to wait for it.
    tasks_max = max(1, limits.tasks, 10 * slots)
    return groups if len(groups) <= tasks_max else _spread(largest_first, tasks_max)


def _spread(largest_first: Sequence[Input], number: int) -> list[list[Input]]:
    """Divide inputs into so many tasks, each into the smallest so far."""
    groups: list[list[Input]] = [[] for _ in range(number)]
    smallest = [(0, 0, place) for place in range(number)]
    for one in largest_first:
        size, files, place = smallest[0]
        groups[place].append(one)
        heapq.heapreplace(smallest, (size + one.size, files + 1, place))
    return groups
