"""What one criterion's level takes from the score of its finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from ..models import Criterion, Rubric
from .interval import Interval
from .profiles import exact


def point_values(criteria: Iterable[Criterion]) -> Mapping[str, Fraction]:
    """What each criterion of a finding is worth, in points of 100 shared out by weight; negative ones take points."""
    mine = [criterion for criterion in criteria if criterion.scope == "finding"]
    total = sum((max(exact(criterion.weight), Fraction(0)) for criterion in mine), start=Fraction(0))
    return {criterion.id: exact(criterion.weight) * 100 / total for criterion in mine} if total else {}


def values_of(rubrics: Sequence[Rubric]) -> Mapping[str, Fraction]:
    """As `point_values`, for every rubric that gives the score of runs: the first, and those made for a task that no
    earlier one judges."""
    found: dict[str, Fraction] = {}
    for number, rubric in enumerate(rubrics):
        if all(earlier.task_id not in (None, rubric.task_id) for earlier in rubrics[:number]):
            found |= point_values(rubric.criteria)
    return found


def score_effect(value: Fraction, level: float | None) -> Interval:
    """Points that a level takes from the best a finding could have: 0 or less. `value` as `point_values` gives it."""
    best = max(value, Fraction(0))
    ends = [value * exact(end) - best for end in ([level] if level is not None else [0.0, 1.0])]
    return Interval(min(ends), max(ends))
