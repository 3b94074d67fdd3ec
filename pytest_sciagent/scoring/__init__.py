"""Levels added up exactly: every score is an interval of fractions, a point where everything is known."""

from __future__ import annotations

from .interval import Interval, mean
from .profiles import FindingScore, feasible_criteria, score_feasible, score_finding
from .truthinsight import RunFacts, RunScore, score_run
from .weighted import score_pairs

__all__ = [
    "FindingScore",
    "Interval",
    "RunFacts",
    "RunScore",
    "feasible_criteria",
    "mean",
    "score_feasible",
    "score_finding",
    "score_pairs",
    "score_run",
]
