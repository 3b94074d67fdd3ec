"""Statistics over cohorts: against their oracles, the published summary, and inputs that leave the question open."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW, ttost_paired

from pytest_sciagent.statistics import (
    DifferenceNoise,
    ScoredRun,
    bootstrap_interval,
    certain_leader,
    compare_intervals,
    compare_orders,
    compare_pairs,
    correlate,
    difference_noise,
    difficulty,
    equivalence,
    holm,
    leave_out,
    mean_difference,
    mean_gain,
    non_inferiority,
    order_of,
    pair,
    rank_ranges,
    repeat_variance,
    score_range,
    system_means,
    t_interval,
    task_leads,
    weight_sensitivity,
    wilcoxon,
    yield_analysis,
)

COHORTS = 200


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def scores_of(values: Any) -> dict[str, float]:
    return {f"t{n:03}": float(value) for n, value in enumerate(values)}


def random_scores(seed: int, systems: int = 2, *, tied: bool = False, tasks: int | None = None) -> np.ndarray:
    """Systems by tasks, within 0..100; `tied`: on a coarse grid, so that scores and differences repeat."""
    rng = np.random.default_rng(seed)
    n = tasks or int(rng.integers(3, 41))
    scores = np.clip(rng.normal(58, 6, n) + rng.normal(0, 3, (systems, n)), 0, 100)
    return np.round(scores / 2) * 2 if tied else scores


def cohort_of(table: np.ndarray) -> dict[str, dict[str, float]]:
    return {f"s{n}": scores_of(row) for n, row in enumerate(table)}


@pytest.fixture(autouse=True)
def _no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# --- one system ------------------------------------------------------------------------------------------------------


def test_t_interval_equals_statsmodels() -> None:
    for seed in range(COHORTS):
        (values,) = random_scores(seed, 1)
        ours = t_interval(scores_of(values), 0.9)
        oracle = DescrStatsW(values)
        assert (ours.n, ours.mean) == (len(values), near(oracle.mean))
        assert (ours.low, ours.high) == near(oracle.tconfint_mean(alpha=0.1))


def test_bootstrap_equals_scipys_percentile_interval() -> None:
    for seed in range(COHORTS):
        (values,) = random_scores(seed, 1)
        ours = bootstrap_interval(scores_of(values), draws=499, seed=seed)
        generator = np.random.default_rng(seed)
        oracle = stats.bootstrap((values,), np.mean, n_resamples=499, method="percentile", random_state=generator)
        assert (ours.low, ours.high) == near(oracle.confidence_interval)


def test_bootstrap_does_not_depend_on_the_order_of_tasks() -> None:
    scores = scores_of(random_scores(1, 1)[0])
    assert bootstrap_interval(scores) == bootstrap_interval(dict(reversed(scores.items())))
    assert bootstrap_interval(scores) != bootstrap_interval(scores, seed=1)


def test_range_names_its_tasks() -> None:
    found = score_range({"b": 44.3, "a": 44.3, "c": 72.9})
    assert (found.low, found.low_task, found.high, found.high_task) == (44.3, "a", 72.9, "c")


def test_tied_leaders_share_a_task_in_equal_parts() -> None:
    found = task_leads(
        {
            "a": {"t1": 60, "t2": 65.9 - 63.9, "t3": 50, "t4": 1},
            "b": {"t1": 50, "t2": 40.0 - 38.0, "t3": 50},
            "c": {"t1": 50, "t2": 1, "t3": 50, "t5": 1},
        }
    )
    assert found.leads == {"a": 1 + Fraction(1, 2) + Fraction(1, 3), "b": Fraction(5, 6), "c": Fraction(1, 3)}
    assert (found.tasks, sum(found.leads.values()), found.left_out) == (3, 3, ("t4", "t5"))


def test_leads_and_ranges_equal_those_of_pandas() -> None:
    for seed in range(COHORTS):
        table = random_scores(seed, 3, tied=seed % 2 == 0)
        frame = pd.DataFrame(cohort_of(table))
        best = frame.eq(frame.max(axis=1), axis=0)
        shared = best.div(best.sum(axis=1), axis=0).sum()
        found = task_leads(cohort_of(table))
        assert {system: float(n) for system, n in found.leads.items()} == near(shared.to_dict())
        for system, scores in cohort_of(table).items():
            spread = score_range(scores)
            assert (spread.low, spread.high) == near((frame[system].min(), frame[system].max()))
            assert (spread.low_task, spread.high_task) == (frame[system].idxmin(), frame[system].idxmax())


# --- two systems -----------------------------------------------------------------------------------------------------


def test_wilcoxon_without_ties_equals_scipys_exact_test() -> None:
    for seed in range(COHORTS):
        a, b = random_scores(seed)
        ours, oracle = wilcoxon(scores_of(a), scores_of(b)), stats.wilcoxon(a, b, method="exact")
        assert ours.p == near(oracle.pvalue)
        assert min(ours.w_plus or 0, ours.w_minus or 0) == near(oracle.statistic)
        assert ours.method == "exact"


def test_wilcoxon_with_ties_and_zeros_equals_scipys_full_permutation() -> None:
    every = stats.PermutationMethod(n_resamples=2**8)
    for seed in range(COHORTS):
        a, b = random_scores(seed, tied=True, tasks=3 + seed % 6)
        ours = wilcoxon(scores_of(a), scores_of(b))
        assert ours.zeros == int((a == b).sum())
        if ours.n:
            assert ours.p == near(stats.wilcoxon(a, b, zero_method="wilcox", method=every).pvalue)


def test_wilcoxon_counts_every_sign_pattern() -> None:
    for seed in range(20):
        a, b = random_scores(seed, tied=True, tasks=12)
        ours = wilcoxon(scores_of(a), scores_of(b))
        ranks = stats.rankdata(np.abs((a - b)[a != b]))
        sums = [
            sum(r for r, s in zip(ranks, signs, strict=True) if s)
            for signs in itertools.product([0, 1], repeat=len(ranks))
        ]
        share = sum(s <= min(ours.w_plus or 0, ours.w_minus or 0) for s in sums) / len(sums)
        assert ours.p == near(min(1.0, 2 * share))


def test_wilcoxon_of_many_tasks_equals_the_normal_approximation() -> None:
    for seed in range(20):
        a, b = random_scores(seed, tied=bool(seed % 2), tasks=300)
        ours = wilcoxon(scores_of(a), scores_of(b))
        if ours.method == "normal":
            oracle = stats.wilcoxon(a, b, correction=False)  # the normal approximation, for more than 50
            assert ours.p == near(oracle.pvalue)
    assert wilcoxon(scores_of(a), scores_of(b)).method == "normal"


def test_differences_that_are_equal_in_decimals_are_ties() -> None:
    """40 - 38 and 65.9 - 63.9 are two in decimals, and two different binary numbers."""
    assert pair({"t1": 40.0, "t2": 65.9}, {"t1": 38.0, "t2": 63.9}).differences == (2.0, 2.0)
    assert wilcoxon({"t1": 40.0, "t2": 63.9}, {"t1": 38.0, "t2": 65.9}).w_plus == 1.5


def test_mean_difference_equals_scipys_paired_t_test() -> None:
    for seed in range(COHORTS):
        a, b = random_scores(seed)
        ours, oracle = mean_difference(scores_of(a), scores_of(b)), stats.ttest_rel(a, b)
        assert (ours.t, ours.p) == near((oracle.statistic, oracle.pvalue))
        assert (ours.low, ours.high) == near(tuple(oracle.confidence_interval(0.95)))


def test_mean_gain_equals_scipys_interval_of_paired_differences() -> None:
    for seed in range(20):
        before, after = random_scores(seed, tasks=5 + seed)
        gains = {f"t{n}": (high - low, high - low) for n, (low, high) in enumerate(zip(before, after, strict=True))}
        found = mean_gain(gains)
        expected = stats.ttest_rel(after, before).confidence_interval(0.95)
        assert found.mean_low == found.mean_high == pytest.approx(np.mean(after - before))
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@given(st.lists(st.tuples(*[st.floats(-100, 100)] * 3), min_size=5, max_size=12))
def test_interval_of_open_gains_holds_for_every_value_they_can_have(gains: list[tuple[float, float, float]]) -> None:
    """Each gain is given by its ends only; the middle number is what it is in truth."""
    numbered = {f"t{n}": sorted(gain) for n, gain in enumerate(gains)}
    found = mean_gain({task: (low, high) for task, (low, _, high) in numbered.items()})
    truth = mean_gain({task: (real, real) for task, (_, real, _) in numbered.items()})
    assert found.mean_low is not None
    assert found.mean_high is not None
    assert truth.mean_low is not None
    assert found.mean_low - 1e-9 <= truth.mean_low <= found.mean_high + 1e-9
    if truth.low is not None and truth.high is not None:
        assert found.low is not None
        assert found.high is not None
        assert found.low - 1e-6 <= truth.low
        assert truth.high <= found.high + 1e-6


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ([], "no task"),
        ([(1.0, 1.0)], "1 task: too few"),
        ([(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (1.0, 1.0)], "4 tasks: too few"),
        ([(3.0, 3.0)] * 6, "all gains are equal"),
    ],
)
def test_gains_that_give_no_interval_say_why(gains: list[tuple[float, float]], words: str) -> None:
    found = mean_gain({f"t{n}": gain for n, gain in enumerate(gains)})
    assert (found.low, found.high) == (None, None)
    assert words in str(found.reason)
    assert found.mean_low == (np.mean([low for low, _ in gains]) if gains else None)


def test_equivalence_equals_statsmodels_tost() -> None:
    for seed in range(COHORTS):
        a, b = random_scores(seed)
        margin = 0.5 + seed % 5
        ours = equivalence(scores_of(a), scores_of(b), margin)
        p, _, _ = ttost_paired(a, b, -margin, margin)
        assert ours.p == near(p)
        assert ours.equivalent == (p < 0.05)


def test_holm_equals_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gc.collect", lambda: 0)  # the oracle collects garbage each time, which takes most of a minute
    for seed in range(COHORTS):
        rng = np.random.default_rng(seed)
        p_values = np.round(rng.uniform(0, 0.2, int(rng.integers(1, 12))), 2)
        ours = holm(dict(enumerate(p_values.tolist())))
        significant, adjusted, _, _ = multipletests(p_values, 0.05, method="holm")
        assert list(ours.adjusted.values()) == near(adjusted.tolist())
        assert list(ours.significant.values()) == significant.tolist()


def test_holm_leaves_tests_without_p_value_out_and_says_so() -> None:
    found = holm({"a": 0.02, "b": None, "c": float("nan"), "d": 0.03})
    assert found.adjusted == {"a": 0.04, "b": None, "c": None, "d": 0.04}
    assert found.significant == {"a": True, "b": None, "c": None, "d": True}
    assert (found.tests, found.reason) == (2, "2 of 4 tests have no p-value")


def test_all_pairs_are_corrected_together() -> None:
    cohort = cohort_of(random_scores(5, 4, tasks=40))
    found = compare_pairs(cohort)
    raw = [one.wilcoxon.p for one in found.pairs]
    assert [(one.a, one.b) for one in found.pairs] == list(itertools.combinations(["s0", "s1", "s2", "s3"], 2))
    assert [one.holm_p for one in found.pairs] == near(multipletests(raw, method="holm")[1].tolist())
    assert compare_pairs(dict(reversed(cohort.items()))) == found


# --- the published summary -------------------------------------------------------------------------------------------

PUBLISHED = {
    "Claude Code": (60.27, 58.36, 62.18, 44.3, 72.9),
    "OpenScience": (59.03, 57.08, 60.97, 36.2, 67.4),
    "Codex CLI": (58.81, 57.25, 60.36, 46.8, 70.8),
    "DeepSeek Harness": (58.40, 56.31, 60.49, 43.8, 72.2),
}


def synthetic(low: float, high: float, least: float, most: float) -> dict[str, float]:
    """Forty scores with the published range, whose mean and t interval are the published ones.

    The two ends are given; the other 38 lie at two values that make up the mean and the variance. A thousandth is added
    to the middle, for where the published ends were both rounded up.
    """
    mean = (low + high) / 2 + 0.001
    variance = ((high - low) / 2 / stats.t.ppf(0.975, 39)) ** 2 * 40
    middle = (40 * mean - least - most) / 38
    squares = 39 * variance - (least - mean) ** 2 - (most - mean) ** 2 - 38 * (middle - mean) ** 2
    away = math.sqrt(squares / 38)
    return scores_of([least, most, *[middle - away] * 19, *[middle + away] * 19])


@pytest.mark.parametrize("system", PUBLISHED)
def test_published_intervals_are_reproduced(system: str) -> None:
    mean, low, high, least, most = PUBLISHED[system]
    scores = synthetic(low, high, least, most)
    found = t_interval(scores)
    assert found.mean is not None
    assert found.low is not None
    assert found.high is not None
    assert [f"{value:.2f}" for value in (found.mean, found.low, found.high)] == [f"{v:.2f}" for v in (mean, low, high)]
    spread = score_range(scores)
    assert (spread.low, spread.high) == (least, most)


def test_nothing_is_significant_in_the_published_comparison() -> None:
    """Of six p-values the smallest is 0.118, the others are 0.14 or more."""
    found = holm({"closest": 0.118, **{f"other {n}": 0.14 for n in range(5)}})
    assert found.adjusted["closest"] == near(0.708)
    assert set(found.significant.values()) == {False}


def test_published_means_are_equivalent_within_four_points_at_a_published_spread() -> None:
    """Pairs made like the published ones: means 1.87 apart at most, and a spread as that of the systems themselves."""
    rng = np.random.default_rng(7)
    base = rng.normal(0, 5.5, 40)
    cohort = {}
    for system, (mean, *_) in PUBLISHED.items():
        values = base + rng.normal(0, 3, 40)
        cohort[system] = scores_of(values - values.mean() + mean)
    found = compare_pairs(cohort)
    assert [one.equivalence.equivalent for one in found.pairs] == [True] * 6
    assert order_of(system_means(cohort)) == tuple((system,) for system in PUBLISHED)


# --- difficulty, order, weights --------------------------------------------------------------------------------------


def test_difficulty_equals_scipys_correlations() -> None:
    for seed in range(COHORTS):
        table = random_scores(seed, 4)
        found = difficulty(cohort_of(table), "range" if seed % 2 else "sd")
        disagreement = np.ptp(table, axis=0) if seed % 2 else table.std(axis=0, ddof=1)
        pearson, spearman = (
            stats.pearsonr(table.mean(axis=0), disagreement),
            stats.spearmanr(table.mean(axis=0), disagreement),
        )
        ours = found.correlation
        assert (ours.pearson, ours.pearson_p) == near((pearson.statistic, pearson.pvalue))
        assert (ours.spearman, ours.spearman_p) == near((spearman.statistic, spearman.pvalue))
        assert "same scores" in found.warning


def test_orders_equal_kendalls_tau() -> None:
    for seed in range(COHORTS):
        one, two = random_scores(seed, tied=seed % 2 == 0, tasks=5)
        found = compare_orders(scores_of(one), scores_of(two))
        if found.tau is not None:
            assert found.tau == near(stats.kendalltau(one, two).statistic)
        assert found.same_order == (found.before == found.after)


def test_order_counts_ties_as_part_of_it() -> None:
    assert order_of({"b": 1, "a": 1, "c": 2}) == (("c",), ("a", "b"))
    found = compare_orders({"a": 2, "b": 1, "c": 0}, {"a": 2, "b": 1, "c": 1})
    assert (found.same_order, found.same_leader) == (False, True)
    reversed_ = compare_orders({"a": 2, "b": 1}, {"a": 1, "b": 2})
    assert (reversed_.tau, reversed_.same_order, reversed_.same_leader) == (-1.0, False, False)


def test_dropping_a_domain_shows_where_the_order_hangs_on_it() -> None:
    cohort = {
        "a": {"p1": 90.0, "p2": 90.0, "c1": 40.0, "m1": 50.0},
        "b": {"p1": 60.0, "p2": 60.0, "c1": 50.0, "m1": 52.0},
    }
    found = leave_out(cohort, {"p1": "physics", "p2": "physics", "c1": "chemistry"})
    assert {group: one.same_order for group, one in found.without.items()} == {
        "(none)": True,
        "chemistry": True,
        "physics": False,
    }
    assert found.holds == Fraction(2, 3)
    assert list(leave_out(cohort).without) == ["c1", "m1", "p1", "p2"]


def test_orders_without_a_domain_equal_those_of_pandas() -> None:
    for seed in range(COHORTS):
        table = random_scores(seed, 3, tied=seed % 2 == 0)
        frame = pd.DataFrame(cohort_of(table))
        domains = {task: f"d{n % 4}" for n, task in enumerate(frame.index)}
        found = leave_out(cohort_of(table), domains)

        def order(part: pd.DataFrame) -> Any:
            ranks = part.mean().round(10).rank(method="min", ascending=False)
            return tuple(tuple(sorted(ranks.index[ranks == rank])) for rank in sorted(set(ranks)))

        assert found.order == order(frame)
        groups = pd.Series(domains)
        without = {group: order(frame[groups != group]) for group in sorted(set(domains.values()))}
        assert {group: one.after for group, one in found.without.items()} == without
        assert float(found.holds or 0) == near(np.mean([one == order(frame) for one in without.values()]))


WEIGHTS = {"audit": 45.0, "robust": 15.0, "control": 15.0, "cross": 10.0, "novel": 10.0, "falsify": 5.0}


def test_weights_equal_a_count_over_the_same_draws() -> None:
    for seed in range(COHORTS):
        rng = np.random.default_rng(seed)
        steps = 2 if seed % 3 == 0 else 50  # few steps: ties
        systems = [f"s{n}" for n in range(int(rng.integers(2, 6)))]
        rates = {s: {d: 0.4 + int(rng.integers(0, steps)) / 4 / steps for d in WEIGHTS} for s in systems}
        found = weight_sensitivity(rates, WEIGHTS, draws=60, seed=seed, concentration=40)
        names = sorted(WEIGHTS)
        counts: dict[Any, int] = {}
        ahead = dict.fromkeys(itertools.permutations(systems, 2), 0)
        for row in np.random.default_rng(seed).dirichlet([0.4 * WEIGHTS[d] for d in names], 60):
            points = {s: sum(100 * w * rates[s][d] for w, d in zip(row, names, strict=True)) for s in systems}
            places = order_of(points)
            counts[places] = counts.get(places, 0) + 1
            for one, other in ahead:
                ahead[one, other] += points[one] > points[other] + 1e-9
        assert {order: n / 60 for order, n in counts.items()} == near(dict(found.orders))
        assert {pair: n / 60 for pair, n in ahead.items()} == near(dict(found.ahead))
        assert found.holds == near(counts.get(found.published, 0) / 60)
        firsts = {s: sum(n for order, n in counts.items() if order[0] == (s,)) / 60 for s in systems}
        assert firsts == near(dict(found.first))
        assert list(found.orders.values()) == sorted(found.orders.values(), reverse=True)


def test_many_systems_are_ordered_under_many_weights_at_once() -> None:
    """Thirty systems in ten thousand draws: no loop over draws, which would take minutes."""
    rng = np.random.default_rng(0)
    rates = {f"s{n:02}": {d: float(rng.uniform(0.4, 0.6)) for d in WEIGHTS} for n in range(30)}
    found = weight_sensitivity(rates, WEIGHTS)
    assert sum(found.orders.values()) == near(1.0)
    assert sum(found.first.values()) == near(1.0)
    assert all(found.ahead[a, b] + found.ahead[b, a] == near(1.0) for a, b in itertools.combinations(rates, 2))


def test_weights_do_not_touch_a_system_that_is_ahead_everywhere_nor_fixed_points() -> None:
    rates = {"better": dict.fromkeys(WEIGHTS, 0.6), "worse": dict.fromkeys(WEIGHTS, 0.5)}
    found = weight_sensitivity(rates, WEIGHTS, draws=200)
    assert (found.holds, found.first) == (1.0, {"better": 1.0, "worse": 0.0})
    turned = weight_sensitivity(rates, WEIGHTS, draws=200, fixed={"worse": 12.0})
    assert turned.published == (("worse",), ("better",))
    tied = weight_sensitivity(rates, WEIGHTS, draws=200, fixed={"worse": 10.0})
    assert tied.orders == {(("better", "worse"),): 1.0}
    assert tied.first == {"better": 0.0, "worse": 0.0}
    assert set(tied.ahead.values()) == {0.0}


def test_the_spread_of_weights_is_the_documented_one() -> None:
    drawn = np.random.default_rng(0).dirichlet([100 * w / 100 for w in WEIGHTS.values()], 20_000)
    assert drawn[:, 0].std() == pytest.approx(math.sqrt(0.45 * 0.55 / 101), rel=0.03)


# --- repeats and non-inferiority -------------------------------------------------------------------------------------


def random_runs(seed: int, *, balanced: bool) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    runs = {}
    for n in range(int(rng.integers(2, 12))):
        repeats = 3 if balanced else int(rng.integers(1, 5))
        runs[f"t{n:02}"] = np.clip(rng.normal(58, 5) + rng.normal(0, 2, repeats), 0, 100).tolist()
    return runs


def test_variances_equal_statsmodels_analysis_of_variance() -> None:
    for seed in range(COHORTS):
        runs = random_runs(seed, balanced=seed % 2 == 0)
        found = repeat_variance(runs)
        rows = [(task, score) for task, scores in runs.items() for score in scores]
        data = {"task": [task for task, _ in rows], "score": [score for _, score in rows]}
        if len(rows) == len(runs):
            assert found.within is None
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = anova_lm(ols("score ~ C(task)", data).fit())
        within = table.loc["Residual", "sum_sq"] / table.loc["Residual", "df"]
        sizes = np.array([len(scores) for scores in runs.values()])
        repeats = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(sizes) - 1)
        between = table.loc["C(task)", "sum_sq"] / table.loc["C(task)", "df"]
        assert (found.within, found.between) == near((within, max(0.0, (between - within) / repeats)))


def test_the_wide_interval_holds_both_variances() -> None:
    """With equal repeats its standard error is that of the two components, which the moments make exact."""
    for seed in range(0, COHORTS, 2):
        runs = random_runs(seed, balanced=True)
        found = repeat_variance(runs)
        assert found.within is not None
        assert found.between is not None
        assert found.low is not None
        assert found.mean is not None
        assert found.noise_low is not None
        k = len(runs)
        if found.between > 0:
            error = math.sqrt(found.between / k + found.within / (3 * k))
            assert found.mean - found.low == near(stats.t.ppf(0.975, k - 1) * error)
        assert found.mean - found.noise_low == near(stats.t.ppf(0.975, 2 * k) * math.sqrt(found.within / (3 * k)))


def test_repeats_are_not_counted_as_tasks() -> None:
    runs = {"t1": [50.0, 51.0], "t2": [60.0, 61.0], "t3": [70.0, 69.0]}
    twice = {task: scores * 20 for task, scores in runs.items()}
    one, many = repeat_variance(runs), repeat_variance(twice)
    assert (one.low, one.high) == near((many.low, many.high))


def test_non_inferiority_equals_scipys_one_sided_test() -> None:
    for seed in range(COHORTS):
        a, b = random_scores(seed)
        margin = float(seed % 5)
        found = non_inferiority(scores_of(a), scores_of(b), margin=margin)
        oracle = stats.ttest_1samp(a - b, -margin, alternative="greater")
        assert found.p == near(oracle.pvalue)
        assert found.low is not None
        assert found.low == near(stats.ttest_rel(a, b, alternative="greater").confidence_interval(0.95).low)
        assert found.high == near(stats.ttest_rel(a, b, alternative="less").confidence_interval(0.95).high)
        assert (found.outcome == "non-inferior") == (oracle.pvalue < 0.05)


def test_noise_only_ever_widens_the_bounds() -> None:
    for seed in range(COHORTS):
        a, b = (scores_of(values) for values in random_scores(seed))
        noise = DifferenceNoise(variance=float(seed), df=float("inf") if seed % 2 else 10)
        plain, aware = non_inferiority(a, b), non_inferiority(a, b, noise=noise)
        assert plain.low is not None
        assert aware.low is not None
        assert aware.mean is not None
        assert aware.low <= plain.low
        half = (stats.norm.ppf(0.95) if seed % 2 else stats.t.ppf(0.95, 10)) * math.sqrt(seed / aware.n)
        assert aware.low == near(min(plain.low, aware.mean - half))


def test_differences_that_agree_by_luck_do_not_pass_against_the_noise() -> None:
    new, old = {"t1": 58.0, "t2": 48.0}, {"t1": 60.0, "t2": 50.0}
    assert non_inferiority(new, old).outcome == "non-inferior"
    assert non_inferiority(new, old, noise=DifferenceNoise(18.0, 20)).outcome == "inconclusive"
    one = non_inferiority({"t1": 40.0}, {"t1": 60.0}, noise=DifferenceNoise(18.0, 20))
    assert (one.outcome, one.p, one.reason) == (
        "inferior",
        None,
        "one shared task tells nothing about the spread of the differences",
    )


def test_a_run_against_itself_is_non_inferior_and_equivalent() -> None:
    scores = scores_of(random_scores(3, 1)[0])
    found, same = non_inferiority(scores, scores), equivalence(scores, scores)
    assert (found.outcome, found.mean, found.p, found.low) == ("non-inferior", 0.0, None, 0.0)
    assert (same.equivalent, same.p) == (True, None)
    assert non_inferiority({"t1": 50, "t2": 60}, {"t1": 54, "t2": 64}).outcome == "inconclusive"  # right at the margin
    assert (wilcoxon(scores, scores).p, wilcoxon(scores, scores).reason) == (1.0, "every difference is 0")


def test_noise_of_a_difference_equals_welch_and_satterthwaite() -> None:
    for seed in range(COHORTS):
        rng = np.random.default_rng(seed)
        a, b = rng.normal(60, 3, int(rng.integers(2, 9))), rng.normal(55, 3, int(rng.integers(2, 9)))
        found = difference_noise({"t": a.tolist()}, {"t": b.tolist()})
        oracle = stats.ttest_ind(a, b, equal_var=False)
        assert found.df == near(oracle.df)
        assert found.variance is not None
        assert (a.mean() - b.mean()) / math.sqrt(found.variance) == near(oracle.statistic)


def test_noise_of_one_system_stands_for_both() -> None:
    found = difference_noise({"t1": [50, 54], "t2": [60, 60]}, {"t1": [50], "t2": [60]})
    assert (found.variance, found.df) == (near(4 * 0.5 + 4 * 1), 2)
    assert found.reason == "the baseline was not repeated: the other's noise stands for both"


# --- intervals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "winner"),
    [
        ((60, 60), (50, 50), "a"),
        ((40, 49), (50, 70), "b"),
        ((40, 50), (50, 70), "undecided"),
        ((40, 60), (50, 55), "undecided"),
        ((50, 50), (50, 50), "undecided"),
        ((65.9 - 63.9, 2), (40.0 - 38.0, 2), "undecided"),
        ((float("nan"), 50), (60, 60), "undecided"),
        ((50, 40), (60, 60), "undecided"),
        ((50, 60), (0, 101), "undecided"),
    ],
)
def test_a_winner_is_named_only_where_intervals_are_apart(a: Any, b: Any, winner: str) -> None:
    found = compare_intervals(a, b)
    assert found.winner == winner
    assert (found.reason is None) == (winner != "undecided")
    assert compare_intervals(b, a).winner == {"a": "b", "b": "a"}.get(winner, winner)


def test_places_hold_every_order_that_the_intervals_allow() -> None:
    for seed in range(COHORTS):
        rng = np.random.default_rng(seed)
        ends = np.sort(rng.integers(0, 12, (4, 2)), axis=1).astype(float)
        systems = {f"s{n}": (float(low), float(high)) for n, (low, high) in enumerate(ends)}
        places = rank_ranges(systems)
        seen: dict[str, set[int]] = {name: set() for name in systems}
        for _ in range(30):
            drawn = {name: rng.uniform(low, high) for name, (low, high) in systems.items()}
            for place, name in enumerate(sorted(drawn, key=lambda name: -drawn[name]), 1):
                seen[name].add(place)
        for name, (best, worst) in places.items():
            assert best <= min(seen[name])
            assert max(seen[name]) <= worst
        leader = certain_leader(systems)
        assert leader is None or all(systems[leader][0] > high for name, (_, high) in systems.items() if name != leader)


def test_a_lone_system_leads_nobody() -> None:
    assert certain_leader({"a": (50, 60)}) is None
    assert certain_leader({"a": (50, 60), "b": (10, 20)}) == "a"
    assert certain_leader({}) is None


# --- number of findings ----------------------------------------------------------------------------------------------


def test_yield_is_told_apart_from_quality() -> None:
    """One system registers more and more weak findings; the bonus alone carries it past the other."""
    many = [ScoredRun(f"t{n}", 50 + 2.0 * n, 50.0 - n, (60.0, *[41.0] * n)) for n in range(4)]
    few = [ScoredRun(f"t{n}", 52.0, 50.0, (50.0, 70.0)) for n in range(4)]
    found = yield_analysis({"many": many, "few": few})
    one = found.systems["many"]
    assert (one.runs, one.findings, one.score, one.without_bonus, one.gain) == (4, 2.5, 53.0, 48.5, 4.5)
    assert (one.count_with_score.pearson, one.count_without_bonus.pearson) == near((1.0, -1.0))
    assert [(q.place, q.runs, q.mean) for q in one.by_rank] == [(1, 4, 60.0), (2, 3, 41.0), (3, 2, 41.0), (4, 1, 41.0)]
    assert [q.mean for q in found.systems["few"].by_place] == [50.0, 70.0]
    assert [q.mean for q in found.systems["few"].by_rank] == [70.0, 50.0]
    assert (found.order.before, found.order.after) == ((("many",), ("few",)), (("few",), ("many",)))


def test_yield_analysis_equals_pandas_and_scipy() -> None:
    for seed in range(COHORTS):
        rng = np.random.default_rng(seed)
        runs: dict[str, list[ScoredRun]] = {}
        for system in ("a", "b"):
            for task in range(int(rng.integers(4, 9))):
                for _ in range(int(rng.integers(1, 3))):
                    qualities = tuple(rng.uniform(20, 90, int(rng.integers(0, 6))).tolist())
                    score = float(rng.uniform(20, 90))
                    run = ScoredRun(f"t{task}", score, score - 2 * len(qualities), qualities)
                    runs.setdefault(system, []).append(run)
        found = yield_analysis(runs)
        for system, mine in runs.items():
            frame = pd.DataFrame([(r.task, r.score, r.without_bonus, len(r.qualities)) for r in mine])
            means = frame.groupby(0).mean().mean()
            ours = found.systems[system]
            assert (ours.score, ours.without_bonus, ours.findings) == near(tuple(means))
            assert ours.gain == near(means[1] - means[2])
            ranks, places = (
                pd.DataFrame([dict(enumerate(order(r.qualities))) for r in mine])
                for order in (lambda qualities: sorted(qualities, reverse=True), list)
            )
            for got, expected in ((ours.by_rank, ranks), (ours.by_place, places)):
                assert [one.mean for one in got] == near(expected.mean().tolist())
                assert [one.runs for one in got] == expected.count().tolist()
            if frame[3].nunique() > 1:
                pearson, spearman = stats.pearsonr(frame[3], frame[2]), stats.spearmanr(frame[3], frame[2])
                assert ours.count_without_bonus.pearson == near(pearson.statistic)
                assert ours.count_without_bonus.spearman_p == near(spearman.pvalue)


def test_yield_takes_repeats_of_a_task_as_one_task() -> None:
    runs = [ScoredRun("t1", 40, 40, ()), ScoredRun("t1", 60, 50, (50.0,)), ScoredRun("t2", 30, 30, ())]
    one = yield_analysis({"s": runs}).systems["s"]
    assert (one.score, one.without_bonus, one.findings) == (40.0, 37.5, 0.25)


# --- what leaves the question open -----------------------------------------------------------------------------------

NAN = {"t1": 50.0, "t2": float("nan"), "t3": 60.0}
GOOD = {"t1": 50.0, "t2": 55.0, "t3": 61.0}
PAIRS: Mapping[str, tuple[dict[str, float], dict[str, float]]] = {
    "no task": ({}, {}),
    "disjoint": ({"t1": 1.0}, {"t2": 2.0}),
    "nan": (NAN, GOOD),
    "infinite": (GOOD, {**GOOD, "t1": float("inf")}),
    "above the scale": (GOOD, {**GOOD, "t1": 100.5}),
    "one task": ({"t1": 50.0}, {"t1": 40.0}),
}
FLAT = {"t1": 50.0, "t2": 50.0, "t3": 50.0}


@pytest.mark.parametrize("case", PAIRS)
def test_pairs_that_decide_nothing_say_why(case: str) -> None:
    a, b = PAIRS[case]
    for found in (mean_difference(a, b), equivalence(a, b), non_inferiority(a, b)):
        assert found.reason
        assert (found.p, found.low, found.high) == (None, None, None)
    assert equivalence(a, b).equivalent is None
    assert non_inferiority(a, b).outcome is None
    signed = wilcoxon(a, b)
    assert signed.p == (1.0 if case == "one task" else None)
    assert signed.p is not None or signed.reason
    assert compare_pairs({"a": a, "b": b}).reason or compare_pairs({"a": a, "b": b}).pairs[0].difference.reason


def test_one_system_and_none() -> None:
    for cohort in ({}, {"a": GOOD}):
        assert compare_pairs(cohort).pairs == ()
        assert compare_pairs(cohort).reason
        assert difficulty(cohort).correlation.reason
        assert leave_out(cohort).reason
        assert task_leads(cohort).reason
    assert leave_out({"a": GOOD}).holds is None
    assert compare_orders({}, {}).reason
    assert weight_sensitivity({}, WEIGHTS).reason == "no system"
    assert yield_analysis({}).reason == "no system"
    assert yield_analysis({"a": []}).reason == "a has no run"
    assert repeat_variance({}).reason == "no task"


@pytest.mark.parametrize(("scores", "mean"), [({}, None), ({"t": 5.0}, 5.0), (NAN, None), (FLAT, 50.0)])
def test_one_system_without_spread(scores: dict[str, float], mean: float | None) -> None:
    for found in (t_interval(scores), bootstrap_interval(scores)):
        assert found.mean == mean
        assert found.reason
        assert (found.low, found.high) == ((50.0, 50.0) if scores is FLAT else (None, None))
    assert bool(score_range(scores).reason) == (mean is None)


def test_all_ties_are_no_correlation_and_no_order() -> None:
    flat = {"a": FLAT, "b": FLAT}
    assert difficulty(flat).correlation.reason == "one of the two quantities does not vary"
    assert compare_orders({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}).tau is None
    assert compare_orders({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}).same_order is True
    assert leave_out(flat).holds == 1
    assert task_leads(flat).leads == {"a": Fraction(3, 2), "b": Fraction(3, 2)}
    assert compare_pairs(flat).pairs[0].holm_p == 1.0


def test_disjoint_cohorts_and_nan_are_told() -> None:
    apart = {"a": {"t1": 1.0}, "b": {"t2": 2.0}}
    assert (task_leads(apart).tasks, task_leads(apart).reason) == (0, "no task that every system has")
    assert leave_out(apart).reason
    assert system_means(apart) == {}
    for broken in ({"a": NAN, "b": GOOD}, {"a": GOOD, "b": NAN}):
        for found in (task_leads(broken), leave_out(broken), compare_pairs(broken), difficulty(broken).correlation):
            assert found.reason
            assert "t2 is nan" in found.reason
        with pytest.raises(ValueError, match="t2 is nan"):
            system_means(broken)
    assert compare_orders({"a": float("nan")}, {"a": 1.0}).reason
    assert compare_orders({"a": 1.0, "b": 2.0}, {"a": 1.0}).reason == "the two do not score the same systems"


def test_correlations_that_can_not_be() -> None:
    assert correlate([1.0, 2.0], [1.0, 2.0]).reason == "2 points are too few for a correlation"
    assert correlate([1.0, 2.0, float("nan")], [1.0, 2.0, 3.0]).reason == "a value is not a finite number"
    assert correlate([1.0, 1.0 + 1e-12, 1.0], [1.0, 2.0, 3.0]).pearson is None


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ({"t1": [50.0]}, "one task"),
        ({"t1": [50.0], "t2": [60.0]}, "no task has two runs"),
        ({"t1": []}, "task t1 has no run"),
        ({"t1": [50.0, float("nan")]}, "t1, run 2 is nan"),
    ],
)
def test_repeats_that_tell_no_noise(runs: dict[str, list[float]], words: str) -> None:
    found = repeat_variance(runs)
    assert found.within is None
    assert found.between is None
    assert found.reason
    assert words in found.reason
    noise = difference_noise(runs, {"t9": [50.0, 51.0]})
    assert noise.variance is None
    assert noise.reason


def test_repeats_that_never_differ() -> None:
    found = repeat_variance({"t1": [50.0, 50.0], "t2": [50.0, 50.0]})
    assert (found.within, found.between, found.low, found.noise_high) == (0.0, 0.0, 50.0, 50.0)
    noise = difference_noise({"t1": [50.0, 50.0]}, {"t1": [50.0, 50.0]})
    assert (noise.variance, noise.df) == (0.0, 2.0)


def test_rates_that_are_missing_are_told() -> None:
    rates = {"a": dict.fromkeys(WEIGHTS, 0.5), "b": {**dict.fromkeys(WEIGHTS, 0.5), "novel": float("nan")}}
    assert weight_sensitivity(rates, WEIGHTS).reason == "b has no rate within 0..1 for novel"
    assert weight_sensitivity({"a": {}}, WEIGHTS).reason == "a has no rate within 0..1 for audit"
    good = {"a": rates["a"]}
    assert (
        weight_sensitivity(good, WEIGHTS, fixed={"a": float("nan")}).reason == "fixed points are not within -100..100"
    )
    assert weight_sensitivity(good, WEIGHTS, draws=10).reason == "one system has no order"


def test_yield_refuses_what_is_no_score() -> None:
    found = yield_analysis({"a": [ScoredRun("t1", 50, 50, (float("nan"),))]})
    assert found.systems == {}
    assert found.reason == "a, t1: the score of finding 1 is nan, not a number within 0..100"


@pytest.mark.parametrize(
    "call",
    [
        lambda: t_interval(GOOD, 1.0),
        lambda: bootstrap_interval(GOOD, draws=0),
        lambda: equivalence(GOOD, GOOD, 0),
        lambda: equivalence(GOOD, GOOD, alpha=0.5),
        lambda: non_inferiority(GOOD, GOOD, margin=-1),
        lambda: holm({}, float("nan")),
        lambda: weight_sensitivity({"a": {"d": 0.5}}, {"d": 0.0}),
        lambda: weight_sensitivity({"a": {"d": 0.5}}, {"d": 1.0}, concentration=float("inf")),
        lambda: DifferenceNoise(-1.0, 3),
        lambda: DifferenceNoise(1.0, 0),
        lambda: correlate([1.0], [1.0, 2.0]),
    ],
)
def test_parameters_out_of_place_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"must|degrees|paired"):
        call()


@pytest.mark.parametrize("seed", range(40))
def test_random_degenerate_cohorts_never_raise(seed: int) -> None:
    """Every function on cohorts of few systems and tasks with ties, gaps and what is no score."""
    rng = np.random.default_rng(seed)
    odd = [0.0, 50.0, 50.0, 50.0 + 1e-13, 100.0, *([float("nan"), float("inf"), -1.0] if seed % 3 == 0 else [])]
    for _ in range(15):
        cohort = {
            f"s{s}": {f"t{t}": float(rng.choice(odd)) for t in range(int(rng.integers(0, 5))) if rng.random() < 0.8}
            for s in range(int(rng.integers(0, 4)))
        }
        found: list[Any] = [compare_pairs(cohort), difficulty(cohort), task_leads(cohort), leave_out(cohort)]
        for scores in cohort.values():
            found += [t_interval(scores), bootstrap_interval(scores, draws=20), score_range(scores)]
            found.append(repeat_variance({task: [value, value] for task, value in scores.items()}))
            for other in cohort.values():
                found.append(non_inferiority(scores, other, noise=DifferenceNoise(2.0, 3)))
        assert len(found) >= 4
        assert "nan" not in repr(found).replace("is nan, not", "")
