"""Several votes on one question (judges of a panel, repeated draws) become one verdict; disagreement is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Literal

from pydantic import JsonValue

from ..models import Receipt, Verdict

Rule = Literal["majority", "median", "strict", "mean"]
RULES: tuple[Rule, ...] = ("majority", "median", "strict", "mean")


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote: who, in which draw, and the verdict it gave."""

    judge: str
    draw: int
    verdict: Verdict


def combine(votes: Sequence[Vote], rule: Rule) -> Verdict:
    """One verdict out of at least one vote.

    majority: the level that most votes gave; of equally many the lowest. median: the lower median. strict: the lowest.
    mean: the mean, cut down to the next level (the exact mean is in the receipt). Where half of the votes or more have
    no level, there is none: the verdict is the first of those that failed.

    The verdict keeps reason and citations of the first vote with its level; the receipt lists all votes, the flip rate
    (share of pairs of votes that differ) and the agreement (share of votes with the combined level).
    """
    if len(votes) == 1:
        return votes[0].verdict
    levels = [Fraction(str(v.verdict.level)) for v in votes if v.verdict.level is not None]
    if 2 * len(levels) <= len(votes):
        failed = next(v.verdict for v in votes if v.verdict.level is None)
        return failed.model_copy(update={"receipt": _receipt(failed, votes, levels, None)})
    level = _combined(sorted(levels), rule)
    source = next((v.verdict for v in votes if v.verdict.level == float(level)), None)
    if source is None:  # only the rule `mean` gives a level that nobody gave
        source = next(v.verdict for v in votes if v.verdict.level is not None)
    changed = {"level": float(level), "receipt": _receipt(source, votes, levels, level)}
    return source.model_copy(update=changed)


def _combined(levels: Sequence[Fraction], rule: Rule) -> Fraction:
    """The combined level of sorted `levels`."""
    if rule == "strict":
        return levels[0]
    if rule == "median":
        return levels[(len(levels) - 1) // 2]
    if rule == "mean":
        mean = sum(levels, start=Fraction(0)) / len(levels)
        return max(step for step in (Fraction(0), Fraction(1, 2), Fraction(1)) if step <= mean)
    counts = Counter(levels)
    return min(counts, key=lambda level: (-counts[level], level))


def flip_rate(levels: Sequence[Fraction | float]) -> Fraction | None:
    """Share of pairs of votes that differ; None for fewer than two votes."""
    pairs = list(combinations(levels, 2))
    return Fraction(sum(a != b for a, b in pairs), len(pairs)) if pairs else None


def _receipt(verdict: Verdict, votes: Sequence[Vote], levels: Sequence[Fraction], level: Fraction | None) -> Receipt:
    flips = flip_rate(levels)
    shown: list[JsonValue] = [
        {"judge": v.judge, "draw": v.draw, "level": v.verdict.level, "status": v.verdict.status} for v in votes
    ]
    facts: dict[str, JsonValue] = dict(verdict.receipt.facts) if verdict.receipt is not None else {}
    facts["votes"] = shown
    facts["flip_rate"] = None if flips is None else float(flips)
    facts["mean_level"] = float(sum(levels, start=Fraction(0)) / len(levels)) if levels else None
    facts["agreement"] = None if level is None else float(Fraction(sum(x == level for x in levels), len(votes)))
    return Receipt(source=verdict.receipt.source if verdict.receipt is not None else "panel", facts=facts)


def draw_again(levels: Sequence[float | None], most: int) -> bool:
    """With draws `auto`: whether a further draw is worth its price. Two that agree settle it; else up to `most`."""
    if len(levels) >= most:
        return False
    if len(levels) < 2:
        return True
    return len(set(levels)) > 1
