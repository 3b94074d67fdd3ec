"""All comparisons of the systems of a cohort, each made at the low and at the high ends of the scores.

Where something is not assessed, the two ends differ. A conclusion is drawn only where every end leads to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import SciagentError
from ..scoring import LAYERS, criteria_of
from ..statistics import (
    Bounds,
    OrderComparison,
    PairComparison,
    ScoredRun,
    WeightSensitivity,
    YieldAnalysis,
    bootstrap_interval,
    certain_leader,
    compare_orders,
    compare_pairs,
    difficulty,
    holm,
    leave_out,
    rank_ranges,
    repeat_variance,
    score_range,
    shared_tasks,
    system_means,
    t_interval,
    task_leads,
    weight_sensitivity,
    yield_analysis,
)
from ..statistics.base import mean_of
from .cohort import Row, as_rows
from .comparison_results import (
    Comparison,
    End,
    Ends,
    OrderCheck,
    PairEnd,
    PairSummary,
    ScoreComparison,
    SystemSummary,
    Usage,
)
from .validity import told_once

if TYPE_CHECKING:
    import pandas as pd

    from ..models import Criterion, Rubric

T = TypeVar("T")
ALPHA = 0.05
MARGIN = 4.0

PAIR_ENDS: Mapping[PairEnd, tuple[End, End]] = {
    "low": ("low", "low"),
    "high": ("high", "high"),
    "against": ("low", "high"),
    "for": ("high", "low"),
}
"""Which ends of the first and the second system meet; the crossed ones count all that is open against or for one."""
Points = dict[str, dict[str, float]]
"""Points by system and task, repeats averaged."""


def check_comparable(table: pd.DataFrame) -> None:
    """Whether there is anything to compare.

    Raises:
        SciagentError: no run has a score, or no two of several systems share a task.
    """
    scores = _points(as_rows(table), "score_low")
    if not scores:
        raise SciagentError("no run of the cohort has a score")
    if len(scores) > 1 and not any(set(scores[a]) & set(scores[b]) for a, b in combinations(scores, 2)):
        told = "; ".join(f"{system} has {', '.join(sorted(tasks))}" for system, tasks in sorted(scores.items())[:5])
        raise SciagentError(f"no two systems share a task, so there is nothing to compare: {told}")


def compare(
    table: pd.DataFrame,
    rubric: Rubric,
    *,
    margin: float = MARGIN,
    seed: int = 0,
    others: Mapping[str, pd.DataFrame] = {},
) -> Comparison:
    """Compare the systems of a cohort table whose runs `rubric` scored.

    margin: points within which two systems count as equivalent. seed: of the bootstrap and of the drawn weights.
    others: tables of the same runs by the verdicts of other judges, by the judge's name.

    Raises:
        ValueError: a margin that is not above 0.
    """
    rows = as_rows(table)
    scores = _scores(rows)
    has_terms = any(row["main_body_low"] is not None for row in rows)
    is_open = any(
        row[name] != row[f"{name.removesuffix('_low')}_high"] for row in rows for name in row if name.endswith("_low")
    )
    each = _ends if is_open else _once
    domains = {row["task"]: row["domain"] for row in rows if row["domain"] is not None}
    share = "body" if has_terms else "dim"
    items = {c.id: _rates(rows, f"item.{c.id}", "findings" if c.scope == "finding" else None) for c in rubric.criteria}
    by_score = compare_scores(rows, margin=margin, seed=seed)
    return Comparison(
        **{field.name: getattr(by_score, field.name) for field in fields(by_score)} | {"is_open": is_open},
        difficulty=each(lambda end: difficulty(scores.at(end))),
        main_body=_order_check(scores, _scores(rows, "main_body")) if has_terms else None,
        feasible=_order_check(scores, _scores(rows, "feasible")),
        infeasible={row["task"]: row["infeasible"] for row in rows if row["infeasible"] is not None},
        judges={name: _order_check(scores, _scores(as_rows(other))) for name, other in others.items()},
        believed=tuple(told_once([row["validity"] for part in (table, *others.values()) for row in as_rows(part)])),
        weights=each(lambda end: _weights(rows, rubric, scores.at(end), end, share, seed)),
        domains=each(lambda end: leave_out(scores.at(end), domains)),
        yields=each(lambda end: _yields(rows, end)) if has_terms else None,
        dimensions={d.id: _rates(rows, f"dim.{d.id}", "findings") for d in rubric.dimensions},
        layers={LAYERS[layer]: _weighted(criteria_of(layer, rubric.criteria), items) for layer in LAYERS},
        items=items,
        usage=_usage(rows),
    )


def compare_scores(rows: Sequence[Row], *, margin: float = MARGIN, seed: int = 0) -> ScoreComparison:
    """Compare systems by their scores alone: a row needs no more than system, task and both ends of the score."""
    scores = _scores(rows)
    shared = shared_tasks(scores.low)
    means = _bounds(scores, shared)
    return ScoreComparison(
        margin=margin,
        seed=seed,
        is_open=any(row["score_low"] != row["score_high"] for row in rows),
        tasks=tuple(sorted({task for mine in scores.low.values() for task in mine})),
        shared=shared,
        systems=_systems(rows, scores, means, seed),
        means=means,
        leader=certain_leader(means),
        pairs=_pairs(scores, margin),
    )


def _ends(make: Callable[[End], T]) -> Ends[T]:
    return Ends(make("low"), make("high"))


def _once(make: Callable[[End], T]) -> Ends[T]:
    """Where all ends are the same."""
    made = make("low")
    return Ends(made, made)


def _repeats(rows: Iterable[Row], column: str) -> dict[str, dict[str, list[float]]]:
    """The values of `column` in scored rows, by system and task."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row["score_low"] is not None and row[column] is not None:
            found.setdefault(row["system"], {}).setdefault(row["task"], []).append(row[column])
    return found


