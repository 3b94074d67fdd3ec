"""Gates: each decides once over the results of a session; everything else shows its decision."""

from __future__ import annotations

from .decision import Decision, Gate, Outcome, decide_all
from .exit_code import EXIT_INCONCLUSIVE, exit_code, failures_that_count

__all__ = [
    "EXIT_INCONCLUSIVE",
    "Decision",
    "Gate",
    "Outcome",
    "decide_all",
    "exit_code",
    "failures_that_count",
]
