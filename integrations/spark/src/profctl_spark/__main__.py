"""What `spark-submit` runs: `spark-submit [OPTIONS] …/profctl_spark/__main__.py summarize …`."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from profctl_spark.cli import console

    console()
