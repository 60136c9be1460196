"""Which inputs one task reads."""

from __future__ import annotations

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
        tasks: Where there would be more tasks than this, they are larger: the driver holds some
            kilobytes for each.
    """

    bytes_per_task: int = 256 << 20
    files_per_task: int = 64
    fan_in: int = 32
    tasks: int = 10_000


def pack(inputs: Sequence[Input], limits: Limits, slots: int) -> list[list[Input]]:
    """Divide inputs into tasks, the largest first, so that no large file starts last.

    Args:
        inputs: What to read.
        limits: The largest task.
        slots: Tasks that run at the same time; each gets several, if there is enough to do.
    """
    tasks_min = max(1, 4 * slots)
    total = sum(one.size for one in inputs)
    bytes_max = max(1, min(limits.bytes_per_task, total // tasks_min))
    files_max = max(1, min(limits.files_per_task, len(inputs) // tasks_min))
    bytes_max = max(bytes_max, -(-total // limits.tasks))
    files_max = max(files_max, -(-len(inputs) // limits.tasks))
    groups: list[list[Input]] = []
    filled = 0
    for one in sorted(inputs, key=lambda one: (-one.size, one.index)):
        if not groups or len(groups[-1]) == files_max or filled + one.size > bytes_max:
            groups.append([])
            filled = 0
        groups[-1].append(one)
        filled += one.size
    return groups
