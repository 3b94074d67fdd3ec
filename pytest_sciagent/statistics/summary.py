"""One system over its tasks: mean with its interval, range, and the tasks it leads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from .base import (
    DECIMALS,
    Cohort,
    Scores,
    all_equal,
    cohort_refusal,
    mean_of,
    refusal,
    share,
    shared_tasks,
    t_quantile,
    variance_of,
)

Method = Literal["t", "bootstrap percentile"]

ONE_TASK = "one task tells nothing about the spread over tasks"
NO_SPREAD = "all scores are equal: the interval is a point, which says nothing about other tasks"


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over `n` tasks with the interval from `low` to `high` (points, not clipped to 0..100)."""

    n: int
    mean: float | None
    low: float | None
    high: float | None
    confidence: float
    method: Method
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """The lowest and the highest score over tasks, each with its first task by id."""

    low: float | None
    high: float | None
    low_task: str | None
    high_task: str | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Leads:
    """How many of the `tasks` that all systems share each one leads. Tied leaders share a task in equal parts."""

    tasks: int
    leads: Mapping[str, Fraction]
    left_out: tuple[str, ...]
    reason: str | None = None


def t_interval(scores: Scores, confidence: float = 0.95) -> MeanInterval:
    """Mean plus or minus t(n - 1) times s / sqrt(n), tasks taken as a random sample (Student 1908).

    Raises:
        ValueError: for a confidence outside 0..1.
    """
    share("confidence", confidence)
    n = len(scores)
    if problem := refusal(scores) or (None if n else "no task"):
        return MeanInterval(n, None, None, None, confidence, "t", problem)
    values = list(scores.values())
    mean = mean_of(values)
    if n == 1:
        return MeanInterval(1, mean, None, None, confidence, "t", ONE_TASK)
    if all_equal(values):
        return MeanInterval(n, mean, mean, mean, confidence, "t", NO_SPREAD)
    half = t_quantile((1 + confidence) / 2, n - 1) * (variance_of(values) / n) ** 0.5
    return MeanInterval(n, mean, mean - half, mean + half, confidence, "t")


def bootstrap_interval(scores: Scores, confidence: float = 0.95, *, draws: int = 9_999, seed: int = 0) -> MeanInterval:
    """Percentile interval of the mean over tasks drawn with replacement (Efron 1979).

    The percentile method, not BCa: with few tasks it is narrower than the t interval, which is the one to decide by.
    Tasks are drawn in the order of their ids, so that equal seeds give equal intervals.

    Raises:
        ValueError: for a confidence outside 0..1, or no draw.
    """
    import numpy as np

    share("confidence", confidence)
    if draws < 1:
        raise ValueError(f"draws must be at least 1, not {draws}")
    method: Method = "bootstrap percentile"
    n = len(scores)
    if problem := refusal(scores) or (None if n else "no task"):
        return MeanInterval(n, None, None, None, confidence, method, problem)
    values = [float(scores[task]) for task in sorted(scores)]
    mean = mean_of(values)
    if n == 1:
        return MeanInterval(1, mean, None, None, confidence, method, ONE_TASK)
    if all_equal(values):
        return MeanInterval(n, mean, mean, mean, confidence, method, NO_SPREAD)
    drawn = np.random.default_rng(seed).integers(0, n, (draws, n))
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.array(values)[drawn].mean(axis=1), [tail, 1 - tail]).tolist()
    return MeanInterval(n, mean, low, high, confidence, method)


def score_range(scores: Scores) -> ScoreRange:
    """Lowest and highest score over tasks."""
    if problem := refusal(scores) or (None if scores else "no task"):
        return ScoreRange(None, None, None, None, problem)
    low_task = min(sorted(scores), key=lambda task: scores[task])
    high_task = max(sorted(scores), key=lambda task: scores[task])
    return ScoreRange(scores[low_task], scores[high_task], low_task, high_task)


def task_leads(cohort: Cohort) -> Leads:
    """Count the tasks each system leads, over tasks that every system has; the others are `left_out`."""
    if problem := cohort_refusal(cohort):
        return Leads(0, {}, (), problem)
    tasks = shared_tasks(cohort)
    left_out = tuple(sorted({task for scores in cohort.values() for task in scores} - set(tasks)))
    leads = dict.fromkeys(sorted(cohort), Fraction(0))
    for task in tasks:
        rounded = {system: round(cohort[system][task], DECIMALS) for system in leads}
        best = [system for system, score in rounded.items() if score == max(rounded.values())]
        for system in best:
            leads[system] += Fraction(1, len(best))
    reason = "no task that every system has" if not tasks else "one system leads by itself" if len(leads) == 1 else None
    return Leads(len(tasks), leads, left_out, reason)
