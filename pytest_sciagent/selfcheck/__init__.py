"""Runs that must earn next to nothing, made for any task: what a score is worth, measured on what is worth none."""

from __future__ import annotations

from .allowances import ALLOWANCES, KINDS, Allowance, Kind
from .build import build_runs, system_name
from .score import Earned, score_runs

__all__ = ["ALLOWANCES", "KINDS", "Allowance", "Earned", "Kind", "build_runs", "score_runs", "system_name"]
