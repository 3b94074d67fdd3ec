"""Profile `truthinsight`: the task score of TruthInsightBench (section 4, equations 2 to 4), exact and with bounds.

    R = clamp(0.60 S1 + 0.20 S2 + yield + target - penalty, 0, 100)

Where the paper's text and its public code differ, the text holds: a refuted finding earns no yield, and the penalty
counts findings, not quotes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .interval import Interval

S1_SHARE, S2_SHARE = Fraction(3, 5), Fraction(1, 5)
YIELD = (4, 2, 2, 2)
YIELD_FROM = 40
TARGET_POINTS = 5
CARDS = 2
PENALTY, PENALTY_MOST = 5, 10


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run's score is made of, beside the scores of its findings. None, or a missing key: not known.

    groups: the findings in groups that state one claim; None while nobody has compared them.
    targets: level for each reference card, by card id.
    refuted: whether a finding's core number was refuted, by finding id.
    refuted_quotes: the quotes of refuted core numbers, by finding id: what profile `truthinsight-v1` counts instead.
    """

    groups: Sequence[Sequence[str]] | None = None
    targets: Mapping[str, float | None] | None = None
    refuted: Mapping[str, bool | None] | None = None
    refuted_quotes: Mapping[str, Sequence[str] | None] | None = None


@dataclass(frozen=True, slots=True)
class RunScore:
    """The terms of a run's score in points, and their sum clamped to 0..100."""

    s1: Interval
    s2: Interval
    yield_bonus: Interval
    target: Interval
    penalty: Interval
    main_body: Interval
    total: Interval


def score_run(findings: Mapping[str, Interval], facts: RunFacts) -> RunScore:
    """The score of a run from its findings' scores (0..100) and the facts about the whole run.

    Each unknown fact widens the interval by what it could change. No finding at all gives 0 for every term.
    """
    groups = [list(g) for g in facts.groups] if facts.groups is not None else None
    refuted = facts.refuted or {}
    if not findings:
        zero = Interval.point(0)
        return RunScore(zero, zero, zero, zero, zero, zero, zero)
    apart = groups if groups is not None else [[f] for f in findings]
    merged = groups if groups is not None else [list(findings)]
    s1, s2 = _best_two(findings, apart, merged)
    yield_bonus = Interval(
        _yield(merged, refuted, {f: i.low for f, i in findings.items()}, unknown_refutes=True),
        _yield(apart, refuted, {f: i.high for f, i in findings.items()}, unknown_refutes=False),
    )
    penalty = Interval(_penalty(merged, refuted, unknown_refutes=False), _penalty(apart, refuted, unknown_refutes=True))
    target = _target(facts.targets)
    main_body = s1.scaled(S1_SHARE) + s2.scaled(S2_SHARE)
    total = (main_body + yield_bonus + target - penalty).clamped(0, 100)
    return RunScore(s1, s2, yield_bonus, target, penalty, main_body, total)


def _best_two(
    findings: Mapping[str, Interval], apart: Sequence[Sequence[str]], merged: Sequence[Sequence[str]]
) -> tuple[Interval, Interval]:
    """S1 and S2. Unknown groups: all findings could be one claim (no S2), or all different."""
    low = sorted((max(findings[f].low for f in group) for group in merged), reverse=True)
    high = sorted((max(findings[f].high for f in group) for group in apart), reverse=True)
    low += [Fraction(0)] * 2
    high += [Fraction(0)] * 2
    return Interval(low[0], high[0]), Interval(low[1], high[1])


def _group_refuted(group: Sequence[str], refuted: Mapping[str, bool | None], *, unknown_refutes: bool) -> bool:
    return any(unknown_refutes if refuted.get(f) is None else bool(refuted[f]) for f in group)


def _yield(
    groups: Sequence[Sequence[str]],
    refuted: Mapping[str, bool | None],
    scores: Mapping[str, Fraction],
    *,
    unknown_refutes: bool,
) -> Fraction:
    eligible = sum(
        max(scores[f] for f in group) >= YIELD_FROM
        and not _group_refuted(group, refuted, unknown_refutes=unknown_refutes)
        for group in groups
    )
    return Fraction(sum(YIELD[:eligible]))


def _penalty(groups: Sequence[Sequence[str]], refuted: Mapping[str, bool | None], *, unknown_refutes: bool) -> Fraction:
    count = sum(_group_refuted(group, refuted, unknown_refutes=unknown_refutes) for group in groups)
    return Fraction(min(PENALTY * count, PENALTY_MOST))


def _target(targets: Mapping[str, float | None] | None) -> Interval:
    if targets is None:
        return Interval(Fraction(0), Fraction(TARGET_POINTS * CARDS))
    low = sum((Fraction(str(v)) for v in targets.values() if v is not None), start=Fraction(0))
    unknown = sum(v is None for v in targets.values())
    return Interval(TARGET_POINTS * low, TARGET_POINTS * (low + unknown))
