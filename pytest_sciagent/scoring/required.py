"""Profile `required`: the share of required criteria that are met in full, whatever they weigh."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ..models import Criterion
from .interval import Interval


def score_required(pairs: Iterable[tuple[Criterion, float | None]]) -> Interval:
    """100 times the number of required criteria at level 1 over the number of required criteria.

    `pairs` are a criterion and its level for one finding (or for the run); None: not known. Half is not met, optional
    criteria don't count. No required pair gives 0.
    """
    levels = [level for criterion, level in pairs if criterion.required]
    if not levels:
        return Interval.point(0)
    met, unknown = levels.count(1), levels.count(None)
    return Interval(Fraction(met), Fraction(met + unknown)).scaled(Fraction(100, len(levels)))
