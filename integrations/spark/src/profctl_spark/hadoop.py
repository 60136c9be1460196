"""Files of Hadoop's file systems: listed by the driver, copied into a pipe by an executor.

`file:` names files that every executor sees; profctl reads those itself. For any other scheme: a
Python worker has no access to the JVM of its executor. The first URI that it reads starts a
small JVM of its own with Spark's jars, which copies files into named pipes. No byte of a file
passes through Python. That JVM ends with its worker.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home

from .inputs import Entry

_COPY_BYTES = 1 << 18
_LOCAL = re.compile(r"file:(?:///|/(?!/))(.*)", re.DOTALL)


class DriverFiles:
    """Lists URIs with the configuration of the session."""

    def __init__(self, context: SparkContext) -> None:
        """Use the JVM of the driver."""
        self._jvm: Any = context._jvm
        self._conf: Any = context._jsc.hadoopConfiguration()

    def expand(self, argument: str) -> Sequence[str]:
        """Return what a pattern matches, by name; the argument itself if it is no pattern."""
        if not any(sign in argument for sign in "*?[{"):
            return [argument]
        system, path = self._open(argument)
        found = system.globStatus(path) or []
        return sorted(status.getPath().toString() for status in found)

    def entries(self, path: str) -> Sequence[Entry] | None:
        """List a directory without what Hadoop hides: names that begin with `_` or `.`."""
        system, place = self._open(path)
        try:
            if not system.getFileStatus(place).isDirectory():
                return None
        except Py4JJavaError:
            # The executor that reads it reports why it cannot be read.
            return None
        found = []
        for status in system.listStatus(place):
            name = status.getPath().getName()
            if not name.startswith(("_", ".")):
                found.append(Entry(name, None if status.isDirectory() else status.getLen()))
        return found

    def size(self, path: str) -> int:
        """Return the size of a file in bytes; 0 if it cannot be read."""
        system, place = self._open(path)
        try:
            return int(system.getFileStatus(place).getLen())
        except Py4JJavaError:
            return 0

    def _open(self, path: str) -> tuple[Any, Any]:
        place = self._jvm.org.apache.hadoop.fs.Path(path)
        return place.getFileSystem(self._conf), place


@dataclass(frozen=True)
class Reader:
    """How executors open URIs.

    Attributes:
        properties: Hadoop's properties that differ from the files of its configuration.
        class_path: What the JVM needs beside Spark's own jars.
        heap: Largest heap of that JVM, as `-Xmx` takes it.
    """

    properties: Mapping[str, str]
    class_path: str = ""
    heap: str = "256m"

    @staticmethod
    def of(context: SparkContext) -> Reader:
        """Take over `spark.hadoop.*` and the class path of the executors."""
        prefix = "spark.hadoop."
        settings = context.getConf().getAll()
        properties = {
            key[len(prefix) :]: value for key, value in settings if key.startswith(prefix)
        }
        return Reader(properties, dict(settings).get("spark.executor.extraClassPath", ""))

    def local_path(self, uri: str) -> str | None:
        """The path of a file of this machine; None if it needs Hadoop."""
        found = _LOCAL.fullmatch(uri)
        return f"/{found[1]}" if found and "fs.file.impl" not in self.properties else None

    def copy(self, uri: str, target: str) -> None:
        """Copy a file into an existing file or pipe.

        Raises:
            OSError: It cannot be read, or the other end of the pipe was closed.
        """
        session = _session(self)
        try:
            path = session.path(uri)
            source = path.getFileSystem(session.conf).open(path)
            try:
                out = session.output(target)
            except Py4JJavaError:
                source.close()
                raise
            session.copy(source, out, _COPY_BYTES, True)
        except Py4JJavaError as error:
            raise OSError(_what(error)) from None

    def copy_directory(self, uri: str, target: str) -> None:
        """Copy a directory with all below it to a local path that does not exist.

        Raises:
            OSError: It cannot be read.
        """
        session = _session(self)
        try:
            path, there = session.path(uri), session.path(f"file://{target}")
            path.getFileSystem(session.conf).copyToLocalFile(False, path, there, True)
        except Py4JJavaError as error:
            raise OSError(_what(error)) from None


class _Session:
    """The JVM of this worker. Making a configuration takes 4 ms, and looking up a class 0.5 ms.

    Attributes:
        reader: For which it was made.
        jvm: The JVM.
        conf: Hadoop's configuration.
        path: The class of paths.
        output: The class of files that are written.
        copy: A function that copies a stream.
    """

    def __init__(self, reader: Reader, jvm: Any) -> None:
        """Look up in this JVM what is needed for each file."""
        self.reader = reader
        self.jvm = jvm
        self.conf: Any = jvm.org.apache.hadoop.conf.Configuration()
        for key, value in reader.properties.items():
            self.conf.set(key, value)
        self.path: Any = jvm.org.apache.hadoop.fs.Path
        self.output: Any = jvm.java.io.FileOutputStream
        self.copy: Any = jvm.org.apache.hadoop.io.IOUtils.copyBytes


_current: _Session | None = None


def _session(reader: Reader) -> _Session:
    global _current
    if _current is None:
        _current = _Session(reader, _launch(reader))
    elif _current.reader != reader:
        _current = _Session(reader, _current.jvm)
    return _current


def _launch(reader: Reader) -> Any:
    jars = os.path.join(_find_spark_home(), "jars")
    # Jars that were added to the job are in the directory in which the executor runs.
    parts = [f"{jars}/*", f"{os.getcwd()}/*", os.environ.get("HADOOP_CONF_DIR"), reader.class_path]
    java_home = os.environ.get("JAVA_HOME")
    gateway = JavaGateway.launch_gateway(
        jarpath=glob.glob(f"{jars}/py4j-*.jar")[0],
        classpath=os.pathsep.join(part for part in parts if part),
        javaopts=[f"-Xmx{reader.heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
        java_path=os.path.join(java_home, "bin", "java") if java_home else "java",
        die_on_exit=True,
        enable_auth=True,
    )
    return gateway.jvm


def _what(error: Py4JJavaError) -> str:
    return str(error.java_exception.toString())
