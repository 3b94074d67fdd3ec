"""Whether a system is not worse than its baseline by more than a margin, with the noise of runs in view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .base import Scores, all_equal, mean_of, pair, share, t_quantile, variance_of
from .paired import EQUAL_DIFFERENCES, ONE_PAIR
from .repeats import DifferenceNoise

Outcome = Literal["non-inferior", "inferior", "inconclusive"]


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """Mean of new - baseline over `n` shared tasks (points), one-sided bounds at 1 - alpha, and what they show.

    t_low, t_high and p: by the spread of the differences over tasks. noise_low, noise_high: by the known noise of runs.
    low, high: the wider of the two on each side; the outcome is read off these.
    """

    n: int
    left_out: tuple[str, ...]
    margin: float
    alpha: float
    mean: float | None
    p: float | None
    t_low: float | None
    t_high: float | None
    noise_low: float | None
    noise_high: float | None
    low: float | None
    high: float | None
    outcome: Outcome | None
    reason: str | None = None


def non_inferiority(
    new: Scores,
    baseline: Scores,
    *,
    margin: float = 4.0,
    alpha: float = 0.05,
    noise: DifferenceNoise | None = None,
) -> NonInferiority:
    """One-sided paired t-test of "worse by `margin` points or more", which the lower bound mirrors.

    non-inferior: the lower bound is above -margin. inferior: the upper bound is below -margin. Otherwise inconclusive.
    With `noise` the bounds widen to mean plus or minus t(df) times sqrt(variance / n) where that is more: with few
    tasks, differences that happen to agree do not pass for certainty. One task is decided by its noise alone.

    Raises:
        ValueError: for a negative margin or an alpha that is not between 0 and 0.5.
    """
    if not 0 <= margin < float("inf"):
        raise ValueError(f"the margin must be 0 or more points, not {margin}")
    share("twice alpha", 2 * alpha)
    pairs = pair(new, baseline)
    n = len(pairs.differences)
    mean = mean_of(pairs.differences) if n else None
    p = t_low = t_high = noise_low = noise_high = None
    reasons = [pairs.reason, noise.reason if noise else None]
    if mean is not None and n > 1:
        if all_equal(pairs.differences):
            reasons.append(EQUAL_DIFFERENCES)
            t_low = t_high = mean
        else:
            from scipy import stats

            error = (variance_of(pairs.differences) / n) ** 0.5
            half = t_quantile(1 - alpha, n - 1) * error
            t_low, t_high = mean - half, mean + half
            p = float(stats.t.sf((mean + margin) / error, n - 1))
    elif n == 1:
        reasons.append(ONE_PAIR)
    if mean is not None and noise is not None and noise.variance is not None:
        half = t_quantile(1 - alpha, noise.df) * (noise.variance / n) ** 0.5
        noise_low, noise_high = mean - half, mean + half
    low = min((end for end in (t_low, noise_low) if end is not None), default=None)
    high = max((end for end in (t_high, noise_high) if end is not None), default=None)
    return NonInferiority(
        n,
        pairs.left_out,
        margin,
        alpha,
        mean,
        p,
        t_low,
        t_high,
        noise_low,
        noise_high,
        low,
        high,
        _outcome(low, high, margin),
        "; ".join(reason for reason in reasons if reason) or None,
    )


def _outcome(low: float | None, high: float | None, margin: float) -> Outcome | None:
    if low is None or high is None:
        return None
    if low > -margin:
        return "non-inferior"
    return "inferior" if high < -margin else "inconclusive"
