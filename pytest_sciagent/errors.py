"""The one error a user's bad input ends in: a plain message that names the place and the fix."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent
_INSTALLED = frozenset({"stdlib", "platstdlib", "purelib", "platlib"})


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


def raised(error: BaseException) -> str:
    """What code of a user's raised, and where in that code: `KeyError: 'slope' (conftest.py:12)`.

    Where nothing of a user's took part, the place is told if it lies in this package, else none.
    """
    frames = [(Path(name), line) for name, line in _frames(error)]
    own = [(path, line) for path, line in frames if is_users(path)]
    if not own and frames and frames[-1][0].is_relative_to(PACKAGE):
        own = [(frames[-1][0].relative_to(PACKAGE.parent), frames[-1][1])]
    where = f" ({nearby(own[-1][0])}:{own[-1][1]})" if own else ""
    return f"{type(error).__name__}: {error}{where}"


def nearby(path: Path) -> str:
    """A file as people find it: from the working directory, else by its name; nothing of where a machine keeps it."""
    if not path.is_absolute():
        return str(path)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


def is_users(path: Path) -> bool:
    """Whether a file holds code of a user's: neither this package's, nor Python's, nor an installed one's."""
    installed = (Path(place) for name, place in sysconfig.get_paths().items() if name in _INSTALLED)
    return path.is_absolute() and not any(path.is_relative_to(place) for place in (PACKAGE, *installed))


def _frames(error: BaseException) -> Iterator[tuple[str, int]]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield frame.f_code.co_filename, line
