"""Profile `truthinsight-v1`: the arithmetic of the benchmark's public evaluator, quirks included.

It is here so that published numbers can be compared. Where it differs from `truthinsight`:

- the yield bonus counts every distinct finding with 40 points or more, a refuted one too;
- the penalty counts distinct refuted quotes (quote, file and operation), not findings, and looks only at the best
  finding of each group of duplicates; so a finding with two refuted quotes loses 10, a refuted duplicate none, and a
  duplicate that a higher level makes the best of its group can lower the score;
- sums are made in binary floating point and cut to two decimals as JavaScript's `toFixed` does;
- only tasks that every system has enter a ranking.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add

from .interval import Interval
from .truthinsight import CARDS, PENALTY, PENALTY_MOST, TARGET_POINTS, YIELD, YIELD_FROM, RunScore

DECIMALS = 2


@dataclass(frozen=True, slots=True)
class V1Facts:
    """What a run's score is made of, beside the scores of its findings. None, or a missing key: not known.

    groups: findings that state one claim; a finding in no group stands alone. None while nobody has compared them.
    targets: level for each reference card, by card id.
    refuted: the refuted core quotes of each finding, by finding id; equal ones (quote, file, operation) count once.
    """

    groups: Sequence[Sequence[str]] | None = None
    targets: Mapping[str, float | None] | None = None
    refuted: Mapping[str, Collection[Hashable] | None] | None = None


@dataclass(frozen=True, slots=True)
class RankingV1:
    """Means over the tasks that all systems have (`complete`), best first by lower end, equal ones by name."""

    complete: tuple[str, ...]
    provisional: tuple[str, ...]
    means: Mapping[str, Interval]


def to_fixed(value: float, digits: int = DECIMALS) -> Fraction:
    """`value` with `digits` decimals as ECMAScript's `toFixed`: the exact binary value, halves away from 0."""
    if value < 0:
        return -to_fixed(-value, digits)
    return Fraction(math.floor(Fraction(value) * 10**digits + Fraction(1, 2)), 10**digits)


def score_run_v1(findings: Mapping[str, Interval], facts: V1Facts) -> RunScore:
    """The score of a run from its findings' scores (0..100), in the order of the report, and the facts about the run.

    Each unknown fact widens the interval by what it could change. No finding at all gives 0 for every term (the public
    evaluator refuses such a run).

    Raises:
        ValueError: for a group with an unknown finding, or a finding in two groups.
    """
    if not findings:
        zero = Interval.point(0)
        return RunScore(zero, zero, zero, zero, zero, zero, zero)
    known = _partition(findings, facts.groups)
    merged = known if known is not None else [list(findings)]
    apart = known if known is not None else [[f] for f in findings]
    low = sorted((max(findings[f].low for f in group) for group in merged), reverse=True)
    high = sorted((max(findings[f].high for f in group) for group in apart), reverse=True)
    s1 = Interval(low[0], high[0])
    s2 = Interval(low[1] if len(low) > 1 else Fraction(0), high[1] if len(high) > 1 else Fraction(0))
    yield_bonus = Interval(_yield(low), _yield(high))
    target = _target(facts.targets)
    penalty = _penalty(findings, merged, apart, facts.refuted or {})
    body = (_main_body(s1.low, s2.low), _main_body(s1.high, s2.high))
    least = body[0] + float(yield_bonus.low) + float(target.low) - float(penalty.high)
    most = body[1] + float(yield_bonus.high) + float(target.high) - float(penalty.low)
    total = Interval(_clamped(least), _clamped(most))
    return RunScore(s1, s2, yield_bonus, target, penalty, Interval(to_fixed(body[0]), to_fixed(body[1])), total)


def rank_v1(scores: Mapping[str, Mapping[str, Interval]]) -> RankingV1:
    """Mean score of each system over the tasks that all systems have; empty where there is none.

    `scores`: by system and task. Points are added up in the order of the tasks' ids.
    """
    tasks = {task for mine in scores.values() for task in mine}
    complete = tuple(sorted(task for task in tasks if all(task in mine for mine in scores.values())))
    means = {}
    for system, mine in scores.items() if complete else ():
        # reduce, since Python's own sum corrects rounding errors that the public evaluator makes
        low = reduce(add, (float(mine[task].low) for task in complete)) / len(complete)
        high = reduce(add, (float(mine[task].high) for task in complete)) / len(complete)
        means[system] = Interval(to_fixed(low), to_fixed(high))
    order = sorted(means, key=lambda system: (-means[system].low, system))
    return RankingV1(complete, tuple(sorted(tasks - set(complete))), {system: means[system] for system in order})


def _partition(findings: Mapping[str, Interval], groups: Sequence[Sequence[str]] | None) -> list[list[str]] | None:
    """All findings in groups, each group in the order of the report; None while the groups are not known."""
    if groups is None:
        return None
    named = [finding for group in groups for finding in dict.fromkeys(group)]
    if unknown := sorted(set(named) - set(findings)):
        raise ValueError(f"a group names {unknown[0]!r}, which is not among the findings")
    if len(named) != len(set(named)):
        raise ValueError("a finding is in two groups")
    sets = [set(group) for group in groups if group]
    return [[f for f in findings if f in group] for group in sets] + [[f] for f in findings if f not in named]


def _main_body(s1: Fraction, s2: Fraction) -> float:
    return 0.60 * float(s1) + 0.20 * float(s2)


def _clamped(points: float) -> Fraction:
    return to_fixed(min(max(points, 0.0), 100.0))


def _yield(scores: Sequence[Fraction]) -> Fraction:
    return Fraction(sum(YIELD[: sum(score >= YIELD_FROM for score in scores)]))


def _target(targets: Mapping[str, float | None] | None) -> Interval:
    levels = [None] * CARDS if targets is None else list(targets.values())
    low = sum((Fraction(str(level)) for level in levels if level is not None), start=Fraction(0))
    return Interval(TARGET_POINTS * low, TARGET_POINTS * (low + levels.count(None)))


def _penalty(
    findings: Mapping[str, Interval],
    merged: Sequence[Sequence[str]],
    apart: Sequence[Sequence[str]],
    refuted: Mapping[str, Collection[Hashable] | None],
) -> Interval:
    """Points lost at least and at most, over all ways to settle what is not known.

    Whatever the groups are, the best of all findings represents its own, so `merged` bounds the least from below.
    """
    certain: set[Hashable] = set()
    for group in merged:
        quotes = [set(refuted.get(finding) or ()) for finding in _representatives(findings, group)]
        certain |= set.intersection(*quotes)
    possible: set[Hashable] = set()
    room = 0
    for group in apart:
        found = [refuted.get(finding) for finding in _representatives(findings, group)]
        if any(quotes is None for quotes in found):
            return Interval(_lost(len(certain)), Fraction(PENALTY_MOST))
        quotes = [set(each or ()) for each in found]
        possible |= set.union(*quotes)
        room += max(map(len, quotes))
    return Interval(_lost(len(certain)), _lost(min(len(possible), room)))


def _lost(quotes: int) -> Fraction:
    return Fraction(min(PENALTY * quotes, PENALTY_MOST))


def _representatives(findings: Mapping[str, Interval], group: Sequence[str]) -> list[str]:
    """Those of a group (in the order of the report) that can be its best; of equal ones it is the first."""
    return [
        finding
        for place, finding in enumerate(group)
        if all(findings[finding].high > findings[other].low for other in group[:place])
        and all(findings[finding].high >= findings[other].low for other in group[place + 1 :])
    ]
