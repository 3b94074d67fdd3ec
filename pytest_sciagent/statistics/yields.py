"""Whether registering more findings pays: scores with and without the yield bonus, and quality by rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .base import mean_of, refusal
from .correlation import Correlation, correlate
from .ranking import OrderComparison, compare_orders, system_means


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """One run: its score, the score without the yield bonus (clamped anew), and each distinct finding's quality.

    All in points. `qualities` stand in the order in which the report registers the findings.
    """

    task: str
    score: float
    without_bonus: float
    qualities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RankQuality:
    """Mean quality (points) of the findings at one place, over the `runs` that have one there."""

    place: int
    runs: int
    mean: float


@dataclass(frozen=True, slots=True)
class SystemYield:
    """One system. Means are over tasks (repeats averaged first), correlations and qualities over runs.

    by_place: in the order the report registers findings; by_rank: best finding first.
    count_with_score rises with the bonus by construction; count_without_bonus tells whether more findings go with
    better ones.
    """

    runs: int
    score: float
    without_bonus: float
    gain: float
    findings: float
    by_place: tuple[RankQuality, ...]
    by_rank: tuple[RankQuality, ...]
    count_with_score: Correlation
    count_without_bonus: Correlation


@dataclass(frozen=True, slots=True)
class YieldAnalysis:
    """Every system by name, and whether the order of systems holds without the yield bonus (over shared tasks)."""

    systems: Mapping[str, SystemYield]
    order: OrderComparison
    reason: str | None = None


def yield_analysis(runs: Mapping[str, Sequence[ScoredRun]]) -> YieldAnalysis:
    """Compare each system's score with and without the yield bonus against the number of its distinct findings.

    Later places are reached by fewer runs, so a mean there is of other runs than the mean at place 1: `runs` tells.
    """
    problem = _refusal(runs)
    if problem:
        return YieldAnalysis({}, OrderComparison((), (), None, None, None, problem), problem)
    scores = {system: _by_task(mine, [run.score for run in mine]) for system, mine in runs.items()}
    without = {system: _by_task(mine, [run.without_bonus for run in mine]) for system, mine in runs.items()}
    systems = {}
    for system in sorted(runs):
        mine = runs[system]
        counts = [float(len(run.qualities)) for run in mine]
        score, bare = mean_of(scores[system].values()), mean_of(without[system].values())
        systems[system] = SystemYield(
            len(mine),
            score,
            bare,
            score - bare,
            mean_of(_by_task(mine, counts).values()),
            _by_position([run.qualities for run in mine]),
            _by_position([sorted(run.qualities, reverse=True) for run in mine]),
            correlate(counts, [run.score for run in mine]),
            correlate(counts, [run.without_bonus for run in mine]),
        )
    return YieldAnalysis(systems, compare_orders(system_means(scores), system_means(without)))


def _refusal(runs: Mapping[str, Sequence[ScoredRun]]) -> str | None:
    if not runs:
        return "no system"
    for system in sorted(runs):
        if not runs[system]:
            return f"{system} has no run"
        for run in runs[system]:
            points = {"the run": run.score, "the run without the bonus": run.without_bonus}
            points |= {f"finding {place}": quality for place, quality in enumerate(run.qualities, 1)}
            if problem := refusal(points):
                return f"{system}, {run.task}: {problem}"
    return None


def _by_task(runs: Sequence[ScoredRun], values: Sequence[float]) -> dict[str, float]:
    """Mean of the runs' values, by task."""
    tasks: dict[str, list[float]] = {}
    for run, value in zip(runs, values, strict=True):
        tasks.setdefault(run.task, []).append(value)
    return {task: mean_of(mine) for task, mine in tasks.items()}


def _by_position(qualities: Sequence[Sequence[float]]) -> tuple[RankQuality, ...]:
    found = []
    for place in range(max(map(len, qualities))):
        here = [run[place] for run in qualities if len(run) > place]
        found.append(RankQuality(place + 1, len(here), mean_of(here)))
    return tuple(found)
