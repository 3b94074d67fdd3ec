"""Levels added up exactly: every score is an interval of fractions, a point where everything is known."""

from __future__ import annotations

from .best_finding import score_best
from .checklist100 import points_of_level, score_checklist
from .interval import Interval, mean
from .layers import LAYERS, Layer, criteria_of, shares_by_layer
from .profiles import FindingScore, feasible_criteria, score_feasible, score_finding
from .required import score_required
from .truthinsight import RunFacts, RunScore, score_run
from .truthinsight_v1 import V1Facts, score_run_v1
from .weighted import score_pairs

__all__ = [
    "LAYERS",
    "FindingScore",
    "Interval",
    "Layer",
    "RunFacts",
    "RunScore",
    "V1Facts",
    "criteria_of",
    "feasible_criteria",
    "mean",
    "points_of_level",
    "score_best",
    "score_checklist",
    "score_feasible",
    "score_finding",
    "score_pairs",
    "score_required",
    "score_run",
    "score_run_v1",
    "shares_by_layer",
]
