"""Repeats of the same tasks: how much of the spread is noise of the run, how much lies between tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .base import all_equal, mean_of, refusal, share, t_quantile, variance_of

Runs = Mapping[str, Sequence[float]]
"""Scores of one system's repeats (points), by task."""


@dataclass(frozen=True, slots=True)
class RepeatVariance:
    """Variances (points squared) and two intervals of the mean over tasks (points).

    within: pooled variance of runs of one task, with `within_df` degrees of freedom; None without any repeat.
    between: variance of the tasks' true means; 0 where noise alone explains their spread.
    low, high: the mean for other tasks of this kind: holds the spread between tasks and the noise.
    noise_low, noise_high: the mean for these very tasks run again: holds the noise only.
    """

    tasks: int
    runs: int
    mean: float | None
    within: float | None
    within_df: int
    between: float | None
    low: float | None
    high: float | None
    noise_low: float | None
    noise_high: float | None
    confidence: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DifferenceNoise:
    """Variance (points squared) that runs alone give to the difference of two systems on one task, and its df."""

    variance: float | None
    df: float
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.variance is not None and not (0 <= self.variance < float("inf") and self.df > 0):
            raise ValueError(f"a variance of {self.variance} with {self.df} degrees of freedom")


def repeat_variance(runs: Runs, confidence: float = 0.95) -> RepeatVariance:
    """One-way random-effects analysis of variance (Searle, Casella and McCulloch 1992, chapter 3).

    The mean is that of the tasks' means. Its wide interval is the t interval of those (k - 1 degrees of freedom): their
    spread holds both variances already, within divided by the repeats. The narrow one takes the pooled variance within
    tasks. Runs are never counted as if they were tasks.

    Raises:
        ValueError: for a confidence outside 0..1.
    """
    share("confidence", confidence)
    count = sum(len(scores) for scores in runs.values())
    if problem := _refusal(runs):
        return RepeatVariance(len(runs), count, None, None, 0, None, None, None, None, None, confidence, problem)
    tasks = [[float(score) for score in runs[task]] for task in sorted(runs)]
    means = [mean_of(scores) for scores in tasks]
    mean, k, df = mean_of(means), len(tasks), count - len(tasks)
    within = math.fsum((len(t) - 1) * variance_of(t) for t in tasks if len(t) > 1) / df if df else None
    low = high = noise_low = noise_high = None
    if k > 1:
        half = 0.0 if all_equal(means) else t_quantile((1 + confidence) / 2, k - 1) * (variance_of(means) / k) ** 0.5
        low, high = mean - half, mean + half
    if within is not None:
        error = (within * math.fsum(1 / len(t) for t in tasks)) ** 0.5 / k
        half = t_quantile((1 + confidence) / 2, df) * error
        noise_low, noise_high = mean - half, mean + half
    reasons = [] if k > 1 else ["one task: no spread between tasks"]
    reasons += [] if df else ["no task has two runs: the noise of a run is not known by itself"]
    between = _between(tasks, means, within) if k > 1 and within is not None else None
    return RepeatVariance(
        k, count, mean, within, df, between, low, high, noise_low, noise_high, confidence, "; ".join(reasons) or None
    )


def _refusal(runs: Runs) -> str | None:
    if not runs:
        return "no task"
    for task in sorted(runs):
        if not runs[task]:
            return f"task {task} has no run"
        if problem := refusal({f"{task}, run {n}": score for n, score in enumerate(runs[task], 1)}):
            return problem
    return None


def _between(tasks: Sequence[Sequence[float]], means: Sequence[float], within: float) -> float:
    """Method of moments: (MSB - MSW) / n0, where n0 is the repeats of a task, corrected where they differ."""
    count = sum(len(scores) for scores in tasks)
    grand = math.fsum(score for scores in tasks for score in scores) / count
    square = math.fsum(len(t) * (mean - grand) ** 2 for t, mean in zip(tasks, means, strict=True)) / (len(tasks) - 1)
    repeats = (count - sum(len(t) ** 2 for t in tasks) / count) / (len(tasks) - 1)
    return max(0.0, (square - within) / repeats)


def difference_noise(new: Runs, baseline: Runs) -> DifferenceNoise:
    """Noise of one task's difference new - baseline (each the mean of its repeats), on average over the shared tasks.

    Each system's pooled variance within tasks times the mean of 1 / repeats; degrees of freedom after Welch and
    Satterthwaite (1946). Where only one of the two was repeated, its variance stands for both, and `reason` says so.
    """
    if problem := _refusal(new) or _refusal(baseline):
        return DifferenceNoise(None, 0, problem)
    tasks = sorted(set(new) & set(baseline))
    one, two = repeat_variance(new), repeat_variance(baseline)
    if not tasks or (one.within is None and two.within is None):
        why = "the two systems share no task" if not tasks else "no task of either system has two runs"
        return DifferenceNoise(None, 0, why)
    parts = [mean_of(1 / len(runs[task]) for task in tasks) for runs in (new, baseline)]
    if one.within is None or two.within is None:
        known = two if one.within is None else one
        assert known.within is not None
        missing = "new system" if one.within is None else "baseline"
        reason = f"the {missing} was not repeated: the other's noise stands for both"
        return DifferenceNoise(known.within * sum(parts), known.within_df, reason)
    noise = [one.within * parts[0], two.within * parts[1]]
    squares = noise[0] ** 2 / one.within_df + noise[1] ** 2 / two.within_df
    df = sum(noise) ** 2 / squares if squares else float(one.within_df + two.within_df)
    return DifferenceNoise(sum(noise), df)
