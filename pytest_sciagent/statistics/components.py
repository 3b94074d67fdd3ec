"""Where the spread of scores comes from (the judge, the runs, the tasks), and which differences it leaves to be seen.

Nested random effects: score = mean + task + run within task + draw within run, each with a variance of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from .base import mean_of, share, t_quantile

Drawn = Mapping[str, Sequence[Sequence[float]]]
"""By task, for each run of it, its score under each draw of the judge (points)."""
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Component:
    """A variance (points squared) with its interval. The estimate is 0 where noise alone explains what is seen."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of judge, runs and tasks over `tasks` tasks with `runs` runs each, of `draws` draws each.

    None where nothing was repeated to tell it from the next: `reason` says which variance holds it too.
    """

    tasks: int
    runs: int
    draws: int
    judge: Component | None
    run: Component | None
    task: Component | None
    confidence: float
    reason: str | None = None


def variance_components(scores: Drawn, confidence: float = 0.95) -> Components:
    """Split the variance of scores by analysis of variance (Searle, Casella and McCulloch 1992, chapter 3).

    The interval of the lowest variance is that of chi squared; those of the others are the modified large-sample ones
    (Ting et al. 1990; Burdick and Graybill 1992), cut off at 0. Of unequal numbers of runs or draws, only as many are
    used as all have, and `reason` says so.

    Raises:
        ValueError: a confidence outside 0..1.
    """
    share("confidence", confidence)
    runs = min((len(task) for task in scores.values()), default=0)
    draws = min((len(run) for task in scores.values() for run in task), default=0)
    if len(scores) < 2 or not runs or not draws:
        why = "fewer than two tasks, or a task without a score: no variance is known"
        return Components(len(scores), runs, draws, None, None, None, confidence, why)
    values = [[[float(s) for s in run[:draws]] for run in scores[task][:runs]] for task in sorted(scores)]
    left = sum(len(run) for task in scores.values() for run in task) - len(scores) * runs * draws
    reasons = [f"{left} scores are left out: not every task has as many"] if left else []
    squares = _mean_squares(values)
    names = [name for name, count in (("task", len(values)), ("run", runs), ("judge", draws)) if count > 1]
    if draws == 1:
        reasons.append(f"one draw: the judge's noise is in the variance of {'runs' if runs > 1 else 'tasks'}")
    if runs == 1:
        reasons.append("one run of each task: the noise of a run is in the variance of tasks")
    found: dict[str, Component] = {}
    for name, below in zip(names, [*names[1:], None], strict=True):
        upper, times = squares[name], {"task": runs * draws, "run": draws, "judge": 1}[name]
        lower = squares[below] if below is not None else None
        found[name] = _component(upper, lower, times, (1 - confidence) / 2)
    return Components(
        len(values),
        runs,
        draws,
        found.get("judge"),
        found.get("run"),
        found["task"],
        confidence,
        "; ".join(reasons) or None,
    )


def _mean_squares(values: Sequence[Sequence[Sequence[float]]]) -> dict[str, tuple[float, int]]:
    """Mean square and degrees of freedom of tasks, of runs and of draws, where there are any."""
    tasks, runs, draws = len(values), len(values[0]), len(values[0][0])
    of_run = [[mean_of(run) for run in task] for task in values]
    of_task = [mean_of(task) for task in of_run]
    grand = mean_of(of_task)
    sums = {
        "task": runs * draws * math.fsum((mean - grand) ** 2 for mean in of_task),
        "run": draws * math.fsum((m - of_task[t]) ** 2 for t, task in enumerate(of_run) for m in task),
        "judge": math.fsum(
            (s - of_run[t][r]) ** 2 for t, task in enumerate(values) for r, run in enumerate(task) for s in run
        ),
    }
    freedom = {"task": tasks - 1, "run": tasks * (runs - 1), "judge": tasks * runs * (draws - 1)}
    return {name: (sums[name] / df, df) for name, df in freedom.items() if df}


def _component(upper: tuple[float, int], lower: tuple[float, int] | None, times: int, tail: float) -> Component:
    one, df_one = upper
    if lower is None:
        return Component(one / times, one / times / _f(1 - tail, df_one), one / times / _f(tail, df_one))
    two, df_two = lower
    g_one, h_one, g_two, h_two, g_both, h_both = _factors(df_one, df_two, tail)
    below = (g_one * one) ** 2 + (h_two * two) ** 2 + g_both * one * two
    above = (h_one * one) ** 2 + (g_two * two) ** 2 + h_both * one * two
    ends = (one - two - max(below, 0) ** 0.5, one - two, one - two + max(above, 0) ** 0.5)
    low, value, high = (max(0.0, end) / times for end in ends)
    return Component(value, low, high)


@cache
def _factors(one: int, two: int, tail: float) -> tuple[float, float, float, float, float, float]:
    """The constants of the modified large-sample interval of a difference of two mean squares."""
    g_one, g_two = 1 - 1 / _f(1 - tail, one), 1 - 1 / _f(1 - tail, two)
    h_one, h_two = 1 / _f(tail, one) - 1, 1 / _f(tail, two) - 1
    upper, lower = _f(1 - tail, one, two), _f(tail, one, two)
    g_both = ((upper - 1) ** 2 - (g_one * upper) ** 2 - h_two**2) / upper
    h_both = ((1 - lower) ** 2 - (h_one * lower) ** 2 - g_two**2) / lower
    return g_one, h_one, g_two, h_two, g_both, h_both


@cache
def _f(probability: float, one: int, two: int | None = None) -> float:
    """Quantile of F; of chi squared over its degrees of freedom where `two` is None (infinitely many)."""
    from scipy import stats

    return float(stats.chi2.ppf(probability, one) / one if two is None else stats.f.ppf(probability, one, two))


def smallest_difference(error: float, df: float, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest true difference (points) that a one-sided t-test at `alpha` finds with this power.

    error: the standard error of the mean difference, with `df` degrees of freedom.

    Raises:
        ValueError: an error or degrees of freedom that are none; a power or alpha outside 0..1.
    """
    share("power", power)
    share("alpha", alpha)
    if not (0 <= error < math.inf and df > 0):
        raise ValueError(f"an error of {error} with {df} degrees of freedom")
    return error * _noncentrality(df, power, alpha)


@cache
def _noncentrality(df: float, power: float, alpha: float) -> float:
    from scipy import optimize, stats

    bound = t_quantile(1 - alpha, df)
    return float(optimize.brentq(lambda shift: stats.nct.sf(bound, df, shift) - power, 0, 20 * bound + 20))


def tasks_needed(sd: float, difference: float, *, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """How many tasks it takes to find a true `difference` with this power, where differences by task have spread `sd`.

    None where more than 100,000 would not be enough.

    Raises:
        ValueError: a difference that is not above 0, or as `smallest_difference`.
    """
    if not difference > 0:
        raise ValueError(f"the difference must be above 0 points, not {difference}")

    def enough(tasks: int) -> bool:
        return smallest_difference(sd / tasks**0.5, tasks - 1, power=power, alpha=alpha) <= difference

    if not enough(_MOST):
        return None
    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
