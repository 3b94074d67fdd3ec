"""Frozen runs on disk."""

from __future__ import annotations

from .files import UnsafeFile
from .run import MANIFEST, Run

__all__ = ["MANIFEST", "Run", "UnsafeFile"]
