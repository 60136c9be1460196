"""Traces that one call of profctl reads, without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Program

from profctl_spark import part
from profctl_spark.hadoop import Reader
from profctl_spark.inputs import Input


class Unreliable(Reader):
    """Reads the paths of URIs from the local file system; the first reads of one end early."""

    failures: int

    def copy(self, uri: str, target: str) -> None:
        """Copy half of the file and fail, or all of it."""
        text = Path(uri.removeprefix("test:/")).read_bytes()
        fails = "run3" in uri and self.failures > 0
        with open(target, "wb") as pipe:
            pipe.write(text[: len(text) // 2] if fails else text)
        if fails:
            object.__setattr__(self, "failures", self.failures - 1)
            raise OSError("connection reset")


@pytest.mark.parametrize("failures", [1, 3])
def test_a_read_that_failed_does_not_count(
    work: Path, bare: Program, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    paths = [str(work / "before" / "machine0" / f"run{number}.txt") for number in (0, 3, 6)]
    reader = Unreliable({})
    object.__setattr__(reader, "failures", failures)
    job = part.Job(bare.path, str(work), reader, 1)
    inputs = [Input(index, f"test:/{path}", None, 1, False) for index, path in enumerate(paths)]
    read = part.summarize_all(job, inputs, [], True)
    assert read is not None
    outcomes, profile = read
    good = [path for path in paths if failures < 3 or "run3" not in path]
    assert profile.replace(b"test:/", b"") == bare("summarize", *good, "--format", "json")
    codes = [outcome.exit_code for outcome in outcomes]
    assert codes == [0, 0 if failures < 3 else 3, 0]
    assert failures < 3 or "run3.txt: cannot be read: connection reset" in outcomes[1].message


def test_a_program_without_batches_ends_early(work: Path) -> None:
    job = part.Job("/bin/true", str(work), Reader({}), 1)
    inputs = [Input(0, "before/machine0/run0.txt", None, 1, False)]
    assert part.summarize_all(job, inputs, [], False) is None
