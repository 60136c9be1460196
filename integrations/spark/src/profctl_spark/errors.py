"""The error of this package."""

from __future__ import annotations


class ProfctlError(Exception):
    """A job that has no result.

    Attributes:
        exit_code: What `profctl` ends with in this case: 2 usage, 3 input.
        message: One or more lines without the prefix `profctl: `.
    """

    def __init__(self, exit_code: int, message: str) -> None:
        """Keep the exit code beside the message."""
        super().__init__(message)
        self.exit_code = exit_code
        self.message = message
