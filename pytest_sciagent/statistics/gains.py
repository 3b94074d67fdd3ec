"""The mean of gains over tasks, with an interval that holds whatever is not assessed turns out to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .base import all_equal, mean_of, share, t_quantile, variance_of
from .intervals import Bounds

LEAST_TASKS = 5
"""With fewer tasks nobody can see whether their gains are spread as a t interval takes them to be: there is none."""
NO_TASK = "no task"
EQUAL_GAINS = "all gains are equal: nothing is known of their spread"


@dataclass(frozen=True, slots=True)
class MeanGain:
    """The mean gain over `n` tasks, from `mean_low` to `mean_high` (points; they differ where gains are open).

    low, high: the t interval over tasks; None where these tasks give none, with the `reason`.
    """

    n: int
    mean_low: float | None
    mean_high: float | None
    low: float | None
    high: float | None
    confidence: float
    reason: str | None = None


def mean_gain(gains: Mapping[str, Bounds], confidence: float = 0.95) -> MeanGain:
    """The mean of `gains` (by task; lowest and highest, points) plus or minus t(n - 1) times s / sqrt(n).

    Each gain is a difference between two scores of one task, so the interval is paired by task. It holds for every
    value that open gains d can have: with middles m, d = m + e and |e| at most h, their mean lies within
    mean(m) -+ mean(h), and their standard deviation is at most that of m plus sqrt(sum(h^2) / (n - 1)).

    Raises:
        ValueError: for a confidence outside 0..1, or a gain whose lowest value is above its highest.
    """
    share("confidence", confidence)
    n = len(gains)
    if any(not low <= high for low, high in gains.values()):
        raise ValueError("a gain is its lowest and its highest value, in this order")
    if n == 0:
        return MeanGain(0, None, None, None, None, confidence, NO_TASK)
    mean_low, mean_high = (mean_of(gain[end] for gain in gains.values()) for end in (0, 1))
    if n < LEAST_TASKS:
        few = f"{n} task{'' if n == 1 else 's'}: too few for an interval, which takes {LEAST_TASKS}"
        return MeanGain(n, mean_low, mean_high, None, None, confidence, few)
    middles = [(low + high) / 2 for low, high in gains.values()]
    halves = [(high - low) / 2 for low, high in gains.values()]
    if all_equal(middles) and all_equal([0.0, *halves]):
        return MeanGain(n, mean_low, mean_high, None, None, confidence, EQUAL_GAINS)
    spread = variance_of(middles) ** 0.5 + (sum(half**2 for half in halves) / (n - 1)) ** 0.5
    wide = t_quantile((1 + confidence) / 2, n - 1) * spread / n**0.5
    return MeanGain(n, mean_low, mean_high, mean_low - wide, mean_high + wide, confidence)
