"""The order of systems, and whether it holds when the scores are made differently or tasks are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from .base import DECIMALS, Cohort, cohort_refusal, mean_of, refusal, shared_tasks

Order = tuple[tuple[str, ...], ...]
"""Systems from best to worst; those with equal means share a place, by name."""


FEW = "fewer than two systems have a score on shared tasks: there is no order"


@dataclass(frozen=True, slots=True)
class OrderComparison:
    """Two orders of the same systems. `tau` is Kendall's tau-b; `same_order` takes ties for a part of the order."""

    before: Order
    after: Order
    tau: float | None
    same_order: bool | None
    same_leader: bool | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """The order over all shared tasks, and without each group; `holds`: share of groups that leave it as it is."""

    order: Order
    without: Mapping[str, OrderComparison]
    holds: Fraction | None
    reason: str | None = None


def system_means(cohort: Cohort) -> dict[str, float]:
    """Mean points of each system over the tasks that all of them share; empty where there is none.

    Raises:
        ValueError: for scores that are no points.
    """
    if cohort and (problem := cohort_refusal(cohort)):
        raise ValueError(problem)
    tasks = shared_tasks(cohort)
    return {system: mean_of(cohort[system][task] for task in tasks) for system in sorted(cohort)} if tasks else {}


def order_of(scores: Mapping[str, float]) -> Order:
    """Systems from the highest score to the lowest."""
    places: dict[float, list[str]] = {}
    for system in sorted(scores):
        places.setdefault(round(scores[system], DECIMALS), []).append(system)
    return tuple(tuple(places[score]) for score in sorted(places, reverse=True))


def compare_orders(before: Mapping[str, float], after: Mapping[str, float]) -> OrderComparison:
    """Compare how two sets of scores (points by system) order the same systems (Kendall 1945 for tau-b)."""
    if problem := refusal(before) or refusal(after):
        return OrderComparison((), (), None, None, None, problem)
    one, two = order_of(before), order_of(after)
    if set(before) != set(after):
        return OrderComparison(one, two, None, None, None, "the two do not score the same systems")
    if len(before) < 2:
        return OrderComparison(one, two, None, None, None, FEW)
    same, leader = one == two, one[0] == two[0]
    if len(one) == 1 or len(two) == 1:
        return OrderComparison(one, two, None, same, leader, "all systems are tied: tau is not defined")
    from scipy import stats

    systems = sorted(before)
    ranked = [[round(scores[system], DECIMALS) for system in systems] for scores in (before, after)]
    return OrderComparison(one, two, float(stats.kendalltau(*ranked).statistic), same, leader)


def leave_out(cohort: Cohort, group_of: Mapping[str, str] | None = None) -> LeaveOut:
    """The order of systems without each group of tasks in turn: domains by `group_of`, single tasks without it.

    A task that `group_of` does not name belongs to the group "(none)".
    """
    if problem := cohort_refusal(cohort):
        return LeaveOut((), {}, None, problem)
    tasks = shared_tasks(cohort)
    means = system_means(cohort)
    names = {task: task if group_of is None else group_of.get(task, "(none)") for task in tasks}
    without = {}
    for group in sorted(set(names.values())):
        kept = {task for task in tasks if names[task] != group}
        if kept:
            without[group] = compare_orders(means, system_means(_only(cohort, kept)))
    if len(means) < 2 or not without:
        return LeaveOut(order_of(means), without, None, FEW if len(means) < 2 else "there is one group of tasks only")
    return LeaveOut(order_of(means), without, Fraction(sum(bool(o.same_order) for o in without.values()), len(without)))


def _only(cohort: Cohort, tasks: set[str]) -> dict[str, dict[str, float]]:
    return {system: {task: scores[task] for task in tasks} for system, scores in cohort.items()}
