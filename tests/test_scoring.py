"""Levels become scores: exactly, monotonously, in any order, and with intervals that hold every way it could end."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import Cohort

from pytest_sciagent.documents import shipped_folder
from pytest_sciagent.models import Criterion
from pytest_sciagent.rubrics import load_rubric
from pytest_sciagent.scoring import Interval, RunFacts, mean, score_finding, score_pairs, score_run

SHIPPED = load_rubric("truthinsight", shipped_folder("rubrics").parent, shipped_folder("rubrics").parent)
NUMBERS = {c.number: c for c in SHIPPED.criteria}
LEVELS = (0.0, 0.5, 1.0)


def criterion(id: str, weight: float) -> Criterion:
    levels = {"1": "a", "0.5": "b", "0": "c"}
    values: dict[str, Any] = {"id": id, "dimension": "d", "weight": weight, "question": "q", "levels": levels}
    return Criterion.model_validate(values | {"judge": True})


weights = st.integers(1, 400).map(lambda n: n / 10)
signed = weights | weights.map(lambda w: -w)
some_criteria = st.lists(weights, min_size=1, max_size=8).map(
    lambda ws: [criterion(f"c{n}", w) for n, w in enumerate(ws)]
)
signed_criteria = st.lists(signed, min_size=1, max_size=8).map(
    lambda ws: [criterion(f"c{n}", w) for n, w in enumerate(ws)]
)
level = st.sampled_from(LEVELS)
maybe_level = st.none() | level


def by_hand(criteria: list[Criterion], levels: dict[str, float]) -> Decimal:
    """The sum of weight times level in decimal arithmetic: tenths times halves."""
    return sum((Decimal(str(c.weight)) * Decimal(str(levels[c.id])) for c in criteria), start=Decimal(0))


# ---- one finding


def test_the_rubric_of_29_items_adds_up_to_100() -> None:
    assert len(SHIPPED.criteria) == 29
    assert score_finding(
        SHIPPED.criteria, dict.fromkeys((c.id for c in SHIPPED.criteria), 1.0)
    ).score == Interval.point(100)
    assert score_finding(SHIPPED.criteria, {}).score == Interval(Fraction(0), Fraction(100))
    by_dimension = {d.id: sum(c.weight for c in SHIPPED.criteria if c.dimension == d.id) for d in SHIPPED.dimensions}
    assert by_dimension == {d.id: d.weight for d in SHIPPED.dimensions}


@given(st.data(), some_criteria)
def test_a_finding_is_added_up_as_by_hand(data: st.DataObject, criteria: list[Criterion]) -> None:
    levels = {c.id: data.draw(level) for c in criteria}
    found = score_finding(criteria, levels)
    assert found.score == Interval.point(Fraction(by_hand(criteria, levels)))
    assert found.assessed == 1


@given(st.data(), some_criteria)
def test_a_findings_score_rises_with_every_level_and_ignores_order(
    data: st.DataObject, criteria: list[Criterion]
) -> None:
    levels = {c.id: data.draw(maybe_level) for c in criteria}
    found = score_finding(criteria, levels)
    assert score_finding(list(reversed(criteria)), dict(reversed(levels.items()))) == found
    assert 0 <= found.score.low <= found.score.high <= sum(Fraction(str(c.weight)) for c in criteria)
    assert 0 <= found.assessed <= 1
    raised = data.draw(st.sampled_from(criteria)).id
    before = levels[raised]
    for higher in LEVELS:
        if before is not None and higher >= before:
            better = score_finding(criteria, {**levels, raised: higher}).score
            assert better.low >= found.score.low
            assert better.high >= found.score.high


@given(st.data(), signed_criteria)
def test_a_findings_interval_holds_every_completion(data: st.DataObject, criteria: list[Criterion]) -> None:
    levels = {c.id: data.draw(maybe_level) for c in criteria}
    found = score_finding(criteria, levels).score
    complete = {id: data.draw(level) if known is None else known for id, known in levels.items()}
    total = Fraction(by_hand(criteria, complete))
    assert found.low <= total <= found.high
    worst = {c.id: (0.0 if c.weight > 0 else 1.0) if levels[c.id] is None else levels[c.id] for c in criteria}
    best = {c.id: (1.0 if c.weight > 0 else 0.0) if levels[c.id] is None else levels[c.id] for c in criteria}
    assert found == Interval(Fraction(by_hand(criteria, worst)), Fraction(by_hand(criteria, best)))  # type: ignore[arg-type]


# ---- profile weighted


@given(st.data(), signed_criteria)
def test_the_weighted_share(data: st.DataObject, criteria: list[Criterion]) -> None:
    pairs = [(c, data.draw(maybe_level)) for c in criteria for _ in range(data.draw(st.integers(1, 3)))]
    found = score_pairs(pairs)
    assert 0 <= found.low <= found.high <= 100
    assert score_pairs(reversed(pairs)) == found
    complete = [(c, data.draw(level) if known is None else known) for c, known in pairs]
    above = sum(Decimal(str(c.weight)) * Decimal(str(known)) for c, known in complete)
    below = sum(Decimal(str(c.weight)) for c, _ in complete if c.weight > 0)
    share = min(max(Fraction(above) / Fraction(below), Fraction(0)), Fraction(1)) if below else Fraction(0)
    assert found.low <= 100 * share <= found.high
    if all(known is not None for _, known in pairs):
        assert found == Interval.point(100 * share)


# ---- profile truthinsight


def run_by_hand(
    scores: dict[str, Fraction], groups: list[list[str]], targets: list[float], refuted: dict[str, bool]
) -> Fraction:
    """The score of a run where everything is known, step by step."""
    best_of_group = {tuple(group): max(scores[f] for f in group) for group in groups}
    ranking = sorted(best_of_group.values())
    first = ranking.pop() if ranking else Fraction(0)
    second = ranking.pop() if ranking else Fraction(0)
    bad = [group for group in best_of_group if any(refuted[f] for f in group)]
    good = [group for group, best in best_of_group.items() if best >= 40 and group not in bad]
    extra = sum([4, 2, 2, 2][: len(good)])
    points = Fraction(60, 100) * first + Fraction(20, 100) * second + extra - 5 * min(len(bad), 2)
    for reached in targets:
        points += {0.0: 0, 0.5: Fraction(5, 2), 1.0: 5}[reached]
    return Fraction(0) if points < 0 else Fraction(100) if points > 100 else points


points = st.integers(0, 200).map(lambda n: Fraction(n, 2))
names = st.integers(1, 5).map(lambda n: [f"finding_{i}" for i in range(1, n + 1)])


@st.composite
def partitions(draw: st.DrawFn, ids: list[str]) -> list[list[str]]:
    place = {id: draw(st.integers(0, len(ids) - 1)) for id in ids}
    return [members for n in range(len(ids)) if (members := [id for id in ids if place[id] == n])]


@given(st.data(), names)
def test_a_known_run_is_added_up_as_by_hand(data: st.DataObject, ids: list[str]) -> None:
    scores = {id: data.draw(points) for id in ids}
    groups = data.draw(partitions(ids))
    targets = {f"card_{n}": data.draw(level) for n in range(data.draw(st.integers(0, 2)))}
    refuted = {id: data.draw(st.booleans()) for id in ids}
    found = score_run({id: Interval.point(s) for id, s in scores.items()}, RunFacts(groups, targets, refuted))
    expected = run_by_hand(scores, groups, list(targets.values()), refuted)
    assert found.total == Interval.point(expected)
    mixed = data.draw(st.permutations(ids))
    shuffled = [list(reversed(group)) for group in reversed(groups)]
    other = RunFacts(shuffled, dict(reversed(targets.items())), {id: refuted[id] for id in mixed})
    assert score_run({id: Interval.point(scores[id]) for id in mixed}, other) == found


@given(st.data(), names)
def test_a_runs_interval_holds_every_completion(data: st.DataObject, ids: list[str]) -> None:
    scores = {}
    for id in ids:
        low, high = sorted((data.draw(points), data.draw(points)))
        scores[id] = Interval(low, high)
    groups = data.draw(st.none() | partitions(ids))
    cards = [f"card_{n}" for n in range(data.draw(st.integers(0, 2)))]
    targets = data.draw(st.none() | st.fixed_dictionaries(dict.fromkeys(cards, maybe_level)))
    refuted = {id: data.draw(st.none() | st.booleans()) for id in ids}
    found = score_run(scores, RunFacts(groups, targets, refuted))
    for _ in range(5):
        complete = run_by_hand(
            {id: data.draw(st.sampled_from([s.low, s.high, (s.low + s.high) / 2])) for id, s in scores.items()},
            data.draw(partitions(ids)) if groups is None else groups,
            [
                data.draw(level) if known is None else known
                for known in (dict.fromkeys(cards) if targets is None else targets).values()
            ],
            {id: data.draw(st.booleans()) if known is None else known for id, known in refuted.items()},
        )
        assert found.total.low <= complete <= found.total.high
    assert 0 <= found.total.low <= found.total.high <= 100


@given(st.data(), names)
def test_a_runs_score_rises_with_every_findings_score(data: st.DataObject, ids: list[str]) -> None:
    scores = {id: data.draw(points) for id in ids}
    groups = data.draw(partitions(ids))
    facts = RunFacts(groups, {"card": data.draw(level)}, {id: data.draw(st.booleans()) for id in ids})
    raised = data.draw(st.sampled_from(ids))
    better = {**scores, raised: max(scores[raised], data.draw(points))}
    before = score_run({id: Interval.point(s) for id, s in scores.items()}, facts).total
    after = score_run({id: Interval.point(s) for id, s in better.items()}, facts).total
    assert after.low >= before.low


def test_no_finding_is_no_point() -> None:
    assert score_run({}, RunFacts()).total == Interval.point(0)


# ---- the worked example, from levels to the mean of two systems

X_LEVELS = """
1.1=1 1.2=1 1.3=1 1.4=.5 1.5=1 1.6=.5 1.7=1 1.8=.5 2.1=1 2.2=0 2.3=1 2.4=.5 2.5=.5
3.1=1 3.2=.5 3.3=.5 3.4=0 3.5=0 4.1=0 4.2=0 4.3=0 4.4=0 5.1=1 5.2=1 6.1=.5 6.2=.5 6.3=1 6.4=1 6.5=0
"""


def test_the_worked_example() -> None:
    given_levels = dict(pair.split("=") for pair in X_LEVELS.split())
    assert set(given_levels) == set(NUMBERS)
    first = score_finding(SHIPPED.criteria, {NUMBERS[n].id: float(v) for n, v in given_levels.items()}).score  # type: ignore[index]
    assert first == Interval.point(67)
    x = score_run(
        {
            "finding_1": first,
            "finding_2": Interval.point(Fraction(89, 2)),
            "finding_3": Interval.point(41),
            "finding_4": Interval.point(38),
        },
        RunFacts(
            groups=[["finding_1", "finding_3"], ["finding_2"], ["finding_4"]],
            targets={"a": 1.0, "b": 0.5},
            refuted={"finding_1": False, "finding_2": True, "finding_3": False, "finding_4": False},
        ),
    )
    assert x.s1 == Interval.point(67)
    assert x.s2 == Interval.point(Fraction(89, 2))
    assert x.main_body == Interval.point(Fraction("49.1"))
    assert (x.yield_bonus, x.target, x.penalty) == (
        Interval.point(4),
        Interval.point(Fraction(15, 2)),
        Interval.point(5),
    )
    assert x.total.show() == "55.6"
    assert x.total == Interval.point(Fraction("55.6"))
    y = score_run(
        {"finding_1": Interval.point(52), "finding_2": Interval.point(Fraction(79, 2))},
        RunFacts([["finding_1"], ["finding_2"]], {"a": 0.0, "b": 0.0}, {"finding_1": False, "finding_2": False}),
    )
    assert y.total == Interval.point(Fraction("43.1"))
    assert mean([x.total, y.total]) == Interval.point(Fraction("49.35"))


# ---- through a whole session


@pytest.mark.parametrize("groups", [[], [["finding_1", "finding_2"]]], ids=["apart", "alike"])
def test_a_session_adds_up_as_by_hand(cohort: Cohort, groups: list[list[str]]) -> None:
    cohort.run("alpha")
    answers = {
        "grouping": {"rationale": "so", "groups": groups},
        "plan": {"rationale": "none", "plans": []},
    }
    cohort.record(
        lambda run, finding, criterion: 1 if criterion != "rob.zero" or finding == "finding_1" else 0.5,
        about_run=answers,
    )
    found = cohort.results("--sciagent-run=runs", "--sciagent-profile=truthinsight", code=0)
    (run,) = found["runs"]
    s1, s2 = 100, 90 if not groups else 0
    points = 0.6 * s1 + 0.2 * s2 + (6 if not groups else 4)
    assert run["terms"]["s2"] == {"low": s2, "high": s2}
    # the target is open: the task has no reference
    assert run["score"] == {"low": points, "high": points + 10}
