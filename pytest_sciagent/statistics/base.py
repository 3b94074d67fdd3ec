"""What every statistic starts from: scores by task that are checked, paired and free of rounding noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Scores = Mapping[str, float]
"""Points of one system (0..100) by task."""
Cohort = Mapping[str, Scores]
"""Scores of several systems, by system."""

DECIMALS = 10
"""Differences and means are compared after rounding to this many decimals: 40 - 38 and 65.9 - 63.9 are a tie."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Differences a - b (points) over the tasks that both systems have, by task id; `left_out`: tasks of one only."""

    tasks: tuple[str, ...]
    differences: tuple[float, ...]
    left_out: tuple[str, ...]
    reason: str | None = None


def refusal(scores: Mapping[str, float]) -> str | None:
    """Why these can't be used as points, NaN and infinities included; None where they can."""
    for name in sorted(scores):
        if not 0 <= scores[name] <= 100:
            return f"the score of {name} is {scores[name]}, not a number within 0..100"
    return None


def cohort_refusal(cohort: Cohort) -> str | None:
    """Why a cohort can't be used; None where it can. It needs a system; scores must be points."""
    if not cohort:
        return "no system"
    for system in sorted(cohort):
        if problem := refusal(cohort[system]):
            return f"{system}: {problem}"
    return None


def pair(a: Scores, b: Scores) -> Paired:
    """Pair two systems by task. Scores that are refused, or no shared task, give no pair and the reason."""
    left_out = tuple(sorted(set(a) ^ set(b)))
    if problem := refusal(a) or refusal(b):
        return Paired((), (), left_out, problem)
    tasks = tuple(sorted(set(a) & set(b)))
    differences = tuple(round(a[task] - b[task], DECIMALS) for task in tasks)
    return Paired(tasks, differences, left_out, None if tasks else "the two systems share no task")


def shared_tasks(cohort: Cohort) -> tuple[str, ...]:
    """Tasks that every system of the cohort has, sorted."""
    if not cohort:
        return ()
    return tuple(sorted(set.intersection(*(set(scores) for scores in cohort.values()))))


def mean_of(values: Iterable[float]) -> float:
    """The mean of at least one value, summed without loss, so that the order of the values never shows."""
    items = list(values)
    return math.fsum(items) / len(items)


def variance_of(values: Sequence[float]) -> float:
    """The sample variance (n - 1) of at least two values."""
    mean = mean_of(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def all_equal(values: Sequence[float]) -> bool:
    """Whether values are equal but for rounding noise. Also true of none."""
    return not values or max(values) - min(values) < 10**-DECIMALS


def share(name: str, value: float) -> float:
    """`value` if it lies between 0 and 1.

    Raises:
        ValueError: if not.
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1, not {value}")
    return value


def t_quantile(probability: float, df: float) -> float:
    """Quantile of Student's t; `df` may be infinite (normal)."""
    from scipy import stats

    return float(stats.t.ppf(probability, df))
