"""What a session asked of judges and what that cost, and what recorded answers have saved it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ..text import counted

if TYPE_CHECKING:
    from ..evaluation.recorded import Replayed
    from ..judging.pump import Progress
    from ..models import LedgerEntry


@dataclass(frozen=True, slots=True)
class Spent:
    """The calls of one session, repeated ones included.

    failed: calls without a usable answer. cached_tokens: part of input_tokens. cost_usd: of the calls whose price is
    known; a call that was broken off counts as what it may have cost. calls_without_cost, calls_without_tokens: those
    that the sums leave out, wholly or in part. By batch, a call is a prompt whose answer was taken in.
    """

    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    calls_without_cost: int = 0
    calls_without_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Saved:
    """The recorded answers that a session was judged by and did not ask for, and what they took when they were asked.

    answers_without_cost, answers_without_tokens: those that the sums leave out, since it is not recorded.
    """

    answers: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    answers_without_cost: int = 0
    answers_without_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Spending:
    """What one session spent, and what replay saved it."""

    spent: Spent = Spent()
    saved: Saved = Saved()


def spent_by(asked: Sequence[Progress], entries: Sequence[LedgerEntry]) -> Spent:
    """What the pump spent, and the answers that judges of the user's own gave: one call each, as far as they tell."""
    from ..evaluation.recorded import Replayed

    own = saved_by([Replayed.of(entries)])
    return Spent(
        calls=sum(p.calls for p in asked) + own.answers,
        failed=sum(p.failed_calls for p in asked) + sum(e.status not in {"assessed", "unverified"} for e in entries),
        input_tokens=sum(p.input_tokens for p in asked) + own.input_tokens,
        cached_tokens=sum(p.cached_tokens for p in asked) + own.cached_tokens,
        output_tokens=sum(p.output_tokens for p in asked) + own.output_tokens,
        cost_usd=math.fsum([*(p.cost_usd for p in asked), own.cost_usd]),
        calls_without_cost=sum(p.unpriced for p in asked) + own.answers_without_cost,
        calls_without_tokens=sum(p.uncounted for p in asked) + own.answers_without_tokens,
    )


def saved_by(replayed: Iterable[Replayed]) -> Saved:
    """What recorded answers, run by run, took when they were given. The same in whatever order they come."""
    found = list(replayed)
    costs = [cost for one in found for cost in one.costs]
    known = [cost for cost in costs if cost is not None]
    return Saved(
        answers=len(costs),
        input_tokens=sum(one.input_tokens for one in found),
        cached_tokens=sum(one.cached_tokens for one in found),
        output_tokens=sum(one.output_tokens for one in found),
        cost_usd=math.fsum(known),
        answers_without_cost=len(costs) - len(known),
        answers_without_tokens=sum(one.without_tokens for one in found),
    )


def spending_as_json(spending: Spending) -> dict[str, dict[str, int | float]]:
    """`spending` as plain data: the fields of `Spent` and `Saved` as they are, dollars to six decimals."""
    return {part: values | {"cost_usd": round(values["cost_usd"], 6)} for part, values in asdict(spending).items()}


def spending_lines(spending: Spending) -> Iterator[str]:
    """Two lines for people."""
    saved = spending.saved
    yield spent_line(spending.spent)
    if saved.answers:
        amounts = _amounts(saved, saved.answers, saved.answers_without_tokens, saved.answers_without_cost)
        yield f"saved: {counted(saved.answers, 'recorded answer')} replayed, {amounts}"


def spent_line(spent: Spent) -> str:
    """What was spent, in a line for people."""
    if not spent.calls:
        return "spent: nothing, no judge was asked"
    failed = f" ({spent.failed} failed)" if spent.failed else ""
    amounts = _amounts(spent, spent.calls, spent.calls_without_tokens, spent.calls_without_cost)
    return f"spent: {counted(spent.calls, 'judge call')}{failed}, {amounts}"


def _amounts(of: Spent | Saved, total: int, without_tokens: int, without_cost: int) -> str:
    tokens = f"{of.input_tokens:,} tokens in ({of.cached_tokens:,} cached), {of.output_tokens:,} out"
    dollars = f"{of.cost_usd:.4f} USD" if of.cost_usd < 1 else f"{of.cost_usd:,.2f} USD"
    if without_tokens == without_cost == total:
        return "tokens and cost not known"
    tokens = "tokens not known" if without_tokens == total else tokens + _gap(without_tokens)
    return f"{tokens}; {'cost not known' if without_cost == total else dollars + _gap(without_cost)}"


def _gap(left_out: int) -> str:
    return f" (not known for {left_out})" if left_out else ""
