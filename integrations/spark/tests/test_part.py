"""Traces that one call of profctl reads, without a cluster."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import Program, built

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


class Forbidden(Reader):
    """Copies nothing."""

    def copy(self, uri: str, target: str) -> None:
        """Fail."""
        raise AssertionError(uri)

    copy_directory = copy


def test_files_of_the_machine_itself_are_read_in_place(
    work: Path, bare: Program, tmp_path: Path
) -> None:
    run = work / "before" / "machine0" / "run0.txt"
    trace = tmp_path / "run.data"
    subprocess.run([built("MAKE_TRACE", "make-trace"), "uftrace", "30K", str(trace)], check=True)
    listed = sorted(trace.iterdir())
    job = part.Job(bare.path, str(work), Forbidden({}), 1)
    inputs = [
        Input(0, f"file://{run}", "machine0", run.stat().st_size, False),
        Input(1, f"file:{trace}", None, 1, True),
    ]
    for one in inputs:
        path = one.name.removeprefix("file://").removeprefix("file:")
        expected = bare("summarize", path, "--format", "json").replace(path.encode(), b"")
        outcome = part.summarize(job, one, [], False)
        assert outcome.out.replace(one.name.encode(), b"") == expected, outcome.message
    read = part.summarize_all(job, inputs, [], False)
    assert read is not None
    assert [outcome.exit_code for outcome in read[0]] == [0, 0]
    # A link to it was removed, not what it leads to.
    assert sorted(trace.iterdir()) == listed


def test_uris_of_local_files() -> None:
    plain = Reader({})
    assert plain.local_path("file:///data/a b%20c.txt") == "/data/a b%20c.txt"
    assert plain.local_path("file:/data/a.txt") == "/data/a.txt"
    for uri in ("file://host/data/a.txt", "hdfs:///data/a.txt", "s3a://file:/a.txt"):
        assert plain.local_path(uri) is None
    # Another file system was configured for them.
    assert Reader({"fs.file.impl": "example.Files"}).local_path("file:///data/a.txt") is None
