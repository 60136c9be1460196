"""Memory of the driver: of its JVM and of Python, which is this process."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_PAUSE_SECONDS = 0.5


class Watch:
    """The largest heap of the JVM while this was open, garbage not counted.

    Attributes:
        live: Bytes.
    """

    def __init__(self, spark: SparkSession) -> None:
        """Watch the driver of this session."""
        self._jvm: Any = spark.sparkContext._jvm
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.live = 0

    def __enter__(self) -> Watch:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, after a last look."""
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        beans = self._jvm.java.lang.management.ManagementFactory
        more = True
        while more:
            more = not self._stop.wait(_PAUSE_SECONDS)
            self._jvm.System.gc()
            self.live = max(self.live, beans.getMemoryMXBean().getHeapMemoryUsage().getUsed())


def peaks(spark: SparkSession) -> tuple[int, int]:
    """The largest resident size so far, in bytes: of the JVM, and of Python."""
    jvm: Any = spark.sparkContext._jvm
    return _peak(jvm.java.lang.ProcessHandle.current().pid()), _peak(os.getpid())


def _peak(process: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1]) << 10
