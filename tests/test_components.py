"""Variance components on simulated cohorts, and what a comparison can see."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from pytest_sciagent.statistics.components import Drawn, smallest_difference, tasks_needed, variance_components


def cohort(seed: int, shape: tuple[int, int, int], sds: tuple[float, float, float]) -> Drawn:
    """Scores of tasks, runs and draws with these standard deviations."""
    rng = np.random.default_rng(seed)
    tasks, runs, _ = shape
    scores = 50 + rng.normal(0, sds[0], (tasks, 1, 1)) + rng.normal(0, sds[1], (tasks, runs, 1))
    scores = scores + rng.normal(0, sds[2], shape)
    return {f"t{n:03}": scores[n].tolist() for n in range(tasks)}


@pytest.mark.parametrize(
    ("shape", "sds"),
    [((20, 3, 3), (6.0, 3.0, 2.0)), ((8, 2, 2), (5.0, 5.0, 5.0)), ((40, 3, 2), (4.0, 1.0, 6.0))],
    ids=["usual", "small", "noisy-judge"],
)
def test_true_variances_lie_in_their_intervals_in_930_of_1000_cohorts(
    shape: tuple[int, int, int], sds: tuple[float, float, float]
) -> None:
    held = dict.fromkeys(("task", "run", "judge"), 0)
    means = dict.fromkeys(held, 0.0)
    for seed in range(1000):
        found = variance_components(cohort(seed, shape, sds))
        for name, sd in zip(held, sds, strict=True):
            part = getattr(found, name)
            held[name] += part.low <= sd**2 <= part.high
            means[name] += part.value / 1000
    assert min(held.values()) >= 930, held
    assert max(held.values()) <= 985, held  # nor are they wide for nothing
    for name, sd in zip(held, sds, strict=True):
        if sd > 1:  # an estimate is never below 0, which lifts the mean of those near it
            assert means[name] == pytest.approx(sd**2, rel=0.2)


def test_mean_squares_are_those_of_the_textbook_table() -> None:
    scores = cohort(1, (6, 3, 4), (5, 3, 2))
    rows = [(t, r, s) for t, runs in scores.items() for r, run in enumerate(runs) for s in run]
    table = pd.DataFrame(rows, columns=["task", "run", "score"])
    within = table.groupby(["task", "run"])["score"].var().mean()
    runs = table.groupby(["task", "run"])["score"].mean().groupby("task").var().mean()
    tasks = table.groupby("task")["score"].mean().var()
    found = variance_components(scores)
    assert found.judge is not None
    assert found.run is not None
    assert found.task is not None
    assert found.judge.value == pytest.approx(within)
    assert found.run.value == pytest.approx(runs - within / 4)
    assert found.task.value == pytest.approx(tasks - runs / 3)
    df = 6 * 3 * 3
    assert found.judge.low == pytest.approx(df * within / stats.chi2.ppf(0.975, df))


def test_what_was_not_repeated_is_told() -> None:
    once = variance_components({t: [r[:1] for r in runs] for t, runs in cohort(2, (5, 2, 2), (3, 2, 1)).items()})
    assert (once.judge, once.run is None, once.task is None) == (None, False, False)
    assert once.reason == "one draw: the judge's noise is in the variance of runs"
    single = variance_components({t: runs[:1] for t, runs in cohort(2, (5, 2, 2), (3, 2, 1)).items()})
    assert single.run is None
    assert single.reason == "one run of each task: the noise of a run is in the variance of tasks"
    uneven = {**cohort(2, (5, 2, 2), (3, 2, 1)), "t000": [[1.0, 2.0], [3.0, 4.0, 5.0]]}
    assert variance_components(uneven).reason == "1 scores are left out: not every task has as many"
    assert variance_components({"a": [[1.0]]}).task is None
    assert variance_components({}).reason is not None


@pytest.mark.parametrize("tasks", [3, 10, 40])
@pytest.mark.parametrize("power", [0.8, 0.9])
def test_the_smallest_difference_is_found_with_the_power_it_says(tasks: int, power: float) -> None:
    sd = 5.0
    found = smallest_difference(sd / tasks**0.5, tasks - 1, power=power)
    oracle = TTestPower().solve_power(nobs=tasks, alpha=0.05, power=power, alternative="larger") * sd
    assert found == pytest.approx(oracle, rel=1e-4)
    drawn = np.random.default_rng(tasks).normal(found, sd, (4000, tasks))
    p = stats.ttest_1samp(drawn, 0, axis=1, alternative="greater").pvalue
    assert np.mean(p < 0.05) == pytest.approx(power, abs=0.025)


def test_the_tasks_needed_are_just_enough() -> None:
    needed = tasks_needed(5, 4)
    assert needed is not None
    assert smallest_difference(5 / needed**0.5, needed - 1) <= 4
    assert smallest_difference(5 / (needed - 1) ** 0.5, needed - 2) > 4
    assert tasks_needed(0, 4) == 2
    assert tasks_needed(5, 1e-6) is None
    with pytest.raises(ValueError, match="above 0"):
        tasks_needed(5, 0)
    with pytest.raises(ValueError, match="degrees of freedom"):
        smallest_difference(1, 0)
