"""The Python process of an executor, which runs one task after the other."""

from __future__ import annotations

import gc

_is_prepared = False


def prepare() -> None:
    """Exempt what is loaded by now from garbage collection.

    After every task, Spark has its workers look through all objects. For the modules of Spark and
    this package that takes 10 ms and finds nothing.
    """
    global _is_prepared
    if not _is_prepared:
        _is_prepared = True
        gc.freeze()
