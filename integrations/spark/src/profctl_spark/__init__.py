"""profctl on Apache Spark: a fleet of traces summarized, compared and gated by a cluster.

profctl reads each trace on an executor and merges the profiles in a tree. Python starts programs
and moves files; every figure is profctl's.
"""

from .calls import failures, read_spans, spans, to_parquet
from .compare import Comparison, diff, gate
from .dataset import builds, gate_builds, history, save_build
from .errors import ProfctlError
from .groups import Limits
from .program import ship
from .summary import Summary, summarize

__all__ = [
    "Comparison",
    "Limits",
    "ProfctlError",
    "Summary",
    "builds",
    "diff",
    "failures",
    "gate",
    "gate_builds",
    "history",
    "read_spans",
    "save_build",
    "ship",
    "spans",
    "summarize",
    "to_parquet",
]
