"""What a comparison of systems holds: every statistic at the low and at the high ends of the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Literal, TypeVar

from ..statistics import (
    Bounds,
    Difficulty,
    LeaveOut,
    MeanInterval,
    OrderComparison,
    PairComparison,
    RepeatVariance,
    ScoreRange,
    WeightSensitivity,
    YieldAnalysis,
)

T = TypeVar("T")

End = Literal["low", "high"]
PairEnd = Literal["low", "high", "against", "for"]


@dataclass(frozen=True, slots=True)
class Ends(Generic[T]):
    """One statistic at the low and at the high ends of all scores."""

    low: T
    high: T

    @property
    def both(self) -> tuple[T, T]:
        return self.low, self.high

    def at(self, end: End) -> T:
        return self.low if end == "low" else self.high


@dataclass(frozen=True, slots=True)
class SystemSummary:
    """One system over all tasks that it has a score on. `led`: tasks it leads (ties shared) of those all have.

    led_for_sure: tasks it leads whatever is not assessed turns out to be. places: best and worst possible one.
    """

    tasks: int
    t: Ends[MeanInterval]
    bootstrap: Ends[MeanInterval]
    range: Ends[ScoreRange]
    led: Ends[Fraction | None]
    led_for_sure: int
    places: tuple[int, int] | None
    repeats: Ends[RepeatVariance]


@dataclass(frozen=True, slots=True)
class PairSummary:
    """Systems `a` and `b`: every test at four ends, Holm's correction made over the pairs at each."""

    a: str
    b: str
    ends: Mapping[PairEnd, PairComparison]

    @property
    def winner(self) -> str | None:
        """The system that scores higher with significance at every end."""
        signs = {_sign(end) if end.significant else 0 for end in self.ends.values()}
        return {1: self.a, -1: self.b}.get(signs.pop()) if len(signs) == 1 else None

    @property
    def equivalent(self) -> bool | None:
        """Whether the two are equivalent at every end; None where they are at some, or there is no test."""
        found = {end.equivalence.equivalent for end in self.ends.values()}
        return found.pop() if len(found) == 1 else None


def _sign(pair: PairComparison) -> int:
    """1 where mean and ranks speak for `a`, -1 where both speak for `b`, else 0."""
    mean, plus, minus = pair.difference.mean or 0.0, pair.wilcoxon.w_plus or 0.0, pair.wilcoxon.w_minus or 0.0
    return (mean > 0 and plus > minus) - (mean < 0 and plus < minus)


@dataclass(frozen=True, slots=True)
class OrderCheck:
    """Means over shared tasks, as bounds by system, under two ways to score; and the two orders at both ends."""

    before: Mapping[str, Bounds]
    after: Mapping[str, Bounds]
    ends: Ends[OrderComparison]


@dataclass(frozen=True, slots=True)
class Usage:
    """What the runs of a system cost: totals over those that tell, and how many do."""

    runs: int
    with_cost: int
    cost_usd: float
    with_tokens: int
    tokens: int
    with_time: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ScoreComparison:
    """Systems compared by their scores. `is_open`: some ends differ. `shared`: tasks on which every system has one.

    means: over shared tasks, as bounds. leader: the system that is first there whatever the open points turn out to be.
    """

    margin: float
    seed: int
    is_open: bool
    tasks: tuple[str, ...]
    shared: tuple[str, ...]
    systems: Mapping[str, SystemSummary]
    means: Mapping[str, Bounds]
    leader: str | None
    pairs: tuple[PairSummary, ...]


@dataclass(frozen=True, slots=True)
class Comparison(ScoreComparison):
    """Every comparison of a cohort.

    main_body, yields: None where the profile has no such terms. infeasible: what is left out, by task.
    judges: by other judges of the same runs, if any. believed: how far each judge may be believed, a sentence each.
    dimensions, layers, items: shares (0..1) over all findings of a system, by id and system.
    """

    difficulty: Ends[Difficulty]
    main_body: OrderCheck | None
    feasible: OrderCheck
    infeasible: Mapping[str, str]
    judges: Mapping[str, OrderCheck]
    believed: tuple[str, ...]
    weights: Ends[WeightSensitivity]
    domains: Ends[LeaveOut]
    yields: Ends[YieldAnalysis] | None
    dimensions: Mapping[str, Mapping[str, Bounds]]
    layers: Mapping[str, Mapping[str, Bounds]]
    items: Mapping[str, Mapping[str, Bounds]]
    usage: Mapping[str, Usage]