def _points(rows: Iterable[Row], column: str) -> Points:
    return {
        system: {task: mean_of(values) for task, values in tasks.items()}
        for system, tasks in _repeats(rows, column).items()
    }


def _scores(rows: Sequence[Row], column: str = "score") -> Ends[Points]:
    return _ends(lambda end: _points(rows, f"{column}_{end}"))


def _bounds(points: Ends[Points], tasks: Iterable[str]) -> dict[str, Bounds]:
    """Each system's mean over `tasks` at both ends; nothing where there is no task."""
    chosen = list(tasks)
    if not chosen:
        return {}
    low, high = ({s: mean_of(mine[task] for task in chosen) for s, mine in end.items()} for end in points.both)
    return {system: (low[system], high[system]) for system in sorted(low)}


def _systems(
    rows: Sequence[Row], scores: Ends[Points], means: Mapping[str, Bounds], seed: int
) -> dict[str, SystemSummary]:
    repeats = _ends(lambda end: _repeats(rows, f"score_{end}"))
    leads = _ends(lambda end: task_leads(scores.at(end)).leads)
    sure = [
        certain_leader({system: (scores.low[system][task], scores.high[system][task]) for system in scores.low})
        for task in shared_tasks(scores.low)
    ]
    places = rank_ranges(means)

    def summary(system: str) -> SystemSummary:
        mine = Ends(scores.low[system], scores.high[system])
        return SystemSummary(
            tasks=len(mine.low),
            t=_ends(lambda end: t_interval(mine.at(end))),
            bootstrap=_ends(lambda end: bootstrap_interval(mine.at(end), seed=seed)),
            range=_ends(lambda end: score_range(mine.at(end))),
            led=_ends(lambda end: leads.at(end).get(system) if means else None),
            led_for_sure=sure.count(system),
            places=places.get(system),
            repeats=_ends(lambda end: repeat_variance(repeats.at(end)[system])),
        )

    return {system: summary(system) for system in sorted(scores.low)}


def _pairs(scores: Ends[Points], margin: float) -> tuple[PairSummary, ...]:
    names = list(combinations(sorted(scores.low), 2))
    found: dict[tuple[str, str], dict[PairEnd, PairComparison]] = {pair: {} for pair in names}
    for name, (first, second) in PAIR_ENDS.items():
        tests = {
            (a, b): compare_pairs({a: scores.at(first)[a], b: scores.at(second)[b]}, margin=margin, alpha=ALPHA).pairs[
                0
            ]
            for a, b in names
        }
        corrected = holm({pair: test.wilcoxon.p for pair, test in tests.items()}, ALPHA)
        for pair, test in tests.items():
            found[pair][name] = replace(test, holm_p=corrected.adjusted[pair], significant=corrected.significant[pair])
    return tuple(PairSummary(a, b, found[a, b]) for a, b in names)


