"""Gates: one function decides, everything else shows its decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..scoring.interval import Interval, format_fraction

EXIT_INCONCLUSIVE = 10


@dataclass(frozen=True, slots=True)
class Decision:
    """What a gate decided, and the sentence with the numbers that decided it."""

    outcome: Literal["met", "not met", "inconclusive"]
    sentence: str


def decide_min_score(systems: Mapping[str, Interval], least: float, incomplete: str | None) -> Decision:
    """Whether every system's score is at least `least`.

    Not met as soon as one system can't reach it; inconclusive where an interval leaves it open, or where the session
    is `incomplete` (the reason is given); met only if every lower end reaches it.
    """
    bound = Fraction(str(least))
    if not systems:
        return Decision("inconclusive", f"minimum score {least:g}: no system was scored")
    name, worst = min(systems.items(), key=lambda item: (item[1].low, item[0]))
    if incomplete is None:
        below = [(n, s) for n, s in sorted(systems.items()) if s.high < bound]
        if below:
            name, score = min(below, key=lambda item: item[1].high)
            return Decision("not met", f"minimum score {least:g}: {name} has {_enough(score, bound)}")
        if worst.low >= bound:
            return Decision("met", f"minimum score {least:g}: the lowest is {name} with {_enough(worst, bound)}")
    why = incomplete or "what is not assessed could turn it"
    return Decision("inconclusive", f"minimum score {least:g}: {name} has {_enough(worst, bound)}; {why}")


def _enough(score: Interval, bound: Fraction) -> str:
    """`score` with as many digits as it takes to see on which side of `bound` it lies."""
    for digits in range(1, 7):
        shown = [Fraction(format_fraction(end, digits)) for end in (score.low, score.high)]
        if all((s >= bound) == (end >= bound) for s, end in zip(shown, (score.low, score.high), strict=True)):
            break
    return score.show(digits)
