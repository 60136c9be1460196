"""The command `profctl-spark`, in a process of its own: output, exit codes, messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Program
from pyspark.find_spark_home import _find_spark_home

from profctl_spark import cli

MAIN = ROOT / "integrations" / "spark" / "src" / "profctl_spark" / "__main__.py"
LOCAL = ["--master", "local[1]", "--driver-memory", "512m", "--conf", "spark.ui.enabled=false"]


def called(*command: str) -> subprocess.CompletedProcess[bytes]:
    """Call a program with the environment of a user."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment["PYSPARK_DRIVER_PYTHON"] = sys.executable
    return subprocess.run(command, capture_output=True, check=False, env=environment)


def test_summarize_has_flags_messages_and_codes(bare: Program, work: Path, tmp_path: Path) -> None:
    for number in range(3):
        run = Path(f"before/machine0/run{3 * number}.txt")
        (tmp_path / run.name).write_bytes(run.read_bytes())
    expected = bare("summarize", "--quiet", "--top", "4", "--format", "csv", str(tmp_path))
    (tmp_path / "notes.txt").write_text("dear diary\n")
    uri = f"file://{tmp_path}"
    flags = ["--quiet", "--top", "4", "--strict", "--format", "csv"]
    done = called(sys.executable, str(MAIN), *LOCAL, "summarize", *flags, uri)
    assert done.stdout == expected, done.stderr.decode()
    assert done.returncode == 5
    said = done.stderr.decode()
    assert "profctl-spark: skipped 1 file" in said
    assert f"profctl-spark: {uri}/notes.txt: unrecognized trace format" in said


def test_spark_submit_passes_exit_codes_on(bare: Program, work: Path, tmp_path: Path) -> None:
    """It sends standard error of Python to standard output, so the report goes to a file."""
    kernels = [str(ROOT / "fixtures" / "diff" / name) for name in ("6.1.170", "6.1.192")]
    submit = os.path.join(_find_spark_home(), "bin", "spark-submit")
    bare("gate", "--quiet", "--json", str(tmp_path / "bare.json"), *kernels, code=1)
    report = ["--quiet", "--json", str(tmp_path / "job.json")]
    done = called(submit, *LOCAL, str(MAIN), "gate", *report, *kernels)
    assert done.returncode == 1, done.stderr.decode()
    assert (tmp_path / "job.json").read_bytes() == (tmp_path / "bare.json").read_bytes()


def test_usage_errors_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["frobnicate"], ["summarize", "--top"], ["diff", "--paths", "a", "b"]):
        assert cli.main(arguments) == 2
        assert capsys.readouterr().err.startswith("profctl-spark: ")


def test_wrong_flags_end_before_the_job(bare: Program, work: Path) -> None:
    for flags, message in (
        (["--frobnicate", "before"], "unexpected argument '--frobnicate'"),
        (["--top", "few", "before"], "invalid value 'few' for '--top <N>'"),
    ):
        done = called(sys.executable, str(MAIN), *LOCAL, "summarize", *flags)
        assert (done.returncode, done.stdout) == (2, b"")
        assert message in done.stderr.decode()
