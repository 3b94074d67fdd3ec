"""Profile `weighted`: the weighted share of levels over everything that was tested."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ..models import Criterion
from .interval import Interval
from .profiles import exact


def score_pairs(pairs: Iterable[tuple[Criterion, float | None]]) -> Interval:
    """100 times the sum of weight times level over the sum of positive weights, clamped to 0..100.

    `pairs` are a criterion and its level for one finding (or for the run); None: not known. No pair gives 0.
    """
    low = high = positive = Fraction(0)
    for criterion, level in pairs:
        weight = exact(criterion.weight)
        positive += max(weight, Fraction(0))
        ends = [exact(level)] if level is not None else [Fraction(0), Fraction(1)]
        low += min(weight * end for end in ends)
        high += max(weight * end for end in ends)
    if not positive:
        return Interval.point(0)
    return Interval(low, high).scaled(100 / positive).clamped(0, 100)
