"""Options about what judges may cost and how fast they are asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .declared import Option, Values

if TYPE_CHECKING:
    from ..judging.prices import Price
    from ..judging.quota import Gates
    from ..models import JudgeIdentity


@dataclass(frozen=True, slots=True)
class BudgetOptions:
    """BudgetOptions and rate of judges. None: no limit."""

    max_cost: float | None = None
    max_calls: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: Price | None = None

    def price_of(self, judge: JudgeIdentity, *, batch: bool = False) -> Price | None:
        """The price of a judge: the one given, else the listed one; by a `batch` half of that.

        Raises:
            pytest.UsageError: a budget in dollars, and no price known.
        """
        from ..judging.prices import find_price

        listed = find_price(judge) if self.price is None else None
        price = self.price or (listed.of_batch() if listed is not None and batch else listed)
        if price is None and self.max_cost is not None:
            raise pytest.UsageError(
                f"--sciagent-max-cost: the price of {judge.label} is not known; give it with --sciagent-price IN/OUT "
                "(dollars for a million tokens)"
            )
        return price

    def gates(self, folder: Path, judge: JudgeIdentity) -> Gates | None:
        """The gates that hold the rates, shared by all sessions that ask this judge from one rootdir."""
        from ..judging.quota import Gates, RateGate
        from ..text import slug

        if self.requests_per_minute is None and self.tokens_per_minute is None:
            return None
        name = slug(judge.label)
        requests, tokens = self.requests_per_minute, self.tokens_per_minute
        return Gates(
            RateGate(folder / f"{name}.requests", requests) if requests is not None else None,
            RateGate(folder / f"{name}.tokens", tokens) if tokens is not None else None,
        )


BUDGET = (
    Option("max_cost", "number", "stop asking judges at this cost", "USD"),
    Option("max_calls", "count", "stop asking judges after N calls", "N"),
    Option("rpm", "number", "calls a minute at most, over all processes", "N"),
    Option("tpm", "number", "tokens a minute at most, over all processes", "N"),
    Option(
        "price",
        "text",
        "price of the judge, dollars for a million tokens: IN/OUT or IN/CACHED/OUT (default: a list in a package, "
        "of which a batch costs half; a price you give is that of the batch)",
        "IN/OUT",
    ),
)


def read_budget(given: Values) -> BudgetOptions:
    """The budget of this session.

    Raises:
        pytest.UsageError: a value that can't be used.
    """
    return BudgetOptions(
        given.number("max_cost"), given.count("max_calls"), given.number("rpm"), given.number("tpm"), _price(given)
    )


def _price(given: Values) -> Price | None:
    price = given.text("price")
    if price is None:  # a session that asks nobody imports nothing for it
        return None
    from ..errors import SciagentError
    from ..judging.prices import parse_price

    try:
        return parse_price(price)
    except SciagentError as error:
        raise pytest.UsageError(f"{given.spelled('price')}: {error}") from None
