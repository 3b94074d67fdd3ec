"""What a gate decides, how several decisions become one, and numbers shown with enough digits to explain them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Protocol

from ..scoring.interval import Interval, format_fraction

if TYPE_CHECKING:
    from ..reporting.results import Results

Outcome = Literal["met", "not met", "inconclusive"]
WORST_FIRST: tuple[Outcome, ...] = ("not met", "inconclusive", "met")
MOST_DIGITS = 20
NOT_TESTED = "criteria were not tested"
"""How the reason ends that an incomplete session has where a part was selected, or it was stopped."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a gate decided, the sentence with the numbers that decided it, and what the sentence only counts."""

    outcome: Outcome
    sentence: str
    details: tuple[str, ...] = ()


class Gate(Protocol):
    """A condition on the results of a session. Its `decide` need not look at whether the session is complete."""

    def decide(self, results: Results) -> Decision:
        """Decide. Raises SciagentError where the results can't be compared with what the gate compares them with."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A gate, and how the user asked for it: `--sciagent-min-score=60 (command line)`. Unless it is met it tells that,
    since a gate from a file that `sciagent init` wrote long ago is a surprise.
    """

    gate: Gate
    origin: str

    def decide(self, results: Results) -> Decision:
        decision = self.gate.decide(results)
        if decision.outcome == "met":
            return decision
        return replace(decision, details=(f"asked for by {self.origin}", *decision.details))


def decide_all(gates: Sequence[Gate], results: Results) -> tuple[Decision | None, tuple[Decision, ...]]:
    """The one decision of a session, and that of each gate; None without a gate.

    Not met if any gate is not met, else inconclusive if any is, else met. No gate is decided by an incomplete session.

    Raises:
        SciagentError: see `Gate.decide`.
    """
    decisions = tuple(_whole(gate.decide(results), results) for gate in gates)
    if len(decisions) < 2:
        return (decisions[0] if decisions else None), decisions
    counts = Counter(decision.outcome for decision in decisions)
    present = [outcome for outcome in WORST_FIRST if counts[outcome]]
    rest = "".join(f", {counts[outcome]} {outcome}" for outcome in present[1:])
    sentence = f"{counts[present[0]]} of {len(decisions)} {present[0]}{rest}"
    return Decision(present[0], sentence), decisions


def _whole(decision: Decision, results: Results) -> Decision:
    if results.incomplete is None:
        return decision
    return Decision("inconclusive", f"{decision.sentence}; {results.incomplete}", decision.details)


def show(value: Interval, bound: Fraction, digits: int = 1) -> str:
    """`value` with `digits` decimals, or as many more as it takes to see on which side of `bound` each end lies."""
    for shown in range(digits, MOST_DIGITS):
        if all(_side(Fraction(format_fraction(end, shown)), bound) == _side(end, bound) for end in _ends(value)):
            return value.show(shown)
    return value.show(MOST_DIGITS)


def _ends(value: Interval) -> tuple[Fraction, Fraction]:
    return value.low, value.high


def _side(value: Fraction, bound: Fraction) -> int:
    return (value > bound) - (value < bound)


def exact(number: float) -> Fraction:
    """A bound as the user wrote it in decimals."""
    return Fraction(str(number))


def plain(number: float) -> str:
    """A bound for people: all its digits, no needless `.0`."""
    return str(number).removesuffix(".0")
