"""Two quantities over tasks, and the one use that needs a warning: difficulty against disagreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .base import DECIMALS, Cohort, all_equal, cohort_refusal, mean_of, shared_tasks, variance_of

SAME_SCORES = (
    "Descriptive only: a task's mean and the disagreement about it come from the same scores, so they are tied to each "
    "other by the ends of the scale even where difficulty has no influence at all."
)

Measure = Literal["range", "sd"]


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's r and Spearman's rho over `n` points, each with its two-sided p."""

    n: int
    pearson: float | None
    pearson_p: float | None
    spearman: float | None
    spearman_p: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Task means against disagreement between systems (points), in the order of `tasks`; read with `warning`."""

    tasks: tuple[str, ...]
    means: tuple[float, ...]
    disagreement: tuple[float, ...]
    measure: Measure
    correlation: Correlation
    warning: str = SAME_SCORES


def correlate(x: Sequence[float], y: Sequence[float]) -> Correlation:
    """Pearson (p by the exact t distribution under normality) and Spearman (mean ranks for ties, p by t: coarse below
    some 10 points). Fewer than three points, or a quantity that never varies, give no coefficient.

    Raises:
        ValueError: for sequences of different length.
    """
    if len(x) != len(y):
        raise ValueError(f"{len(x)} values can't be paired with {len(y)}")
    if any(not abs(value) < float("inf") for value in (*x, *y)):
        return Correlation(len(x), None, None, None, None, "a value is not a finite number")
    if len(x) < 3:
        return Correlation(len(x), None, None, None, None, f"{len(x)} points are too few for a correlation")
    a, b = ([round(float(value), DECIMALS) for value in values] for values in (x, y))
    if all_equal(a) or all_equal(b):
        return Correlation(len(x), None, None, None, None, "one of the two quantities does not vary")
    from scipy import stats

    pearson, spearman = stats.pearsonr(a, b), stats.spearmanr(a, b)
    return Correlation(
        len(a), float(pearson.statistic), float(pearson.pvalue), float(spearman.statistic), float(spearman.pvalue)
    )


def difficulty(cohort: Cohort, measure: Measure = "range") -> Difficulty:
    """Correlate the mean score of each task that all systems share with the disagreement between the systems.

    Disagreement is the range over systems (highest minus lowest) or their standard deviation (n - 1).
    """
    problem = cohort_refusal(cohort) or ("one system can't disagree" if len(cohort) == 1 else None)
    if problem:
        return Difficulty((), (), (), measure, Correlation(0, None, None, None, None, problem))
    tasks = shared_tasks(cohort)
    columns = [[cohort[system][task] for system in sorted(cohort)] for task in tasks]
    means = tuple(mean_of(column) for column in columns)
    if measure == "range":
        disagreement = tuple(max(column) - min(column) for column in columns)
    else:
        disagreement = tuple(variance_of(column) ** 0.5 for column in columns)
    return Difficulty(tasks, means, disagreement, measure, correlate(means, disagreement))
