"""Votes of a panel or of repeated draws become one verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sciagent.judging.panel import RULES, Rule, Vote, combine, draw_again
from pytest_sciagent.models import LEVELS, Verdict

LEVEL = st.sampled_from(LEVELS)


def vote(level: float | None, judge: str = "a", draw: int = 1) -> Vote:
    status = "assessed" if level is not None else "refused"
    verdict = Verdict(criterion_id="c", status=status, level=level, reason=f"level {level}", reason_code="x")
    return Vote(judge, draw, verdict)


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


def test_disagreement_is_told() -> None:
    verdict = combine([vote(1, "a"), vote(1, "b"), vote(0, "c")], "majority")
    assert verdict.receipt is not None
    assert verdict.receipt.facts["flip_rate"] == pytest.approx(2 / 3)
    assert verdict.receipt.facts["agreement"] == pytest.approx(2 / 3)
    votes = verdict.receipt.facts["votes"]
    assert isinstance(votes, list)
    assert len(votes) == 3
    assert verdict.reason == "level 1"


def test_a_third_draw_is_spent_only_on_disagreement() -> None:
    assert draw_again([], 3)
    assert draw_again([1.0], 3)
    assert not draw_again([1.0, 1.0], 3)
    assert draw_again([1.0, 0.5], 3)
    assert not draw_again([1.0, 0.5, 0.5], 3)
