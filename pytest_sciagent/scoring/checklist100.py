"""Profile `checklist100`: the weighted mean of points from 0 to 100, where 50 means on par with the reference."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ..models import Criterion
from .interval import Interval
from .profiles import exact

FULL_FROM, HALF_FROM = 50, 25
POINTS = Interval(Fraction(0), Fraction(100))


def points_of_level(level: float | None) -> Interval:
    """The points a level can stand for (its upper end belongs to the next one); all of them where it is not known.

    Level 1 stands for points from 50 on (parity), 0.5 from 25 on, 0 for those below.
    """
    if level is None:
        return POINTS
    ends = {1.0: (FULL_FROM, 100), 0.5: (HALF_FROM, FULL_FROM), 0.0: (0, HALF_FROM)}[level]
    return Interval(Fraction(ends[0]), Fraction(ends[1]))


def score_checklist(pairs: Iterable[tuple[Criterion, float | Interval | None]]) -> Interval:
    """The weighted mean of points, exact. No pair gives 0.

    `pairs` are a criterion (of positive weight) and its points 0..100, exact or as an interval; None: not known.
    Where a judge gave levels only, `points_of_level` tells what is known of the points.

    Raises:
        ValueError: for points that are not within 0..100, NaN included.
    """
    total = Interval.point(0)
    weights = Fraction(0)
    for criterion, points in pairs:
        weight = exact(criterion.weight)
        weights += weight
        total += _as_interval(points).scaled(weight)
    return total.scaled(1 / weights) if weights else total


def _as_interval(points: float | Interval | None) -> Interval:
    if points is None:
        return POINTS
    if isinstance(points, Interval):
        _within(points.low)
        _within(points.high)
        return points
    _within(points)
    return Interval.point(exact(points))


def _within(points: float | Fraction) -> None:
    if not 0 <= points <= 100:
        raise ValueError(f"points are a number within 0..100, not {points}")
