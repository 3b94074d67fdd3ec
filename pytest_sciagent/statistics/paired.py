"""Two systems on the same tasks: differences, their tests, and all pairs of a cohort."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, Literal, TypeVar

from .base import Cohort, Scores, all_equal, cohort_refusal, mean_of, pair, share, t_quantile, variance_of

K = TypeVar("K", bound=Hashable)

EXACT_UP_TO = 200
"""Differences up to which the signed-rank distribution is counted out; beyond it is as good as normal."""
ONE_PAIR = "one shared task tells nothing about the spread of the differences"
EQUAL_DIFFERENCES = "all differences are equal: there is no t statistic, and the interval is a point"


@dataclass(frozen=True, slots=True)
class Wilcoxon:
    """Signed-rank test of `n` differences that are not 0 (`zeros` of them are): rank sums and two-sided p."""

    n: int
    zeros: int
    w_plus: float | None
    w_minus: float | None
    p: float | None
    method: Literal["exact", "normal"] | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """Mean of a - b over `n` shared tasks with its t interval (points), and the two-sided paired t-test."""

    n: int
    mean: float | None
    low: float | None
    high: float | None
    confidence: float
    t: float | None
    p: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests: whether the mean difference lies within plus or minus `margin` points.

    `low` and `high` bound it with confidence 1 - 2 alpha; `equivalent` is whether they lie inside the margin.
    """

    n: int
    margin: float
    alpha: float
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    equivalent: bool | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Holm(Generic[K]):
    """Adjusted p-values and what is significant at `alpha`, by key; None where there was no p-value."""

    alpha: float
    tests: int
    adjusted: Mapping[K, float | None]
    significant: Mapping[K, bool | None]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class PairComparison:
    """All that is known about systems `a` and `b`; differences are a - b. `holm_p` is corrected over all pairs."""

    a: str
    b: str
    left_out: tuple[str, ...]
    difference: MeanDifference
    wilcoxon: Wilcoxon
    holm_p: float | None
    significant: bool | None
    equivalence: Equivalence


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Every pair of systems, by name."""

    pairs: tuple[PairComparison, ...]
    holm: Holm[tuple[str, str]]
    reason: str | None = None


def wilcoxon(a: Scores, b: Scores) -> Wilcoxon:
    """Wilcoxon's signed-rank test of the paired differences, two-sided (Wilcoxon 1945).

    Zero differences are dropped, as Wilcoxon did (`zero_method="wilcox"` elsewhere). Equal sizes get their mean rank.
    Up to 200 differences p is exact with ties as well: the distribution over all sign patterns, given these ranks.
    Beyond that: normal approximation with the variance corrected for ties, without continuity correction. Where every
    difference is 0, p is 1.
    """
    pairs = pair(a, b)
    nonzero = [d for d in pairs.differences if d]
    zeros = len(pairs.differences) - len(nonzero)
    if pairs.reason:
        return Wilcoxon(0, 0, None, None, None, None, pairs.reason)
    if not nonzero:
        return Wilcoxon(0, zeros, 0.0, 0.0, 1.0, "exact", "every difference is 0")
    from scipy import stats

    ranks = [float(rank) for rank in stats.rankdata([abs(d) for d in nonzero])]
    w_plus = sum(rank for rank, d in zip(ranks, nonzero, strict=True) if d > 0)
    w_minus = sum(ranks) - w_plus
    if len(nonzero) <= EXACT_UP_TO:
        return Wilcoxon(len(nonzero), zeros, w_plus, w_minus, _exact_p(ranks, min(w_plus, w_minus)), "exact")
    spread = sum(rank**2 for rank in ranks) ** 0.5 / 2
    p = float(2 * stats.norm.sf(abs(w_plus - w_minus) / 2 / spread))
    return Wilcoxon(len(nonzero), zeros, w_plus, w_minus, p, "normal")


def _exact_p(ranks: list[float], smaller: float) -> float:
    """Twice the share of sign patterns whose positive ranks sum up to `smaller` at most; 1 at most.

    Ranks are multiples of a half, so doubled ones are whole; the distribution of their sum grows rank by rank.
    """
    import numpy as np

    doubled = [round(2 * rank) for rank in ranks]
    shares = np.zeros(sum(doubled) + 1)
    shares[0] = 1.0
    for rank in doubled:
        with_rank = np.zeros_like(shares)
        with_rank[rank:] = shares[: shares.size - rank]
        shares = (shares + with_rank) / 2
    return min(1.0, 2 * float(shares[: round(2 * smaller) + 1].sum()))


def mean_difference(a: Scores, b: Scores, confidence: float = 0.95) -> MeanDifference:
    """Mean of the paired differences, plus or minus t(n - 1) times s / sqrt(n); p of the paired t-test (Student 1908).

    Raises:
        ValueError: for a confidence outside 0..1.
    """
    share("confidence", confidence)
    pairs = pair(a, b)
    n = len(pairs.differences)
    if pairs.reason:
        return MeanDifference(0, None, None, None, confidence, None, None, pairs.reason)
    mean = mean_of(pairs.differences)
    if n == 1:
        return MeanDifference(1, mean, None, None, confidence, None, None, ONE_PAIR)
    if all_equal(pairs.differences):
        return MeanDifference(n, mean, mean, mean, confidence, None, None, EQUAL_DIFFERENCES)
    from scipy import stats

    error = (variance_of(pairs.differences) / n) ** 0.5
    half = t_quantile((1 + confidence) / 2, n - 1) * error
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    return MeanDifference(n, mean, mean - half, mean + half, confidence, mean / error, p)


def equivalence(a: Scores, b: Scores, margin: float = 4.0, alpha: float = 0.05) -> Equivalence:
    """Two one-sided paired t-tests of equivalence within plus or minus `margin` points (Schuirmann 1987).

    p is the larger of the two. Where all differences are equal there is no p, and the difference itself decides.

    Raises:
        ValueError: for a margin that is not above 0, or an alpha that is not between 0 and 0.5.
    """
    if not margin > 0:
        raise ValueError(f"the margin must be above 0 points, not {margin}")
    share("twice alpha", 2 * alpha)
    at = mean_difference(a, b, confidence=1 - 2 * alpha)
    if at.mean is None or at.low is None or at.high is None:
        return Equivalence(at.n, margin, alpha, at.mean, None, None, None, None, at.reason)
    inside = -margin < at.low and at.high < margin
    if at.t is None:
        return Equivalence(at.n, margin, alpha, at.mean, at.low, at.high, None, inside, at.reason)
    from scipy import stats

    error = (variance_of(pair(a, b).differences) / at.n) ** 0.5
    p = float(stats.t.sf((margin - abs(at.mean)) / error, at.n - 1))
    return Equivalence(at.n, margin, alpha, at.mean, at.low, at.high, p, inside)


def holm(p_values: Mapping[K, float | None], alpha: float = 0.05) -> Holm[K]:
    """Holm's step-down correction (Holm 1979): sorted p(i) times (m - i + 1), made rising, 1 at most.

    `m` counts the p-values there are; None and what is no p-value (NaN too) stays None and is told.

    Raises:
        ValueError: for an alpha outside 0..1.
    """
    share("alpha", alpha)
    known = {key: p for key, p in p_values.items() if p is not None and 0 <= p <= 1}
    adjusted: dict[K, float | None] = dict.fromkeys(p_values)
    least = 0.0
    for done, key in enumerate(sorted(known, key=lambda key: known[key])):
        least = max(least, min(1.0, known[key] * (len(known) - done)))
        adjusted[key] = least
    significant = {key: None if p is None else p <= alpha for key, p in adjusted.items()}
    missing = len(p_values) - len(known)
    reason = f"{missing} of {len(p_values)} tests have no p-value" if missing else None
    return Holm(alpha, len(known), adjusted, significant, reason or (None if p_values else "no test"))


def compare_pairs(cohort: Cohort, *, margin: float = 4.0, alpha: float = 0.05, confidence: float = 0.95) -> Comparisons:
    """Compare every pair of systems on the tasks they share; signed-rank p-values are corrected over all pairs (Holm).

    The equivalence tests are not corrected: each states for itself whether its pair is within the margin.

    Raises:
        ValueError: for a margin, alpha or confidence out of place.
    """
    if problem := cohort_refusal(cohort) or ("one system: there is no pair" if len(cohort) == 1 else None):
        return Comparisons((), holm({}, alpha), problem)
    tests = {(a, b): wilcoxon(cohort[a], cohort[b]) for a, b in combinations(sorted(cohort), 2)}
    corrected = holm({names: test.p for names, test in tests.items()}, alpha)
    pairs = tuple(
        PairComparison(
            a,
            b,
            pair(cohort[a], cohort[b]).left_out,
            mean_difference(cohort[a], cohort[b], confidence),
            test,
            corrected.adjusted[a, b],
            corrected.significant[a, b],
            equivalence(cohort[a], cohort[b], margin, alpha),
        )
        for (a, b), test in tests.items()
    )
    return Comparisons(pairs, corrected)
