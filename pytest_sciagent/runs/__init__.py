"""Frozen runs on disk."""

from __future__ import annotations

from ..layout import MANIFEST
from .files import UnsafeFile
from .run import Run

__all__ = ["MANIFEST", "Run", "UnsafeFile"]
