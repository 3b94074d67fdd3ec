"""The tables of an experiment, from scores that are made up: each number against its own calculation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pytest_sciagent.models.results import Ends
from pytest_sciagent.models.revision import Arm
from pytest_sciagent.revision.arms import Spent, Trajectory
from pytest_sciagent.revision.experiment import Scored
from pytest_sciagent.revision.tables import tables
from pytest_sciagent.runs import Run

EXAMPLE = Path(__file__).parent.parent / "examples" / "experiment"
TASKS = 7


@cache
def runs() -> tuple[Run, ...]:
    """Three runs to stand for what is before, between and after turns; only their labels are looked at."""
    recorded = EXAMPLE / "results/program/life_bill_shape/runs"
    places = [EXAMPLE / "runs/program/life_bill_shape", recorded / "refine-1", recorded / "refine-2"]
    return tuple(Run.load(place) for place in places)


def scored(
    arm: Arm,
    task: int,
    scores: Sequence[float | tuple[float, float]],
    *,
    repeat: int = 1,
    tokens: int | None = 100,
    dollars: float | None = None,
    recovered: int | None = 1,
    note: str | None = None,
) -> Scored:
    ends = [Ends(low=s[0], high=s[1]) if isinstance(s, tuple) else Ends(low=s, high=s) for s in scores]
    trajectory = Trajectory(arm, runs()[: len(ends)], Spent(len(ends) - 1, tokens, dollars), None, note)
    domain = "earth" if task < 3 else "life"
    return Scored("agent", f"task_{task}", repeat, domain, trajectory, tuple(ends), recovered, BELIEVED)


BELIEVED = "judge handoff:x, not calibrated against people: sciagent calibrate"


def rows(found: Sequence[Scored], title: str) -> list[list[str]]:
    """The rows of one table, in cells; a row of an arm's further turn begins with the turn."""
    lines = list(tables(found))
    begin = next(n for n, line in enumerate(lines) if line.startswith(title)) + 2
    end = next((n for n in range(begin, len(lines)) if not lines[n].startswith(" ")), len(lines))
    return [line.split() for line in lines[begin:end]]


def row(found: Sequence[Scored], title: str, *name: str) -> list[str]:
    return next(cells for cells in rows(found, title) if cells[: len(name)] == list(name))


def shown(values: Sequence[float]) -> list[str]:
    """The mean and the t interval, as the tables show them."""
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    return [f"{np.mean(values):.1f}", f"[{low:.1f},", f"{high:.1f}]"]


@pytest.fixture
def gains() -> np.ndarray:
    """Gains by task and repeat (points)."""
    return np.random.default_rng(3).normal(4, 5, (TASKS, 2)).round(2)


def test_gain_of_an_arm_is_paired_by_task_after_repeats_are_averaged(gains: np.ndarray) -> None:
    found = [
        scored("self-refine", task, [20 + 5 * task, 20 + 5 * task + gains[task, repeat]], repeat=repeat + 1)
        for task in range(TASKS)
        for repeat in (0, 1)
    ]
    means = gains.mean(axis=1)
    cells = row(found, "ARMS", "self-refine")
    assert cells[1] == str(TASKS)
    assert cells[3:6] == shown(means)  # the spread of round 0 over tasks (5 points each) is not in it
    assert cells[6:8] == [str((means > 0).sum()), str((means < 0).sum())]
    assert "no interval" not in "\n".join(tables(found))


def test_open_scores_show_both_ends_and_widen_the_interval() -> None:
    gains = [1.0, 5.0, 2.0, 8.0, 3.0]
    closed = [scored("rubric", n, [50.0, 50 + gain]) for n, gain in enumerate(gains)]
    opened = [scored("rubric", n, [50.0, (49 + gain, 51 + gain)]) for n, gain in enumerate(gains)]
    assert row(closed, "ARMS", "rubric")[3] == "3.8"
    cells = row(opened, "ARMS", "rubric")
    assert cells[3] == "2.8..4.8"
    narrow = [float(cell.strip("[],")) for cell in row(closed, "ARMS", "rubric")[4:6]]
    wide = [float(cell.strip("[],")) for cell in cells[4:6]]
    assert wide[0] < narrow[0] - 1
    assert wide[1] > narrow[1] + 1


@pytest.mark.parametrize("tasks", [1, 4])
def test_few_tasks_give_no_interval_and_say_so(tasks: int) -> None:
    found = [scored(arm, n, [50.0, 51.0 + n]) for n in range(tasks) for arm in ("rubric", "self-refine")]
    text = "\n".join(tables(found))
    assert f"no interval for rubric, self-refine: {tasks} task{'s' if tasks > 1 else ''}: too few" in text
    assert "[" not in text


def test_domains_are_told_with_how_many_went_up() -> None:
    found = [scored("rubric", n, [50.0, 50 + gain]) for n, gain in enumerate([1, 2, 6, -1, -3, 0, 0])]
    assert row(found, "GAIN by domain", "rubric") == ["rubric", "3.0", "-1.0", "1", "of", "2"]
    assert row(found, "GAIN by domain", "tasks") == ["tasks", "3", "4"]


def test_turns_count_only_the_tasks_that_remain() -> None:
    found = [scored("self-refine", n, [50.0, 52.0]) for n in range(3)]
    found += [scored("self-refine", n, [50.0, 51.0, 57.0]) for n in range(3, 6)]
    first, second = rows(found, "GAIN of each turn")
    assert first == ["self-refine", "1", "6", "1.5", *shown([2, 2, 2, 1, 1, 1])[1:]]
    assert second == ["2", "3", "6.0", "-"]


def test_costs_are_for_each_criterion_that_was_recovered() -> None:
    found = [scored("rubric", n, [50.0, 51.0], tokens=1500, dollars=0.3, recovered=n) for n in range(3)]
    assert row(found, "COST", "rubric") == ["rubric", "3", "4,500", "1,500", "0.90", "0.30"]
    unknown = [*found, scored("rubric", 3, [50.0, 51.0], tokens=None, dollars=None)]
    assert row(unknown, "COST", "rubric") == ["rubric", "4", "-", "-", "-", "-"]
    nothing = [scored("rubric", 0, [50.0, 51.0], recovered=0)]
    assert row(nothing, "COST", "rubric") == ["rubric", "0", "100", "-", "-", "-"]


def test_equal_compute_is_paired_and_tells_what_was_spent(gains: np.ndarray) -> None:
    found = [scored("rubric+revise", n, [50.0, 60.0], tokens=100) for n in range(TASKS)]
    found += [scored("compute-matched", n, [50.0, 52.0, 60 - gains[n, 0]], tokens=150) for n in range(TASKS - 1)]
    found += [scored("compute-matched", TASKS - 1, [50.0, 90.0], note="some reason")]
    text = "\n".join(tables(found))
    mean, low, high = shown(gains[:-1, 0])
    assert f"{mean} points on {TASKS - 1} tasks, 95 % t {low} {high}" in text
    assert "compute-matched spent 900 tokens, 150 % of the 600 of rubric+revise" in text
    assert f"left out: compute-matched on task_{TASKS - 1}: some reason" in text


def test_one_arm_over_another_is_paired_on_the_tasks_that_both_have(gains: np.ndarray) -> None:
    found = [scored("rubric+revise", n, [50.0, 60.0]) for n in range(TASKS)]
    found += [scored("self-refine", n, [50.0, 52.0, 60 - gains[n, 0]]) for n in range(TASKS - 1)]
    over = row(found, "GAIN of one arm over another", "rubric+revise", "over", "self-refine")
    assert over[3:] == [str(TASKS - 1), *shown(gains[:-1, 0])]
