"""Votes of a panel or of repeated draws become one verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sciagent.errors import SciagentError
from pytest_sciagent.judging.draws import RULES, Draws, Rule, parse_draws
from pytest_sciagent.judging.panel import Ballot, combine
from pytest_sciagent.models import LEVELS, Anchors, Citation, Verdict

LEVEL = st.sampled_from(LEVELS)


def vote(level: float | None, judge: str = "a", draw: int = 1, status: str = "refused") -> Ballot:
    quoted = (Citation(file="f", quote=f"for {level}", verified=True),) if level else ()
    verdict = Verdict(
        criterion_id="c",
        status=status if level is None else "assessed",
        level=level,
        reason=f"level {level}",
        reason_code="x",
        citations=quoted,
        anchors=None if level is None else Anchors(zero=level == 0, full=level == 1, half=level == 0.5),
    )
    return Ballot(judge, draw, verdict)


@given(st.lists(LEVEL, min_size=1, max_size=7), st.sampled_from(RULES))
def test_the_combined_level_lies_between_the_votes(levels: list[float], rule: Rule) -> None:
    level = combine([vote(x) for x in levels], rule).level
    assert level is not None
    assert min(levels) <= level <= max(levels)
    if len(set(levels)) == 1:
        assert level == levels[0]
    if rule == "strict":
        assert level == min(levels)


@given(st.lists(LEVEL, min_size=1, max_size=6), st.randoms(), st.sampled_from(RULES))
def test_order_does_not_matter(levels: list[float], random: object, rule: Rule) -> None:
    shuffled = levels[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert combine([vote(x) for x in levels], rule).level == combine([vote(x) for x in shuffled], rule).level


@pytest.mark.parametrize(
    ("levels", "rule", "expected"),
    [
        ([1, 1, 0], "majority", 1),
        ([1, 0], "majority", 0),
        ([1, 0.5, 0], "majority", 0),
        ([1, 0.5, 0.5], "median", 0.5),
        ([1, 0.5], "median", 0.5),
        ([1, 1, 0.5], "mean", 0.5),
        ([1, 1, 1], "mean", 1),
        ([0.5, 0.5, 0], "mean", 0),
    ],
)
def test_rules(levels: list[float], rule: Rule, expected: float) -> None:
    assert combine([vote(x) for x in levels], rule).level == expected


@given(st.lists(st.one_of(st.none(), LEVEL), min_size=2, max_size=7), st.sampled_from(RULES))
def test_failures_are_never_levels(levels: list[float | None], rule: Rule) -> None:
    verdict = combine([vote(x) for x in levels], rule)
    failures = sum(x is None for x in levels)
    if 2 * failures >= len(levels):
        assert verdict.level is None
        assert verdict.is_error
    else:
        assert verdict.level in {x for x in levels if x is not None} | {0.0, 0.5}


def test_every_vote_is_told() -> None:
    verdict = combine([vote(1, "a"), vote(1, "b"), vote(0, "c"), vote(None, "d", 2)], "majority")
    told = [(v.judge, v.draw, v.status, v.level, v.reason) for v in verdict.votes]
    assert told == [
        ("a", 1, "assessed", 1, "level 1"),
        ("b", 1, "assessed", 1, "level 1"),
        ("c", 1, "assessed", 0, "level 0"),
        ("d", 2, "refused", None, "level None"),
    ]
    assert verdict.reason == "level 1"


def test_one_vote_is_the_verdict_itself() -> None:
    ballot = vote(0.5)
    assert combine([ballot], "mean") is ballot.verdict
    assert ballot.verdict.votes == ()


@given(st.lists(LEVEL, min_size=2, max_size=7), st.sampled_from(RULES))
def test_a_combined_level_above_zero_has_a_checked_passage_and_no_anchors_of_another_level(
    levels: list[float], rule: Rule
) -> None:
    verdict = combine([vote(x) for x in levels], rule)
    assert verdict.level is not None
    assert not verdict.level or any(c.verified for c in verdict.citations)
    if verdict.anchors is not None:
        assert verdict.anchors == Anchors(zero=verdict.level == 0, full=verdict.level == 1, half=verdict.level == 0.5)
    else:
        assert rule == "mean"
        assert verdict.level not in levels


def test_a_failure_is_told_before_a_gap() -> None:
    verdict = combine([vote(None, status="unrecorded"), vote(None, status="timeout"), vote(1)], "strict")
    assert (verdict.status, verdict.level) == ("timeout", None)


def test_a_third_draw_is_spent_only_on_disagreement() -> None:
    auto = Draws(2, 3)
    assert auto.wants([])
    assert auto.wants([1.0])
    assert not auto.wants([1.0, 1.0])
    assert auto.wants([1.0, 0.5])
    assert auto.wants([1.0, None])
    assert not auto.wants([1.0, 0.5, 0.5])


@given(st.integers(1, 20), st.lists(st.one_of(st.none(), LEVEL), max_size=25))
def test_a_fixed_number_of_draws_is_that_number(number: int, levels: list[float | None]) -> None:
    assert parse_draws(str(number)).wants(levels) == (len(levels) < number)


@pytest.mark.parametrize(
    ("text", "draws"), [("1", Draws(1, 1)), (" 3 ", Draws(3, 3)), ("auto", Draws(2, 5)), ("auto:3", Draws(2, 3))]
)
def test_draws_as_written(text: str, draws: Draws) -> None:
    assert parse_draws(text) == draws
    assert parse_draws(str(draws)) == draws


@pytest.mark.parametrize("text", ["", "0", "-1", "21", "1.5", "two", "auto:", "auto:2", "auto:21", "auto:x", "3:auto"])
def test_draws_that_are_none(text: str) -> None:
    with pytest.raises(SciagentError, match="write a number from 1 to 20, auto"):
        parse_draws(text)
