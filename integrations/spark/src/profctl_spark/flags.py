"""Which flags of profctl are for the reading of a trace, and which for the report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark import SparkContext, SparkFiles

from .errors import ProfctlError

WITHOUT_VALUE = frozenset(
    """-q --quiet -v --verbose --pager --no-pager --csv-safe --no-demangle --strict --compact
    --paths --tree --all --tails --paired --normalize --no-renames --allow-confounded --self-test
    --calibrate --bisect --github --partition""".split()
)
"""Flags that are complete in themselves; every other takes a value."""

OF_READING = frozenset(
    """--from --until --thread --cpu --pid --input-format --rule --names --symbols --no-demangle
    --dialect -j --jobs --max-expansion --block-size --spill-above --tag-bits --time-bits
    --time-step --endian --record-order --record-bytes --tag --strobe --valid --gpio --pc
    --thread-bus --clock""".split()
)
"""Flags that executors need: a saved profile cannot answer them."""

OF_BOTH = frozenset({"--by", "--percentiles"})
"""Flags that decide what a profile holds, and what is shown of it."""

OF_FUNCTIONS = frozenset({"--match", "--exclude", "--module"})
"""Flags that select rows of a profile by function, and calls in one by anything else."""

REFUSED = {
    "--part": "every profile of a job is a part",
    "--batch": "every task of a job is a batch",
    "--block": "blocks are the subdirectories of an argument",
    "--name-before": "sides are named by their paths",
    "--name-after": "sides are named by their paths",
    "--paths": "profiles hold sums by function, not call paths",
    "--tree": "profiles hold sums by function, not call paths",
}
"""Flags that have no meaning in a job, with the reason."""

_OF_FILES = frozenset({"--names", "--symbols", "--rule"})
_SENT = "\0sent:"


@dataclass
class Divided:
    """The arguments of a command.

    Attributes:
        flags: All flags, as they were given.
        reading: Flags for the executors.
        report: Flags for the report, which the driver writes.
        paths: What is not a flag.
    """

    flags: list[str] = field(default_factory=list)
    reading: list[str] = field(default_factory=list)
    report: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def value(self, *names: str) -> str | None:
        """Return the last value given for a flag of the report."""
        found = None
        for flag, value in zip(self.report, [*self.report[1:], ""], strict=True):
            name, _, attached = flag.partition("=")
            if name in names:
                found = attached or value
        return found


def divide(arguments: Sequence[str]) -> Divided:
    """Divide the arguments of `summarize`, `diff`, `gate`, `history` or `convert`.

    Raises:
        ProfctlError: A flag has no value, or no meaning in a job (exit code 2).
    """
    divided = Divided()
    rest = iter(_whole(arguments))
    pairs: list[tuple[str, list[str]]] = []
    for argument in rest:
        if argument == "--":
            divided.paths.extend(rest)
        elif argument == "-" or not argument.startswith("-"):
            divided.paths.append(argument)
        else:
            name, sign, _ = argument.partition("=")
            if name in REFUSED:
                raise ProfctlError(2, f"{name} cannot be used in a job: {REFUSED[name]}")
            words = [argument]
            if not sign and name not in WITHOUT_VALUE:
                try:
                    words.append(next(rest))
                except StopIteration:
                    raise ProfctlError(2, f"a value is required for {name}") from None
            pairs.append((name, words))
            divided.flags.extend(words)
    groups = [words[-1].removeprefix("--by=") for name, words in pairs if name == "--by"]
    by_function = not groups or groups[-1] == "function"
    for name, words in pairs:
        of_calls = name in OF_FUNCTIONS and not by_function
        if name in OF_READING or name in OF_BOTH or of_calls:
            divided.reading.extend(words)
        if not (name in OF_READING or of_calls):
            divided.report.extend(words)
    return divided


def _whole(arguments: Sequence[str]) -> list[str]:
    """Take short flags apart from values that are written without a space: `-j4`, `-oFILE`."""
    whole = []
    for argument in arguments:
        if argument[:2] in ("-j", "-o") and len(argument) > 2:
            whole += [argument[:2], argument[2:].removeprefix("=")]
        else:
            whole.append(argument)
    return whole


def send(context: SparkContext, reading: Sequence[str]) -> list[str]:
    """Send the files that flags name to the executors."""
    sent = list(reading)
    for place, word in enumerate(reading):
        name, sign, attached = word.partition("=")
        if name not in _OF_FILES:
            continue
        value = attached if sign else reading[place + 1]
        if os.path.isfile(value):
            context.addFile(os.path.abspath(value))
            at, start = (place, f"{name}=") if sign else (place + 1, "")
            sent[at] = f"{start}{_SENT}{os.path.basename(value)}"
    return sent


def received(reading: Sequence[str]) -> list[str]:
    """Name the files where they are on this executor."""
    words = []
    for word in reading:
        start, mark, name = word.partition(_SENT)
        words.append(f"{start}{SparkFiles.get(name)}" if mark else word)
    return words
