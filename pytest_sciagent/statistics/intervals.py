"""Scores that are intervals, because something is not assessed: who is ahead for sure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .base import DECIMALS

Bounds = tuple[float, float]
"""Lowest and highest possible score (points); equal where everything is assessed."""


@dataclass(frozen=True, slots=True)
class IntervalComparison:
    """Which of two systems is ahead whatever is not assessed turns out to be, and why none is."""

    winner: Literal["a", "b", "undecided"]
    reason: str | None = None


def compare_intervals(a: Bounds, b: Bounds) -> IntervalComparison:
    """A system wins only if its lowest score is above the other's highest; intervals that touch decide nothing."""
    (a_low, a_high), (b_low, b_high) = ((round(low, DECIMALS), round(high, DECIMALS)) for low, high in (a, b))
    if not (0 <= a_low <= a_high <= 100 and 0 <= b_low <= b_high <= 100):
        return IntervalComparison("undecided", "a score is not an interval within 0..100")
    if a_low > b_high:
        return IntervalComparison("a")
    if b_low > a_high:
        return IntervalComparison("b")
    if a_low == a_high == b_low == b_high:
        return IntervalComparison("undecided", "the scores are equal")
    return IntervalComparison("undecided", "the intervals overlap: what is not assessed could turn it")


def rank_ranges(systems: Mapping[str, Bounds]) -> dict[str, tuple[int, int]]:
    """Best and worst possible place of each system (1 is first); equal scores may take either place."""
    places = {}
    for name, bounds in systems.items():
        against = [compare_intervals(bounds, other).winner for rival, other in systems.items() if rival != name]
        places[name] = (1 + against.count("b"), 1 + len(against) - against.count("a"))
    return places


def certain_leader(systems: Mapping[str, Bounds]) -> str | None:
    """The system that is ahead of every other one for sure; None where there is none, or nothing to be ahead of."""
    first = [name for name, (_, worst) in rank_ranges(systems).items() if worst == 1]
    return first[0] if len(systems) > 1 and first else None
