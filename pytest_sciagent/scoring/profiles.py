"""The score of one finding: weighted levels, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import lcm

from ..models import Criterion
from .interval import Interval

Levels = Mapping[str, float | None]
"""Levels of one finding by criterion id; None (or no entry) where it is not assessed or in error."""


@dataclass(frozen=True, slots=True)
class FindingScore:
    """Score of a finding and the share of the criteria's weight that has a level (0..1)."""

    score: Interval
    assessed: Fraction


@cache
def exact(number: float) -> Fraction:
    """A weight or level as written in decimals: 0.1 is one tenth, not its nearest binary fraction."""
    return Fraction(str(number))


def score_finding(criteria: Iterable[Criterion], levels: Levels) -> FindingScore:
    """Sum of weight times level over `criteria`; an unknown level counts as 0 at one end and 1 at the other.

    A negative weight (profile `weighted`) widens the interval the other way round.
    """
    terms = [(exact(criterion.weight), levels.get(criterion.id)) for criterion in criteria]
    # Whole numbers of the smallest unit that divides all weights, and all levels: exact, and cheaper than fractions.
    unit = lcm(*(weight.denominator for weight, _ in terms))
    step = lcm(*(exact(level).denominator for _, level in terms if level is not None))
    low = high = known = total = 0
    for fraction, level in terms:
        weight = fraction.numerator * (unit // fraction.denominator)
        total += abs(weight)
        if level is None:
            low += min(weight, 0) * step
            high += max(weight, 0) * step
        else:
            earned = exact(level)
            points = weight * earned.numerator * (step // earned.denominator)
            low += points
            high += points
            known += abs(weight)
    score = Interval(Fraction(low, unit * step), Fraction(high, unit * step))
    return FindingScore(score, Fraction(known, total) if total else Fraction(1))


def feasible_criteria(criteria: Iterable[Criterion], infeasible: Collection[str]) -> tuple[Criterion, ...]:
    """The criteria that can be met on a task; `infeasible` are ids of criteria or dimensions that can't."""
    return tuple(c for c in criteria if c.id not in infeasible and c.dimension not in infeasible)


def score_feasible(criteria: Iterable[Criterion], levels: Levels, infeasible: Collection[str]) -> FindingScore:
    """As `score_finding`, but without what is infeasible; the rest is scaled to the same sum of positive weights.

    0 where nothing that can earn points is left.
    """
    every = list(criteria)
    kept = feasible_criteria(every, infeasible)
    before, after = (
        sum((exact(c.weight) for c in group if c.weight > 0), start=Fraction(0)) for group in (every, kept)
    )
    found = score_finding(kept, levels)
    return FindingScore(found.score.scaled(before / after) if after else Interval.point(0), found.assessed)