def _order_check(before: Ends[Points], after: Ends[Points]) -> OrderCheck:
    """Both orders over the tasks that every system has under both ways to score."""
    tasks = set(shared_tasks(before.low)) & set(shared_tasks(after.low))
    if set(before.low) != set(after.low):
        tasks = set()
    one, two = _bounds(before, sorted(tasks)), _bounds(after, sorted(tasks))

    def orders(end: int) -> OrderComparison:
        return compare_orders({s: b[end] for s, b in one.items()}, {s: b[end] for s, b in two.items()})

    return OrderCheck(one, two, Ends(orders(0), orders(1)))


def _weights(rows: Sequence[Row], rubric: Rubric, scores: Points, end: End, share: str, seed: int) -> WeightSensitivity:
    """Systems scored over shared tasks under drawn weights of the dimensions.

    What dimensions add to the score is linear in the weights (in the main body: of the two best findings as published);
    everything else of the mean score stays as it is, so that the published weights give the published scores.
    """
    points: dict[str, float] = {}
    for criterion in rubric.criteria:
        if criterion.scope == "finding" and criterion.weight > 0:
            points[criterion.dimension] = points.get(criterion.dimension, 0.0) + criterion.weight
    means = system_means(scores)
    tasks = shared_tasks(scores)
    total = sum(points.values())
    rates = {system: dict.fromkeys(points, 0.0) for system in means}
    for dimension in points:
        filled = [{**row, "rate": row[f"{share}.{dimension}_{end}"] or 0.0} for row in rows]
        for system, mine in _points(filled, "rate").items():
            if system in rates:
                rates[system][dimension] = mean_of(mine[task] for task in tasks)
    fixed = {s: means[s] - sum(100 * points[d] / total * rate for d, rate in rates[s].items()) for s in means}
    return weight_sensitivity(rates, points or {"none": 1.0}, fixed=fixed, seed=seed)


def _yields(rows: Iterable[Row], end: End) -> YieldAnalysis:
    runs: dict[str, list[ScoredRun]] = {}
    for row in rows:
        if row[f"score_{end}"] is not None:
            qualities = tuple(map(float, json.loads(row[f"qualities_{end}"])))
            run = ScoredRun(row["task"], row[f"score_{end}"], row[f"without_yield_{end}"], qualities)
            runs.setdefault(row["system"], []).append(run)
    return yield_analysis(runs)


def _rates(rows: Iterable[Row], column: str, weight: str | None) -> dict[str, Bounds]:
    """The mean of a share over all findings of a system, or over its runs where there is no `weight` column."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        if row[f"{column}_low"] is not None:
            count = float(row[weight]) if weight is not None else 1.0
            found.setdefault(row["system"], []).append((count, row[f"{column}_low"], row[f"{column}_high"]))
    return {
        system: (
            sum(count * low for count, low, _ in parts) / sum(count for count, _, _ in parts),
            sum(count * high for count, _, high in parts) / sum(count for count, _, _ in parts),
        )
        for system, parts in sorted(found.items())
    }


def _weighted(criteria: Sequence[Criterion], items: Mapping[str, Mapping[str, Bounds]]) -> dict[str, Bounds]:
    """The share of the points of these criteria, from the mean levels of each, by system."""
    total = sum(c.weight for c in criteria)
    systems = sorted({system for c in criteria for system in items[c.id]})
    return {
        system: (
            sum(c.weight * items[c.id][system][0] for c in criteria) / total,
            sum(c.weight * items[c.id][system][1] for c in criteria) / total,
        )
        for system in systems
        if all(system in items[c.id] for c in criteria)
    }


def _usage(rows: Iterable[Row]) -> dict[str, Usage]:
    mine: dict[str, list[Row]] = {}
    for row in rows:
        if row["system"] is not None and row["state"] != "missing":
            mine.setdefault(row["system"], []).append(row)

    def known(runs: list[Row], *columns: str) -> list[Any]:
        return [sum(row[c] or 0 for c in columns) for row in runs if any(row[c] is not None for c in columns)]

    found = {}
    for system, runs in sorted(mine.items()):
        cost, tokens = known(runs, "cost_usd"), known(runs, "input_tokens", "output_tokens")
        seconds = known(runs, "seconds")
        found[system] = Usage(len(runs), len(cost), sum(cost), len(tokens), sum(tokens), len(seconds), sum(seconds))
    return found
