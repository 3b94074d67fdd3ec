"""Measures of agreement, against their oracles."""

from __future__ import annotations

import warnings
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score, f1_score

from pytest_sciagent.statistics.agreement import Estimate, krippendorff_alpha, prevalence, rater_agreement

LEVELS = st.sampled_from([0.0, 0.5, 1.0])
PAIRS = st.lists(st.tuples(st.integers(0, 9), LEVELS, LEVELS), min_size=3, max_size=60)
UNITS = st.lists(st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0, 9.0]), min_size=1, max_size=4), min_size=2, max_size=30)


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


def _same(found: Estimate, oracle: float) -> None:
    assert (found.value is None) if np.isnan(oracle) else (found.value == near(oracle))


@given(PAIRS)
@settings(max_examples=60, deadline=None)
def test_every_measure_agrees_with_its_oracle(pairs: list[tuple[int, float, float]]) -> None:
    _, x, y = map(np.array, zip(*pairs, strict=True))
    found = rater_agreement(pairs, bootstraps=20)
    assert found.exact.value == near(float(np.mean(x == y)))
    assert found.bias.value == near(float(np.mean(y - x)))
    assert found.mae == near(float(np.mean(np.abs(y - x))))
    assert sum(map(sum, found.confusion)) == found.n == len(pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _same(found.kappa, cohen_kappa_score(2 * x, 2 * y, weights="quadratic", labels=[0, 1, 2]))
        for mine, oracle in (
            (found.pearson, stats.pearsonr),
            (found.spearman, stats.spearmanr),
            (found.kendall, stats.kendalltau),
        ):
            _same(mine, float(oracle(x, y).statistic))
    given_levels = sorted(set(2 * x))
    if len(given_levels) >= 2:
        assert found.macro_f1 == near(f1_score(2 * x, 2 * y, labels=given_levels, average="macro", zero_division=0))
    else:
        assert found.macro_f1 is None


@given(UNITS)
@settings(max_examples=60, deadline=None)
def test_ordinal_alpha_is_that_of_the_krippendorff_package(units: list[list[float]]) -> None:
    found = krippendorff_alpha(enumerate(units), bootstraps=0)
    values = {score for scores in units if len(scores) > 1 for score in scores}
    if len(values) < 2:
        assert found.value is None
        return
    data = np.full((4, len(units)), np.nan)
    for n, scores in enumerate(units):
        data[: len(scores), n] = scores
    alone = [n for n, scores in enumerate(units) if len(scores) == 1]
    oracle = krippendorff.alpha(np.delete(data, alone, axis=1), level_of_measurement="ordinal")
    assert found.value == near(oracle)


def test_intervals_are_drawn_over_runs_not_over_pairs() -> None:
    rng = np.random.default_rng(3)
    pairs = []
    for run in range(12):  # within a run the second rater is right always or never
        right = rng.random() < 0.6
        pairs += [(run, level, level if right else 1 - level) for level in rng.integers(0, 2, 40).astype(float)]
    exact = rater_agreement(pairs).exact
    assert exact.value is not None
    assert exact.low is not None
    assert exact.high is not None
    as_if_free = 1.96 * (exact.value * (1 - exact.value) / len(pairs)) ** 0.5
    assert exact.high - exact.low > 4 * 2 * as_if_free


def test_the_interval_of_kappa_holds_the_true_value_about_as_often_as_it_says() -> None:
    noise = 0.3  # the second rater repeats the first but for this share, which is drawn at random: kappa 0.7
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        first = rng.integers(0, 3, (40, 6)) / 2
        second = np.where(rng.random(first.shape) < noise, rng.integers(0, 3, first.shape) / 2, first)
        pairs = [(run, float(a), float(b)) for run in range(40) for a, b in zip(first[run], second[run], strict=True)]
        kappa = rater_agreement(pairs, bootstraps=400, seed=seed).kappa
        assert kappa.low is not None
        assert kappa.high is not None
        held += kappa.low <= 1 - noise <= kappa.high
    assert 87 <= held <= 100


def test_too_few_runs_give_no_interval_and_nothing_gives_nothing() -> None:
    few = rater_agreement([(run, 0.0, float(run % 2)) for run in range(4)])
    assert few.exact == Estimate(0.5)
    assert few.reason == "4 runs: too few for intervals"
    assert few.kappa.value == near(0.0)
    assert few.pearson.value is None
    none = rater_agreement([])
    assert (none.n, none.kappa, none.reason) == (0, Estimate(None), "there is no pair of scores")
    assert krippendorff_alpha([]) == Estimate(None)
    with pytest.raises(ValueError, match="confidence"):
        rater_agreement([(1, 0.0, 0.0)], confidence=1.5)


def test_prevalence_is_the_share_of_each_score() -> None:
    assert prevalence([1, 0.5, 1, 0]) == {0: 0.25, 0.5: 0.25, 1: 0.5}
