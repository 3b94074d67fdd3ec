"""The one error a user's bad input ends in: a plain message that names the place and the fix."""

from __future__ import annotations

from pathlib import Path


class SciagentError(Exception):
    """Bad input. Shown as one message, without a traceback; the exit code is 4.

    Attributes:
        message: what is wrong, and what to do about it.
        path: the file it was found in, if any.
        line: the line in that file, counted from 1, if known.
    """

    def __init__(self, message: str, *, path: Path | str | None = None, line: int | None = None) -> None:
        self.message = message
        self.path = path
        self.line = line
        super().__init__(str(self))

    def __str__(self) -> str:
        if self.path is None:
            return self.message
        place = f"{self.path}:{self.line}" if self.line is not None else f"{self.path}"
        return f"{place}: {self.message}"


class MachineFault(SciagentError):
    """What was asked is in order, but this machine could not do it: a full disk, say. Never a reason for a score."""
