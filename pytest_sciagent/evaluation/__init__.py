"""Runs, rubrics and a judge in; verdicts and scores out. Knows no pytest."""

from __future__ import annotations

from .about_run import RerunWish
from .case import Case
from .sources import Sources, open_case

__all__ = ["Case", "RerunWish", "Sources", "open_case"]
