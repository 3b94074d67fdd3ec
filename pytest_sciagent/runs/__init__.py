"""Frozen runs on disk.

`Run` is imported on first use: a session looks for runs in every folder it is given, and mostly finds none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..layout import MANIFEST
from .files import UnsafeFile

if TYPE_CHECKING:
    from .run import Run

__all__ = ["MANIFEST", "Run", "UnsafeFile"]


def __getattr__(name: str) -> Any:
    if name != "Run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .run import Run

    return Run
