"""Scoring profiles: the worked example, hand calculations, and what holds for every level, known or not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sciagent.models import Criterion
from pytest_sciagent.scoring import Interval, RunFacts, score_pairs, score_run
from pytest_sciagent.scoring.checklist100 import points_of_level, score_checklist
from pytest_sciagent.scoring.required import score_required
from pytest_sciagent.scoring.truthinsight_v1 import V1Facts, rank_v1, score_run_v1, to_fixed

LEVELS = (0.0, 0.5, 1.0)
half_points = st.integers(0, 200).map(lambda n: Fraction(n, 2))


def criterion(number: int, weight: float = 1.0, *, required: bool = True) -> Criterion:
    return Criterion.model_validate(
        {
            "id": f"c{number}",
            "dimension": "d",
            "weight": weight,
            "required": required,
            "question": "Is it so?",
            "levels": {"1": "yes", "0.5": "partly", "0": "no"},
            "judge": True,
        }
    )


def point(value: float | Fraction) -> Interval:
    return Interval.point(Fraction(value))


# --- the worked example ----------------------------------------------------------------------------------------------

X = {"finding_1": point(67), "finding_2": point(44.5), "finding_3": point(41), "finding_4": point(38)}
Y = {"finding_1": point(52), "finding_2": point(39.5)}
TARGETS = {"A": 1.0, "B": 0.5}


def test_public_evaluator_gives_x_57_6_and_y_43_1() -> None:
    quote = ("0.52 of the sites", "output/sites.csv", "proportion")
    facts = V1Facts([["finding_1", "finding_3"]], TARGETS, {f: [quote] if f == "finding_2" else [] for f in X})
    x = score_run_v1(X, facts)
    assert (x.s1, x.s2, x.main_body) == (point(67), point(44.5), point(Fraction("49.1")))
    assert (x.yield_bonus, x.target, x.penalty) == (point(6), point(7.5), point(5))
    assert x.total == point(Fraction("57.6"))
    y = score_run_v1(Y, V1Facts([], {"A": 0.0, "B": 0.0}, {f: [] for f in Y}))
    assert (y.main_body, y.yield_bonus, y.total) == (point(Fraction("39.1")), point(4), point(Fraction("43.1")))
    ranking = rank_v1({"Y": {"T1": y.total}, "X": {"T1": x.total, "T2": point(12)}})
    assert (ranking.complete, ranking.provisional) == (("T1",), ("T2",))
    assert list(ranking.means.items()) == [("X", point(Fraction("57.6"))), ("Y", point(Fraction("43.1")))]


def test_the_paper_gives_x_55_6_and_y_43_1() -> None:
    groups = [["finding_1", "finding_3"], ["finding_2"], ["finding_4"]]
    x = score_run(X, RunFacts(groups, TARGETS, {f: f == "finding_2" for f in X}))
    assert (x.yield_bonus, x.penalty, x.total) == (point(4), point(5), point(Fraction("55.6")))
    y = score_run(Y, RunFacts([[f] for f in Y], {"A": 0.0, "B": 0.0}, dict.fromkeys(Y, False)))
    assert y.total == point(Fraction("43.1"))


# --- truthinsight-v1: its quirks -------------------------------------------------------------------------------------

NO_TARGET = {"A": 0.0, "B": 0.0}


def v1(scores: Sequence[float], groups: Sequence[Sequence[str]] = (), **refuted: Sequence[Any]) -> Any:
    findings = {f"f{n}": point(score) for n, score in enumerate(scores, 1)}
    return score_run_v1(findings, V1Facts(groups, NO_TARGET, {f: refuted.get(f, ()) for f in findings}))


def test_two_refuted_quotes_of_one_finding_cost_ten() -> None:
    assert v1([60, 50], f1=["q1", "q2"]).penalty == point(10)
    assert v1([60, 50, 45], f1=["q1", "q2"], f2=["q3"]).penalty == point(10)


def test_one_quote_in_two_findings_costs_five() -> None:
    assert v1([60, 50], f1=["q"], f2=["q"]).penalty == point(5)


def test_a_refuted_duplicate_that_is_not_the_best_escapes() -> None:
    assert v1([60, 59.5], [["f1", "f2"]], f2=["q"]).penalty == point(0)
    assert v1([59.5, 60], [["f1", "f2"]], f2=["q"]).penalty == point(5)


def test_of_equal_duplicates_the_first_in_the_report_counts() -> None:
    assert v1([60, 60], [["f2", "f1"]], f1=["q"]).penalty == point(5)
    assert v1([60, 60], [["f2", "f1"]], f2=["q"]).penalty == point(0)


def test_a_better_duplicate_can_lower_the_score() -> None:
    """The one place where the public arithmetic is not monotone in the levels."""
    assert v1([60, 60], [["f1", "f2"]], f2=["q"]).total == point(40)
    assert v1([60, 60.5], [["f1", "f2"]], f2=["q"]).total == point(Fraction("35.3"))


def test_yield_counts_refuted_findings_and_stops_at_four() -> None:
    assert v1([40, 39.5], f1=["q"]).yield_bonus == point(4)
    assert v1([50] * 6).yield_bonus == point(10)


def test_what_can_not_be_told_about_quotes_leaves_the_penalty_open() -> None:
    """Either of two duplicates may be the better one; only a quote of both is sure to count."""
    findings = {"f1": Interval(Fraction(40), Fraction(60)), "f2": point(50)}
    lost = {}
    for first, second in (("p", "q"), ("q", "q"), ("", "q"), (None, "q")):
        quotes = {"f1": None if first is None else list(first), "f2": [second]}
        lost[first] = score_run_v1(findings, V1Facts([["f1", "f2"]], NO_TARGET, quotes)).penalty
    assert lost == {"p": Interval(0, 5), "q": point(5), "": Interval(0, 5), None: Interval(0, 10)}
    ungrouped = score_run_v1({"f1": point(60), "f2": point(50)}, V1Facts(None, NO_TARGET, {"f1": ["p"], "f2": ["q"]}))
    assert ungrouped.penalty == Interval(5, 10)


def test_the_score_stays_within_0_and_100() -> None:
    assert v1([0, 0], f1=["q1"], f2=["q2"]).total == point(0)
    best = {f"f{n}": point(100) for n in range(5)}
    assert score_run_v1(best, V1Facts([], {"A": 1.0, "B": 1.0}, dict.fromkeys(best, ()))).total == point(100)


def test_no_finding_gives_zero() -> None:
    assert score_run_v1({}, V1Facts()).total == point(0)


@pytest.mark.parametrize("groups", [[["f1", "f9"]], [["f1", "f2"], ["f2", "f3"]]])
def test_groups_that_do_not_fit_are_refused(groups: list[list[str]]) -> None:
    with pytest.raises(ValueError, match="group"):
        v1([50, 50, 50], groups)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    # made with a JavaScript engine
    [
        (1.005, 2, "1.00"),
        (8.345, 2, "8.35"),
        (2.5, 0, "3"),
        (0.5, 0, "1"),
        (-2.675, 2, "-2.67"),
        (-2.5, 0, "-3"),
        (58.805, 2, "58.80"),
        (0.125, 2, "0.13"),
    ],
)
def test_to_fixed_is_that_of_javascript(value: float, digits: int, expected: str) -> None:
    assert to_fixed(value, digits) == Fraction(expected)


@given(st.floats(0, 1000))
def test_to_fixed_rounds_the_binary_value_half_up(value: float) -> None:
    assert to_fixed(value) == Fraction(Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP))


def test_a_mean_is_rounded_as_the_binary_number_it_is() -> None:
    """57.61 + 60.0 halves to 58.805, which is stored a little below and so is cut down to 58.80."""
    scores = {"s": {"t1": point(Fraction("57.61")), "t2": point(60)}}
    assert rank_v1(scores).means["s"] == point(Fraction("58.80"))


def test_ranking_without_a_complete_task_is_empty_and_ties_go_by_name() -> None:
    none = rank_v1({"a": {"t1": point(1)}, "b": {"t2": point(2)}})
    assert (none.complete, none.provisional, dict(none.means)) == ((), ("t1", "t2"), {})
    tied = rank_v1({"b": {"t": point(50)}, "a": {"t": point(50)}, "c": {"t": point(60)}})
    assert list(tied.means) == ["c", "a", "b"]


# --- truthinsight-v1: for every run ----------------------------------------------------------------------------------

NAMES = ("f1", "f2", "f3", "f4", "f5")
QUOTES = st.lists(st.sampled_from(["q1", "q2", "q3"]), max_size=2)
level = st.sampled_from(LEVELS)


@st.composite
def partitions(draw: st.DrawFn, names: Sequence[str]) -> list[list[str]]:
    places = [draw(st.integers(0, len(names) - 1)) for _ in names]
    groups = [[n for n, place in zip(names, places, strict=True) if place == p] for p in set(places)]
    return draw(st.permutations(groups))


@st.composite
def runs(draw: st.DrawFn) -> tuple[dict[str, Fraction], list[list[str]], dict[str, float], dict[str, list[str]]]:
    names = NAMES[: draw(st.integers(1, 5))]
    scores = {name: draw(half_points) for name in names}
    return scores, draw(partitions(names)), {c: draw(level) for c in "AB"}, {name: draw(QUOTES) for name in names}


def total_v1(scores: dict[str, Fraction], groups: Any, targets: Any, quotes: Any) -> Interval:
    return score_run_v1({f: point(s) for f, s in scores.items()}, V1Facts(groups, targets, quotes)).total


def by_hand_in_tenths(
    scores: dict[str, Fraction], groups: list[list[str]], targets: dict[str, float], quotes: dict[str, list[str]]
) -> int:
    """The public arithmetic in tenths of points: whole numbers only, findings taken off one list."""
    heads: list[tuple[int, str]] = []
    for group in groups:
        best: tuple[int, str] | None = None
        for name in scores:  # report order, so that the first of equals stays
            if name in group and (best is None or int(scores[name] * 2) > best[0]):
                best = (int(scores[name] * 2), name)
        assert best is not None
        heads.append(best)
    heads.sort(key=lambda head: -head[0])
    tenths = 3 * heads[0][0] + (heads[1][0] if len(heads) > 1 else 0)
    tenths += {0: 0, 1: 40, 2: 60, 3: 80}.get(sum(half >= 80 for half, _ in heads), 100)
    tenths += sum(int(50 * value) for value in targets.values())
    tenths -= 50 * min(2, len({q for _, name in heads for q in quotes[name]}))
    return max(0, min(1000, tenths))


@given(runs())
def test_v1_equals_the_hand_calculation(run: Any) -> None:
    assert total_v1(*run) == point(Fraction(by_hand_in_tenths(*run), 10))


@given(runs(), st.randoms(use_true_random=False))
def test_v1_is_order_free_but_for_ties(run: Any, random: Any) -> None:
    scores, groups, targets, quotes = run
    names = list(scores)
    random.shuffle(names)
    ties = any(scores[a] == scores[b] for group in groups for a, b in itertools.combinations(group, 2))
    if not ties:
        assert total_v1({n: scores[n] for n in names}, groups[::-1], targets, quotes) == total_v1(*run)


@given(runs(), st.data())
def test_v1_is_monotone_in_scores_and_targets_where_no_duplicate_is_refuted(run: Any, data: st.DataObject) -> None:
    scores, groups, targets, quotes = run
    quotes = {f: q if [f] in groups else [] for f, q in quotes.items()}
    better = {f: Fraction(data.draw(st.integers(int(2 * low), 200)), 2) for f, low in scores.items()}
    card = data.draw(st.sampled_from("AB"))
    raised = {**targets, card: data.draw(st.sampled_from([v for v in LEVELS if v >= targets[card]]))}
    assert total_v1(better, groups, raised, quotes).low >= total_v1(scores, groups, targets, quotes).low


@given(runs(), st.data())
def test_v1_interval_holds_every_completion(run: Any, data: st.DataObject) -> None:
    scores, groups, targets, quotes = run
    hidden = st.booleans()
    findings = {}
    for name, score in scores.items():
        low, high = data.draw(st.tuples(half_points, half_points)) if data.draw(hidden) else (score, score)
        findings[name] = Interval(min(low, score), max(high, score))
    facts = V1Facts(
        None if data.draw(hidden) else groups,
        None if data.draw(hidden) else {c: None if data.draw(hidden) else v for c, v in targets.items()},
        None if data.draw(hidden) else {f: None if data.draw(hidden) else q for f, q in quotes.items()},
    )
    open_ = score_run_v1(findings, facts)
    done = score_run_v1({f: point(s) for f, s in scores.items()}, V1Facts(groups, targets, quotes))
    for term in ("s1", "s2", "yield_bonus", "target", "penalty", "main_body", "total"):
        outer, inner = getattr(open_, term), getattr(done, term)
        assert outer.low <= inner.low == inner.high <= outer.high, term
    assert 0 <= open_.total.low <= open_.total.high <= 100


@given(runs())
def test_v1_gives_at_least_what_the_paper_gives_where_each_finding_has_one_quote_of_its_own(run: Any) -> None:
    """The two differ by the yield of refuted findings, and by duplicates: a refuted one escapes in v1."""
    scores, groups, targets, quotes = run
    refuted = {f: bool(q) for f, q in quotes.items()}
    paper = score_run({f: point(s) for f, s in scores.items()}, RunFacts(groups, targets, refuted)).total
    assert total_v1(scores, groups, targets, {f: [f] if r else [] for f, r in refuted.items()}).low >= paper.low


# --- required, weighted and checklist100 -----------------------------------------------------------------------------

weights = st.sampled_from([0.1, 0.3, 1.0, 2.5, 7.0])
pairs = st.lists(
    st.tuples(st.builds(criterion, st.integers(0, 99), weights, required=st.booleans()), level), max_size=8
)


def test_required_counts_full_levels_of_required_criteria_only() -> None:
    must, may = criterion(1, 9.0), criterion(2, required=False)
    assert score_required([(must, 1.0), (must, 0.5), (must, 0.0), (may, 1.0)]) == point(Fraction(100, 3))
    assert score_required([(must, 1.0), (must, None), (may, None)]) == Interval(Fraction(50), Fraction(100))
    assert score_required([(may, 1.0)]) == point(0)
    assert score_required([]) == point(0)


def test_checklist_is_the_weighted_mean_of_points() -> None:
    given_ = [(criterion(1, 0.5), 40.0), (criterion(2, 0.3), 10.0), (criterion(3, 0.2), 55.0)]
    assert score_checklist(given_) == point(34)
    assert score_checklist([*given_, (criterion(4, 1.0), None)]) == Interval(Fraction(17), Fraction(67))
    assert score_checklist([]) == point(0)


@pytest.mark.parametrize(
    ("points", "expected"), [(0, 0.0), (24.99, 0.0), (25, 0.5), (49.9, 0.5), (50, 1.0), (100, 1.0)]
)
def test_parity_is_full_and_half_of_it_is_half(points: float, expected: float) -> None:
    assert points_of_level(expected).low <= Fraction(str(points)) <= points_of_level(expected).high


@pytest.mark.parametrize("points", [-1, 100.5, float("nan"), float("inf")])
def test_what_is_no_point_is_refused(points: float) -> None:
    with pytest.raises(ValueError, match=r"0\.\.100"):
        score_checklist([(criterion(1), points)])


def test_points_that_are_an_interval_stay_one_and_within_the_scale() -> None:
    assert score_checklist([(criterion(1), points_of_level(0.5))]) == Interval(Fraction(25), Fraction(50))
    with pytest.raises(ValueError, match=r"0\.\.100"):
        score_checklist([(criterion(1), Interval(Fraction(0), Fraction(101)))])


def required_by_hand(given_: list[tuple[Criterion, float]]) -> Fraction:
    count = met = 0
    for one, value in given_:
        if one.required:
            count += 1
            if value > 0.5:
                met += 1
    return Fraction(met * 100, count) if count else Fraction(0)


def mean_by_hand(given_: list[tuple[Criterion, float]], scale: int) -> Fraction:
    """In tenths of weight and halves of level: whole numbers until the last division."""
    tenths = [round(one.weight * 10) for one, _ in given_]
    top = sum(weight * round(value * 2) for weight, (_, value) in zip(tenths, given_, strict=True))
    return Fraction(scale * top, 2 * sum(tenths)) if tenths else Fraction(0)


def as_points(given_: list[tuple[Criterion, float | None]]) -> list[tuple[Criterion, float | None]]:
    return [(one, None if value is None else 100 * value) for one, value in given_]


def checklist(given_: list[tuple[Criterion, float | None]]) -> Interval:
    return score_checklist(as_points(given_))


PROFILES = [score_required, score_pairs, checklist]


@given(pairs)
def test_profiles_equal_the_hand_calculation(given_: list[tuple[Criterion, float]]) -> None:
    assert score_required(given_) == point(required_by_hand(given_))
    assert score_pairs(given_) == point(mean_by_hand(given_, 100))
    assert checklist(list(given_)) == point(mean_by_hand(given_, 100))


@pytest.mark.parametrize("profile", PROFILES)
@given(given_=pairs, data=st.data())
def test_profiles_are_bounded_order_free_and_monotone(profile: Any, given_: Any, data: st.DataObject) -> None:
    score = profile(given_)
    assert score.is_point
    assert 0 <= score.low <= 100
    assert profile(data.draw(st.permutations(given_))) == score
    raised = [(one, data.draw(st.sampled_from([v for v in LEVELS if v >= value]))) for one, value in given_]
    assert profile(raised).low >= score.low


@pytest.mark.parametrize("profile", PROFILES)
@given(given_=pairs, data=st.data())
def test_profile_intervals_hold_every_completion_and_end_at_two_of_them(
    profile: Any, given_: Any, data: st.DataObject
) -> None:
    known = [(one, data.draw(st.sampled_from([value, None]))) for one, value in given_]
    open_ = profile(known)
    assert open_.low <= profile(given_).low <= open_.high
    ends = [profile([(one, end if value is None else value) for one, value in known]).low for end in (0.0, 1.0)]
    assert [open_.low, open_.high] == ends


@given(pairs)
def test_points_from_levels_hold_all_points_of_those_levels(given_: list[tuple[Criterion, float]]) -> None:
    known = score_checklist((one, points_of_level(value)) for one, value in given_)
    for inside in (0, 0.5):
        exact_points = [(one, {0.0: 0.0, 0.5: 25.0, 1.0: 50.0}[value] + inside * 24) for one, value in given_]
        assert known.low <= score_checklist(exact_points).low <= known.high
