"""Gate on not being worse than a baseline by a margin: paired by task, and decided only if all open scores agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from ..scoring.interval import Interval, mean
from ..text import counted
from .baseline import Baseline, Opponents, RunOutcome, opponents
from .decision import WORST_FIRST, Decision, Outcome, exact, plain, show

if TYPE_CHECKING:
    from ..reporting.results import Results

ALPHA = 0.05

TaskScores = Mapping[str, Sequence[Interval]]
"""Scores of the repeats (points) of one system, by task."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean of new - baseline over `n` shared tasks (points; an interval where scores are open), and its bounds.

    low, high: the one-sided bounds at 95 %, over all that open scores can be; None where the data give none.
    error: the standard error that their width stands for.
    """

    outcome: Outcome
    n: int
    left_out: int
    mean: Interval | None
    low: float | None
    high: float | None
    reason: str | None
    error: float | None = None

    def smallest(self, power: float) -> float | None:
        """The smallest difference (points) that these tasks would show with this power (0..1)."""
        from ..statistics import smallest_difference

        return None if self.error is None else smallest_difference(self.error, self.n - 1, power=power, alpha=ALPHA)


@dataclass(frozen=True, slots=True)
class NotWorse:
    """Every system is non-inferior to its opponent in the baseline: worse by less than `margin` points.

    power: percent; nothing is decided where the tasks would not show a difference of `margin` with it, and the
    difference is none that they would show.
    """

    baseline: Baseline
    margin: float
    power: float | None = None

    def decide(self, results: Results) -> Decision:
        told = f"at most {plain(self.margin)} points below {self.baseline.name}"
        if results.incomplete is not None:
            return Decision("inconclusive", f"{told}: not compared")
        mixed = self.baseline.check(results)
        pairs = opponents(results, self.baseline)
        if not pairs:
            return Decision("inconclusive", f"{told}: no system but the baseline itself was tested{mixed}")
        compared = [(pair, _compare_pair(pair, self.margin)) for pair in pairs]
        blind = [self._blind(comparison) for _, comparison in compared]
        found = [
            (pair, comparison if why is None else replace(comparison, outcome="inconclusive"))
            for (pair, comparison), why in zip(compared, blind, strict=True)
        ]
        texts = [
            f"{pair.new} {_told(pair.baseline, comparison, self.margin)}{why or ''}"
            for (pair, comparison), why in zip(found, blind, strict=True)
        ]
        keys = [(WORST_FIRST.index(c.outcome), c.low if c.low is not None else -inf) for _, c in found]
        worst = keys.index(min(keys))
        details = tuple(f"{c.outcome}: {text}" for (_, c), text in zip(found, texts, strict=True))
        sentence = f"{told}: {texts[worst]}{mixed}"
        return Decision(found[worst][1].outcome, sentence, details if len(details) > 1 else ())

    def _blind(self, comparison: Comparison) -> str | None:
        """Why nothing is decided: neither the margin nor what was found is as large as what these tasks would show."""
        smallest = comparison.smallest(self.power / 100) if self.power else None
        if smallest is None or smallest <= self.margin or comparison.mean is None:
            return None
        if comparison.mean.low >= smallest or comparison.mean.high <= -smallest:
            return None
        return f"; with {plain(self.power or 0)} % power these tasks show {smallest:.1f} points or more only"


def _compare_pair(pair: Opponents, margin: float) -> Comparison:
    return compare(task_scores(pair.new_runs), task_scores(pair.baseline_runs), margin)


def task_scores(runs: Iterable[RunOutcome]) -> TaskScores:
    """Scores by task, in the order of the repeats."""
    scores: dict[str, list[Interval]] = {}
    for run in sorted(runs, key=lambda run: run.repeat):
        if run.score is not None:
            scores.setdefault(run.task, []).append(run.score)
    return scores


def compare(new: TaskScores, baseline: TaskScores, margin: float) -> Comparison:
    """Whether `new` is non-inferior: a paired one-sided t-test over the shared tasks, widened by the noise of repeats.

    Where scores are open, the bounds hold for every value they can have: with differences d = m + e, m from the middles
    and |e| at most h, the mean lies within mean(m) -+ mean(h), and the standard deviation of d is at most that of m
    plus sqrt(sum(h^2) / (n - 1)). The noise of repeats is taken from the middles. Met: the lower bound is above
    -margin. Not met: the upper bound is below it.
    """
    from ..statistics import difference_noise, non_inferiority
    from ..statistics.base import t_quantile

    middles = [{task: [_middle(s) for s in scores] for task, scores in side.items()} for side in (new, baseline)]
    means = [{task: _middle(mean(scores)) for task, scores in side.items()} for side in (new, baseline)]
    noise = difference_noise(*middles)
    test = non_inferiority(*means, margin=margin, alpha=ALPHA, noise=noise if noise.variance is not None else None)
    if test.mean is None:
        return Comparison("inconclusive", test.n, len(test.left_out), None, None, None, test.reason)
    halves = [float(_half(new[task]) + _half(baseline[task])) for task in sorted(set(new) & set(baseline))]
    shift = sum(halves) / test.n
    centre = Interval(Fraction(test.mean - shift), Fraction(test.mean + shift))
    if test.low is None or test.high is None:
        return Comparison("inconclusive", test.n, len(test.left_out), centre, None, None, test.reason)
    low, high = test.low, test.high
    if shift > 0:
        wide = [test.mean - test.noise_low] if test.noise_low is not None else []
        if test.t_low is not None:
            spread = (sum(half**2 for half in halves) / (test.n - 1) / test.n) ** 0.5
            wide.append(test.mean - test.t_low + t_quantile(1 - ALPHA, test.n - 1) * spread)
        low, high = test.mean - shift - max(wide), test.mean + shift + max(wide)
    error = (test.mean - shift - low) / t_quantile(1 - ALPHA, test.n - 1) if test.n > 1 else None
    outcome: Outcome = "met" if low > -margin else "not met" if high < -margin else "inconclusive"
    return Comparison(outcome, test.n, len(test.left_out), centre, low, high, None, error)


def _middle(score: Interval) -> float:
    return float((score.low + score.high) / 2)


def _half(scores: Sequence[Interval]) -> Fraction:
    score = mean(scores)
    return (score.high - score.low) / 2


def _told(opponent: str | None, found: Comparison, margin: float) -> str:
    if opponent is None:
        return "has no counterpart of its name"
    bound = -exact(margin)
    tasks = f"{counted(found.n, 'shared task')}"
    left = f" ({found.left_out} of one side only left out)" if found.left_out else ""
    if found.mean is None:
        return f"- {opponent} is not known: {found.reason}{left}"
    text = f"- {opponent} is {_signed(found.mean, bound)} over {tasks}{left}"
    if found.low is None or found.high is None:
        return f"{text}, and {found.reason}"
    low, high = (_signed(Interval.point(Fraction(end)), bound) for end in (found.low, found.high))
    if found.outcome == "inconclusive":
        return f"{text}, its one-sided 95 % bounds are {low} and {high}"
    return f"{text}, with 95 % confidence {f'above {low}' if found.outcome == 'met' else f'below {high}'}"


def _signed(value: Interval, bound: Fraction) -> str:
    ends = show(value, bound).split("..")
    return "..".join(end if end.startswith("-") else f"+{end}" for end in ends)
